"""Lab 16, measuring: reciprocal rank, nDCG, an interval, a paired interval."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from course_lib.teaching.checks.definition import Parts, case, exercise, part
from course_lib.teaching.checks.drawn import Call, Drawn, Draws, drawn, given
from course_lib.teaching.checks.encoded import alike

COIN = [0.0, 1.0] * 8
UNEVEN = [0.13, 0.29, 0.37, 0.48, 0.61, 0.72, 0.88, 0.94]
TEN = [f"x{n}" for n in range(10)]
ONCE = "`found` may be any Iterable: it may have no length, and you can read it only once"
OUTSIDE = "with a confidence of 0.7, 15 % of the redrawn means are outside at each end"
ONE_SET = "one redrawn set has one mean, so both ends are equal"
SPREAD = 0.12
"""How far the end of an interval may be off, in widths: the random numbers may be others."""


def _found(random: Draws) -> tuple[list[str], Any, list[int]]:
    """Return names, what was found of them (at times as an iterator), and at times `k`."""
    files = random.names(random.choice((2, 5, 9, 16)))
    files += [f"{files[0]}x", files[0][1:], files[0].swapcase()]
    found = random.choices(files, k=random.choice((2, 6, 30)))
    found = random.choice((found, found, found, files[::-1], []))
    limit = [] if random.chance(0.3) else [random.choice((1, 2, 3, 5, 8, 18))]
    return files, iter(found) if random.chance(0.2) else found, limit


@drawn(150, varies=(0, 1, 2))
def any_first(random: Draws) -> Call:
    """Draw few wanted names, so that the first one comes late, at times after one like it."""
    files, found, limit = _found(random)
    return given(found, random.choice((set, list))(random.some(files[:3])), *limit)


@exercise("16.1", "evaluation.metrics:reciprocal_rank", draws=any_first)
def check_reciprocal_rank() -> Parts:
    """Look at first, later, last and no place, and at items that come again."""
    return [
        part(1, "the place of the first gold item",
            ((["a", "x"], {"a"}, 10), "it is at place 1"),
            ((["x", "y", "a"], {"a"}, 10), "it is at place 3"),
            ((["x", "b", "a"], ["a", "b"], 10), "only the first gold item that is found counts"),
            needed=False),
        part(1, "only k items count",
            ((["x", "a"], {"a"}, 2), "place 2 is the last that counts for k = 2"),
            ((["x", "y", "a"], {"a"}, 2), "place 3 is beyond k = 2"),
            (([*TEN, "a"], {"a"}), "without k, ten items count")),
        part(1, "items that come again, names that are alike, any Iterable",
            ((["x", "x", "x", "a"], {"a"}, 10), "x takes up one place, so a is at place 2"),
            ((["x", "y", "x", "a"], {"a"}, 10), "x takes up one place, although y comes between"),
            ((["old.md", "d.md"], {"d.md"}, 10), "another file's name contains the gold name"),
            ((["d.md", "old.md"], {"old.md"}, 10), "another file's is a part of the gold name"),
            ((["Notes.md", "notes.md"], {"notes.md"}, 10), "Notes.md is another file"),
            ((iter(["x", "a"]), {"a"}, 5), ONCE)),
    ]  # fmt: skip


@drawn(150, varies=(0, 1, 2))
def any_gains(random: Draws) -> Call:
    """Draw a ranking and the gains of some names, 0 among them."""
    files, found, limit = _found(random)
    gains = {name: random.choice((0, 1, 2, 3, 0.5)) for name in random.some(files)}
    return given(found, gains, *limit)


@exercise("16.2", "evaluation.metrics:ndcg_at", draws=any_gains)
def check_ndcg_at() -> Parts:
    """Check discount, best order, cut, gains that differ, and the cases without any gain."""
    return [
        part(1, "gains by their places, and the best order",
            ((["a"], {"a": 1}, 10), "no order is better"),
            ((["x", "a"], {"a": 1}, 10), "at place 2 a gain is divided by log2(3)"),
            ((["b", "a"], {"a": 2, "b": 1}), "the example by hand: the larger gain comes second"),
            ((["a"], {"a": 1, "b": 1}, 10), "the best order would have b at place 2"),
            ((["a"], {"b": 1, "a": 2}, 10), "the best order begins with the largest gain, a"),
            needed=False),
        part(1, "only k items count, each once, and gains of 0",
            ((["a", "b"], {"a": 1, "b": 1, "c": 1}, 2), "only two gains fit into two places"),
            ((["c"], {"a": 1, "c": 2}, 1), "no item has a larger gain than c"),
            ((["z", "a"], {"a": 1, "z": 0}, 10), "z has no gain, and takes up a place"),
            ((["x", "a"], {"a": 1}, 1), "place 2 is beyond k = 1"),
            ((["x", "x", "a"], {"a": 3}, 10), "x takes up one place"),
            ((["x", "x", "a"], {"a": 3}, 2), "k counts different items"),
            (([*TEN, "a"], {"a": 1}), "without k, ten items count"),
            ((iter(["x", "a"]), {"a": 1}, 5), ONCE),
            ((["a"], {"a": 0}, 10), "a gain of 0 adds nothing")),
    ]  # fmt: skip


def _interval(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """Return an interval's mean and ends; for a call with a seed also whether it decides."""
    found = function(*args, **named)
    if not all(hasattr(found, name) for name in ("mean", "low", "high")):
        raise TypeError(f"{found!r} is not an Interval: it needs mean, low and high")
    told: dict[str, Any] = {"mean": float(found.mean)}
    if "seed" in named:
        few = {**named, "resamples": 40}
        made = [function(*args, **few | {"seed": named["seed"] + more}) for more in (0, 0, 1)]
        first, again, other = ([round(float(end), 9) for end in one] for one in made)
        told["the same seed gives the same"] = first == again
        told["another seed gives the same"] = first == other
    return {**told, "low and high": [float(found.low), float(found.high)]}


def _as_wide(expected: Any, got: Any) -> bool:
    """Compare what `_interval` returned."""
    if "dict" not in expected:
        return alike(expected, got)
    (*exact, (low, high)), (*others, ends) = expected["dict"].values(), got["dict"].values()
    if low == high and not alike(low, exact[0]):  # of one redrawn set, which may be any
        low = high = ends[0]
    near = [abs(ends[0] - low), abs(ends[1] - high)]
    return alike(exact, others) and max(near) <= SPREAD * (high - low) + 1e-9


def _values(random: Draws) -> Call:
    """Draw values of any, of equal and of very unequal size, and how to draw from them."""
    sorts: tuple[tuple[list[float], dict[str, Any]], ...] = (
        ([], {}),
        ([random.choice((0.25, 0.5, 0.75))] * random.randint(1, 9), {}),
        (random.numbers(20), {"resamples": 1}),
        ([*random.numbers(9, 0, 0.05), random.choice((1.0, 1.1))], {}),
        (random.numbers(random.randint(24, 40)), {}),
        (random.numbers(random.randint(24, 40)), {"confidence": random.choice((0.6, 0.8))}),
    )
    values, named = sorts[random.turn(len(sorts))]
    return given(values, seed=random.randrange(1000), **named)


any_values = Drawn(_values, 6, apply=_interval, agrees=_as_wide)


@exercise("16.3", "evaluation.statistics:bootstrap_interval", time_limit=20, draws=any_values)
def check_bootstrap_interval() -> Parts:
    """Compare what can be calculated: how often a coin that is thrown 16 times shows 1."""
    return [
        part(1, "the mean, and where redrawn means are",
            (([0.7],), "one value is enough: every redrawn set is this value"),
            ((COIN,),
             "of the redrawn sets of 16 values, 1 % have 3 times 1 or fewer, and 4 % have 4 or "
             "fewer: so `low` is 4 / 16, and `high` is 12 / 16 at the other end; `mean` is the "
             "mean of the values themselves, not of the redrawn means"),
            needed=False),
        part(1, "another confidence, and values of unlike size",
            ((COIN, 0.7), OUTSIDE),
            ((UNEVEN,), "it is the mean of the values, whatever the redrawn means are"),
            (([0.0] * 9 + [1.0],),
             "one redrawn set in three has no 1 at all, and 7 % have 3 times 1 or more: the ends "
             "come from the redrawn means, and the mean need not be in the middle")),
        part(1, "the seed, a single set, and no values",
            case(UNEVEN, seed=3, because="the same seed gives the same, and another one does not"),
            case(UNEVEN, resamples=1, because=ONE_SET),
            case([], raises=ValueError, because="without values there is no mean and no interval")),
    ]  # fmt: skip


@drawn(6, apply=_interval, agrees=_as_wide)
def any_changes(random: Draws) -> Call:
    """Draw values before and after, at times equal, worse, or of unlike length."""
    (changes,), named = _values(random)
    sign, before = random.choice((1, -1)), random.numbers(len(changes), 0.0, 4.0)
    after = [round(old + sign * change, 3) for old, change in zip(before, changes, strict=True)]
    before += [0.5] * (random.randrange(5) == 0)
    return given(before, after, **named)


@exercise(
    "16.4", "evaluation.statistics:paired_interval",
    time_limit=20, waits_for=("16.3",), draws=any_changes,
)  # fmt: skip
def check_paired_interval() -> Parts:
    """Use hard and easy questions, a loss, another confidence, and lists of unlike length."""
    return [
        part(1, "each question compared with itself",
            (([0.0, 1.0], [0.25, 1.25]), "every question got better by 0.25, so each mean did"),
            (([1.0, 1.0], [0.5, 0.5]), "it got worse: after minus before is negative"),
            (([0.5], [0.75]), "one question is enough"),
            case([1.0, 0.0], [0.0, 1.0], resamples=100, because="each is compared with itself"),
            needed=False),
        part(1, "what is passed on, and lists that do not fit",
            case([0.5] * 16, [0.5, 1.5] * 8, confidence=0.7,
                 because="half gained 1, and the others nothing: pass `confidence` on"),
            case([0.0] * 8, UNEVEN, resamples=1, because=ONE_SET),
            case([0.0] * 8, UNEVEN, seed=3, because="`seed` must be passed on"),
            case([0.5, 1.0], [0.5], raises=ValueError, because="two and one do not make pairs"),
            case([0.5], [0.5, 1.0], raises=ValueError, because="one and two do not make pairs"),
            case([], [], raises=ValueError, because="without questions there is no difference")),
    ]  # fmt: skip
