"""Citations: an answer goes in, what it cites comes out, and what it cites without having it.

A model cites by number alone. Some also write the path, so a path that is there has to be right. A
model that cites a passage which it was never given has made up at least that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import NamedTuple

from course_lib.answers.passages import Passage

BLOCK = r"^[ \t]*(?P<ticks>`{3,}|~{3,}).*?(?:^[ \t]*(?P=ticks)[ \t]*$|\Z)|^>.*?$"
"""A block of code or a quoted line: not what the answer itself says."""

# [1], [1: a.py], [1, a.py], [1][2], [1, 2], [passage 3: "my notes.md":3-9], but no link's text.
# Code may hold [0], so it is matched first, without numbers.
CITATION = re.compile(
    # Every repetition has a limit: an answer may be anything, and is read in one pass.
    rf"{BLOCK}|`[^`\n]*`|"
    r"\[\s?(?:passages?\s)?#?(?P<numbers>\d{1,3}(?:\s?[,;&]\s?#?\d{1,3}){0,20})\s?"
    r"(?:[:,;|–—-]\s?(?P<path>[^\[\]\n]{1,300}))?\](?!\()",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)


class Citation(NamedTuple):
    """One number of a citation, the path beside it (or nothing), and how both are written."""

    number: int
    path: str
    written: str


@dataclass(frozen=True, slots=True)
class Citations:
    """What an answer cites: numbers of passages, and citations of what is not among them."""

    cited: tuple[int, ...]
    flagged: tuple[str, ...]


def read_citations(text: str) -> list[Citation]:
    """Return the citations of a text in their order; brackets in code and quotations are none.

    The path comes without lines and quotes. Words that are not a path are left out.

    Examples
    --------
    >>> read_citations("So it is [2], see `x[0]` and [1: docs/a.md:3-9].")  # doctest: +ELLIPSIS
    [Citation(number=2, path='', written='[2]'), Citation(number=1, path='docs/a.md', written=...)]
    """
    return [
        Citation(int(number), _path_in(match["path"] or ""), match[0])
        for match in CITATION.finditer(text)
        for number in re.findall(r"\d+", match["numbers"] or "")
    ]


def check_citations(
    sentences: list[str], paths: dict[int, str]
) -> tuple[list[list[int]], list[str]]:
    """Return for each sentence the passages that should support it, and all wrong citations.

    - A citation (`read_citations`) is right if its number is in `paths`. If it has a path, this is
      the passage's path, or the end of it after a slash.
    - The passages of a sentence are those that it cites rightly: each once, in the text's order.
    - A sentence without any citation gets all passages that the answer cites rightly.
    - A sentence with only wrong citations gets none.
    - Wrong citations are returned as they are written, each as often as it is in the text.

    Parameters
    ----------
    sentences
        The sentences of an answer.
    paths
        Number → path of each passage that the model got.

    Examples
    --------
    >>> check_citations(["It is [1].", "It was.", "No [1: b.py]."], {1: "a.py", 2: "b.py"})
    ([[1], [1], []], ['[1: b.py]'])
    """
    own: list[list[int] | None] = []  # None: it cites nothing
    flagged: list[str] = []
    for sentence in sentences:
        citations = read_citations(sentence)
        right: dict[int, None] = {}
        for number, path, written in citations:
            if number in paths and (not path or f"/{paths[number]}".endswith(f"/{path}")):
                right[number] = None
            else:
                flagged.append(written)
        own.append(list(right) if citations else None)
    together = list(dict.fromkeys(number for right in own for number in right or ()))
    return [together if right is None else right for right in own], flagged


def find_citations(text: str, passages: Sequence[Passage]) -> Citations:
    """Return what an answer cites, and which of its citations name no passage; each once.

    Parameters
    ----------
    text
        The answer.
    passages
        What the model was given; numbers may be missing among theirs.

    Examples
    --------
    >>> from course_lib.records import SearchResult
    >>> found = SearchResult(
    ...     "1", "docs/a.md", 0, "…", 0.7, 0.7, "documentation", "docs", "", "section", "Drift")
    >>> passages = [Passage(1, found, "search", 0.7)]
    >>> find_citations("So it is [1] [1: b.md], and [7] `x[0]`.", passages)
    Citations(cited=(1,), flagged=('[1: b.md]', '[7]'))
    """
    (cited,), flagged = check_citations([text], paths_of(passages))
    return Citations(tuple(cited), tuple(dict.fromkeys(flagged)))


def paths_of(passages: Sequence[Passage]) -> dict[int, str]:
    """Return number → path, as `check_citations` takes it."""
    return {passage.index: passage.path for passage in passages}


def with_places(text: str, passages: Sequence[Passage]) -> str:
    """Return an answer for a reader: each right citation with its passage's path and lines.

    Examples
    --------
    >>> from course_lib.records import SearchResult
    >>> found = SearchResult(
    ...     "1", "docs/a.md", 0, "…", 0.7, 0.7, "documentation", "docs", "", "section", "Drift",
    ...     metadata={"lineStart": 3, "lineEnd": 9})
    >>> with_places("So it is [1]. See [7].", [Passage(1, found, "search", 0.7)])
    'So it is [1: docs/a.md:3-9]. See [7].'
    """
    places = {passage.index: f"[{passage.index}: {passage.place}]" for passage in passages}

    def placed(match: re.Match[str]) -> str:
        (numbers,), flagged = check_citations([match[0]], paths_of(passages))
        is_right = numbers and not flagged
        return " ".join(places[number] for number in numbers) if is_right else match[0]

    return CITATION.sub(placed, text)


def without_citations(sentence: str) -> str:
    """Return a sentence without its citations.

    Examples
    --------
    >>> without_citations("A canary sings [1: birds.md]. ")
    'A canary sings.'
    """
    said = CITATION.sub(lambda match: "" if match["numbers"] else match[0], sentence)
    return re.sub(r"\s+(?=[.!?,;])", "", said).strip(" \t-*#>")


def _path_in(given: str) -> str:
    """Return the path of a citation without the quotes around it and the lines after it.

    Examples
    --------
    >>> _path_in('"docs/a.md":3-9'), _path_in("`b.py`#L3-L7"), _path_in("c.go:1")
    ('docs/a.md', 'b.py', 'c.go')
    >>> _path_in("the guide")
    ''
    """
    lines = r"(?:[:#]\s*L?\d+(?:\s*[-–]\s*L?\d+)?|,?\s*lines?\s[\d\s–-]+)$"
    path = re.sub(lines, "", given.strip())
    path = path.strip("`'\" ").replace("\\", "/").removeprefix("./")
    return path if "/" in path or PurePosixPath(path).suffix else ""
