"""Lab 08, words and meaning: rankings that are fused."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from course_lib.teaching.checks.drawn import Call, Draws, drawn, given
from course_lib.teaching.checks.probe import Probe, exercise


@drawn(100)
def any_rankings(random: Draws) -> Call:
    """Draw rankings, two of which may give equal scores; more of them give different ones."""
    from course_lib.retriever.query import fuse as library

    items: Any = random.choice(("abcdef", [("a.md", 0), ("a.md", 1), ("b.md", 0)]))
    rankings = [random.some(items) for _ in range(random.randint(1, 4))]
    scores = sorted(score for _, score in library(*rankings))
    if any(high - low < 1e-9 for low, high in pairwise(scores)):
        rankings = rankings[:2]  # where three numbers are added up, their order matters
    return given(*(iter(one) if random.chance(0.2) else one for one in rankings))


@exercise("8.2", "retriever.query:fuse", 2, time_limit=2, draws=any_rankings)
def check_fuse(call: Probe) -> None:
    """Take one case for each way of adding it up wrongly."""
    call.cases(
        ((["a"],), [("a", 1 / 61)],
         "a pair of what was ranked and its score; places count from 1, and RRF_K is 60"),
        ((["b"], ["a"]), [("b", 1 / 61), ("a", 1 / 61)],
         "each is first in one ranking; of equals, the first ranking's comes first"),
        ((["a", "b", "c"], ["c", "d"]),
         [("c", 1 / 63 + 1 / 61), ("a", 1 / 61), ("b", 1 / 62), ("d", 1 / 62)],
         "'c' is third in one and first in the other, and gets both"),
        ((["d", "c"], ["b", "a"]), [("d", 1 / 61), ("b", 1 / 61), ("c", 1 / 62), ("a", 1 / 62)],
         "equals come in the order of the first ranking, then of the next one"),
        ((["a", "b"], ["a", "b"], ["b", "a"]), [("a", 2 / 61 + 1 / 62), ("b", 2 / 62 + 1 / 61)],
         "there may be more than two rankings"),
        (([("a.md", 0), ("a.md", 1)], [("a.md", 1)]),
         [(("a.md", 1), 1 / 62 + 1 / 61), (("a.md", 0), 1 / 61)],
         "what is ranked may be a tuple"),
        ((iter(["a", "b"]), iter(["b"])), [("b", 1 / 62 + 1 / 61), ("a", 1 / 61)],
         "a ranking is any Iterable: it may have no length, and can be read once"),
        (([], ["a"]), [("a", 1 / 61)], "a ranking may be empty"),
        (([], []), [], "nothing was ranked"),
    )  # fmt: skip
