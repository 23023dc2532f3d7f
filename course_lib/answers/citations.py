"""Citations: an answer goes in, what it cites comes out, and what it cites without having it.

A model that cites a passage which it was never given has made up at least that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from course_lib.answers.passages import Passage

# [1], [1: a.py], [1, a.py], [1][2], [1, 2], [passage 3: "my notes.md":3-9], but no link's text
_CITATION = re.compile(
    # Every repetition has a limit: an answer may be anything, and is read in one pass.
    r"\[\s?(?:passages?\s)?#?(\d{1,3}(?:\s?[,;&]\s?#?\d{1,3}){0,20})\s?"
    r"(?:[:,;|–—-]\s?([^\[\]\n]{1,300}))?\](?!\()",
    re.IGNORECASE,
)
# Code may hold [0], and so may what is quoted, which cites nothing.
_CODE = re.compile(
    r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[ \t]*$|\Z)|`[^`\n]*`|^>.*?$", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Citations:
    """What an answer cites: numbers of passages, and citations of what is not among them."""

    cited: tuple[int, ...]
    flagged: tuple[str, ...]


def check_citations(text: str, passages: Sequence[Passage]) -> Citations:
    """Return what an answer cites, each once and in its order.

    A citation is flagged if no passage has its number, or the passage of that number has another
    path than the one that stands behind it. Brackets in code and in quoted lines are no
    citations.

    Parameters
    ----------
    text
        The answer.
    passages
        What the model was given.

    Examples
    --------
    >>> from course_lib.records import SearchResult
    >>> found = SearchResult(
    ...     "1", "docs/a.md", 0, "…", 0.7, 0.7, "documentation", "docs", "", "section", "Drift")
    >>> passages = [Passage(1, found, "search", 0.7)]
    >>> check_citations("So it is [1: docs/a.md] [1: b.md], and [7] `x[0]`.", passages)
    Citations(cited=(1,), flagged=('[1: b.md]', '[7]'))
    """
    by_number = {passage.index: passage for passage in passages}
    cited: dict[int, None] = {}
    flagged: dict[str, None] = {}
    for match in _CITATION.finditer(_CODE.sub(" ", text)):
        numbers = [int(number) for number in re.findall(r"\d+", match[1])]
        known = [by_number[number] for number in numbers if number in by_number]
        is_right = len(known) == len(numbers)
        if is_right and match[2] and _looks_like_a_path(match[2]):
            is_right = any(_is_path_of(match[2], passage) for passage in known)
        if is_right:
            cited.update(dict.fromkeys(numbers))
        else:
            flagged[match[0]] = None
    return Citations(tuple(cited), tuple(flagged))


def _looks_like_a_path(text: str) -> bool:
    return "/" in text or bool(PurePosixPath(_without_lines(text)).suffix)


def _is_path_of(text: str, passage: Passage) -> bool:
    """Return whether a citation's path is the passage's, or its end, with or without the lines."""
    given = _without_lines(text)
    path = passage.path
    return path == given or path.endswith("/" + given)


def _without_lines(text: str) -> str:
    """Return a path without the quotes around it and the lines behind it.

    Examples
    --------
    >>> _without_lines('"docs/a.md":3-9'), _without_lines("`b.py`#L3-L7"), _without_lines("c.go:1")
    ('docs/a.md', 'b.py', 'c.go')
    """
    text = re.sub(r"(?:[:#]\s*L?\d+(?:\s*[-–]\s*L?\d+)?|,?\s*lines?\s[\d\s–-]+)$", "", text.strip())
    return text.strip("`'\" ").replace("\\", "/").removeprefix("./")
