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
CITATION = re.compile(
    # Every repetition has a limit: an answer may be anything, and is read in one pass.
    r"\[\s?(?:passages?\s)?#?(\d{1,3}(?:\s?[,;&]\s?#?\d{1,3}){0,20})\s?"
    r"(?:[:,;|–—-]\s?([^\[\]\n]{1,300}))?\](?!\()",
    re.IGNORECASE,
)
# Code may hold [0], and so may what is quoted, which cites nothing.
CODE = re.compile(
    r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[ \t]*$|\Z)|`[^`\n]*`|^>.*?$", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Citations:
    """What an answer cites: numbers of passages, and citations of what is not among them."""

    cited: tuple[int, ...]
    flagged: tuple[str, ...]


def check_citations(sentences: list[str], paths: list[str]) -> tuple[list[list[int]], list[str]]:
    """Return for each sentence the passages that should support it, and all wrong citations.

    - A citation looks like ``[2: docs/a.md]``. It is right if passage 2 has this path.
    - Passages are counted from 1.
    - The passages of a sentence are those that it cites rightly: each once, in the text's order.
    - A sentence without any citation gets all passages that the answer cites rightly.
    - A sentence with only wrong citations gets none.
    - Wrong citations are returned as they are written, each as often as it is in the text.

    Parameters
    ----------
    sentences
        The sentences of an answer, in their order.
    paths
        The path of each passage that the model got.

    Examples
    --------
    >>> check_citations(["It is [1: a.py].", "It was.", "No [1: b.py]."], ["a.py", "b.py"])
    ([[1], [1], []], ['[1: b.py]'])
    """
    own: list[list[int] | None] = []  # None: it cites nothing
    flagged: list[str] = []
    for sentence in sentences:
        right: dict[int, None] = {}
        written = re.findall(r"\[(\d+): ([^\[\]]+)\]", sentence)
        for number, path in written:
            if 1 <= int(number) <= len(paths) and paths[int(number) - 1] == path:
                right[int(number)] = None
            else:
                flagged.append(f"[{number}: {path}]")
        own.append(list(right) if written else None)
    together = list(dict.fromkeys(number for right in own for number in right or ()))
    return [together if right is None else right for right in own], flagged


def find_citations(text: str, passages: Sequence[Passage]) -> Citations:
    """Return what an answer cites, and which of its citations name no passage.

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
    >>> find_citations("So it is [1: docs/a.md] [1: b.md], and [7] `x[0]`.", passages)
    Citations(cited=(1,), flagged=('[1: b.md]', '[7]'))
    """
    (cited,), flagged = stands_on([text], passages)
    return Citations(tuple(cited), flagged)


def stands_on(
    sentences: Sequence[str], passages: Sequence[Passage]
) -> tuple[list[list[int]], tuple[str, ...]]:
    """Return what `check_citations` says of sentences, in whatever form a model cites."""
    plain, paths, written = plain_citations(sentences, passages)
    found, flagged = check_citations(plain, paths)
    return found, tuple(dict.fromkeys(written[one] for one in flagged))


def plain_citations(
    sentences: Sequence[str], passages: Sequence[Passage]
) -> tuple[list[str], list[str], dict[str, str]]:
    """Return the citations of each sentence as `check_citations` reads them, and the paths for it.

    Several numbers in one pair of brackets, lines, quotes, the end of a path or no path at all are
    the same citation. Brackets in code and in quoted lines are none. The third value is how each
    citation was written.
    """
    by_number = {passage.index: passage for passage in passages}
    paths = [
        _in_brackets(by_number[number].path) if number in by_number else ""
        for number in range(1, max(by_number, default=0) + 1)
    ]
    written: dict[str, str] = {}
    plain = []
    for sentence in sentences:
        own = []
        for match in CITATION.finditer(CODE.sub(" ", sentence)):
            for number in map(int, re.findall(r"\d+", match[1])):
                path = _path_cited(match[2] or "", by_number.get(number))
                own.append(f"[{number}: {path}]")
                written.setdefault(own[-1], match[0])
        plain.append(" ".join(own))
    return plain, paths, written


def without_citations(sentence: str) -> str:
    """Return a sentence without its citations.

    Examples
    --------
    >>> without_citations("A canary sings [1: birds.md]. ")
    'A canary sings.'
    """
    return re.sub(r"\s+(?=[.!?,;])", "", CITATION.sub("", sentence)).strip(" \t-*#>")


def _path_cited(given: str, passage: Passage | None) -> str:
    """Return the whole path that a citation means: the passage's own, unless it names another."""
    if passage is None:
        return "no passage"
    if given and _looks_like_a_path(given) and not _is_path_of(given, passage):
        return "another path"
    return _in_brackets(passage.path)


def _in_brackets(path: str) -> str:
    """Return a path as it can be written in a citation, whose own brackets are square."""
    return path.translate({ord("["): "(", ord("]"): ")", ord("\n"): " "})


def _looks_like_a_path(text: str) -> bool:
    return "/" in text or bool(PurePosixPath(_without_lines(text)).suffix)


def _is_path_of(text: str, passage: Passage) -> bool:
    """Return whether a citation's path is the passage's, or its end, with or without the lines."""
    given = _without_lines(text)
    path = passage.path
    return path == given or path.endswith("/" + given)


def _without_lines(text: str) -> str:
    """Return a path without the quotes around it and the lines after it.

    Examples
    --------
    >>> _without_lines('"docs/a.md":3-9'), _without_lines("`b.py`#L3-L7"), _without_lines("c.go:1")
    ('docs/a.md', 'b.py', 'c.go')
    """
    text = re.sub(r"(?:[:#]\s*L?\d+(?:\s*[-–]\s*L?\d+)?|,?\s*lines?\s[\d\s–-]+)$", "", text.strip())
    return text.strip("`'\" ").replace("\\", "/").removeprefix("./")
