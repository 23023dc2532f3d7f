"""Units: a passage goes in, what can be quoted of it comes out: sentences, or lines of code.

A sentence means something by itself. A line such as ``memory: 3Gi`` does not: it is read under the
lines that it belongs to, and quoted with the comment above it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from course_lib.answers.passages import Passage

PROSE = frozenset((".md", ".txt", ".rst", ".adoc", ".markdown", ""))
"""Ends of names of files that hold sentences; all others hold lines."""

LONGEST = 600
"""Characters of a unit, at most."""

_SENTENCE_END = re.compile(r"([.!?…][\"')\]*_`]*)\s+(?=[\"'(\[*_`]*[A-ZÀ-Þ0-9])")
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|Dr|Mr|Ms|No|Fig|approx)|\b[A-Z])\.$")
_HALF = re.compile(r"^[^-*+|\d].*[\w,]$", re.DOTALL)
_IMPORT = re.compile(r"\s*(?:import\s|from\s+\S+\s+import\b|package\s+\w+$)")
_COMMENT = re.compile(r"\s*(?:#|//|--|;)")


@dataclass(frozen=True, slots=True)
class Unit:
    """A part of a passage that can be quoted.

    Attributes
    ----------
    passage
        Which passage it is from.
    text
        As it is in the passage.
    read_as
        What is compared with a question: the text, under what it belongs to.
    line
        Its first line, counted from the passage's first one; −1 for a line of the header.
    is_code
        Whether it is to be quoted as it is, and not as a sentence.
    """

    passage: Passage
    text: str
    read_as: str
    line: int
    is_code: bool


def units_of(passage: Passage) -> list[Unit]:
    """Return the units of a passage in their order."""
    suffix = PurePosixPath(passage.path).suffix.lower()
    if suffix in PROSE or passage.result.partition == "issues":
        return _sentences(passage)
    return _lines(passage)


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text, without the white space between them.

    Examples
    --------
    >>> split_sentences("Drift is slow, e.g. Over months. Skew is fast! Why? Version 1.2 knows.")
    ['Drift is slow, e.g. Over months.', 'Skew is fast!', 'Why?', 'Version 1.2 knows.']
    """
    sentences: list[str] = []
    # No text from a database holds NUL.
    for part in _SENTENCE_END.sub("\\1\0", text).split("\0"):
        if sentences and _ABBREVIATION.search(sentences[-1][-12:]):
            sentences[-1] += f" {part}"
        else:
            sentences.append(part)
    return [sentence for sentence in map(str.strip, sentences) if sentence]


def _sentences(passage: Passage) -> list[Unit]:
    units: list[Unit] = []
    heading = passage.result.name
    in_code = False
    paragraph: list[str] = []
    start = 0

    def flush() -> None:
        for sentence in split_sentences(" ".join(paragraph)):
            shown = sentence[:LONGEST]
            units.append(Unit(passage, shown, f"{heading}: {shown}", start, False))
        paragraph.clear()

    for number, line in enumerate(passage.result.content.split("\n")):
        stripped = line.strip()
        if stripped.startswith(("```", "~~~")):
            flush()
            in_code = not in_code
        elif in_code:
            if stripped:
                shown = line.rstrip()[:LONGEST]
                units.append(Unit(passage, shown, f"{heading}: {stripped}", number, True))
        elif stripped.startswith("#"):
            flush()
            heading = stripped.lstrip("# ") or heading
        elif not stripped or set(stripped) <= set("-=|: "):
            flush()
        else:
            if re.match(r"(?:[-*+]|\d+[.)]|\|)\s", stripped):
                flush()
            if not paragraph:
                start = number
            paragraph.append(stripped)
    flush()
    return _whole(units)


def _whole(units: list[Unit]) -> list[Unit]:
    """Return sentences without the halves that a splitter left at the ends of a passage.

    A piece may begin with what it shares with the one before it, in the middle of a word.
    """
    if len(units) > 1 and units[0].text[:1].islower():
        units = units[1:]
    is_half = len(units) > 1 and not units[-1].is_code and _HALF.search(units[-1].text)
    return units[:-1] if is_half else units


def _lines(passage: Passage) -> list[Unit]:
    header = str(passage.result.metadata.get("header") or "")
    context = [line.strip() for line in header.split("\n") if line.strip()]
    name = " ".join(filter(None, [passage.result.kind, passage.result.name]))
    parents: list[tuple[int, str]] = []
    comments: list[str] = []
    units: list[Unit] = []
    for number, line in enumerate(passage.result.content.split("\n")):
        stripped = line.strip()
        # An import names everything that a file is about and says nothing about it.
        if not stripped or stripped == "---" or _IMPORT.match(line):
            comments.clear()
            continue
        if _COMMENT.match(line):
            comments.append(line.rstrip())
            continue
        indent = len(line) - len(line.lstrip())
        while parents and parents[-1][0] >= indent:
            parents.pop()
        above = [text for _, text in parents]
        read_as = " ".join([name, *context[-2:], *above[-3:], *map(str.strip, comments), stripped])
        text = "\n".join([*comments, line.rstrip()])
        first = number - len(comments)
        units.append(Unit(passage, text[:LONGEST], read_as[:LONGEST], first, True))
        parents.append((indent, stripped))
        comments.clear()
    if comments:
        text = "\n".join(comments)[:LONGEST]
        units.append(Unit(passage, text, f"{name} {text}", 0, True))
    return units
