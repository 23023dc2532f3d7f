"""What the three code splitters have in common: units of a source file, and literals over lines.

A language module reads a text and gives its `Outline`: units that lie side by side and cover the
text. Nothing is parsed. Literals that run over several lines (Python's triple-quoted strings, Go's
raw strings, heredocs) are found first, because what looks like a definition in them is none.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

Range = tuple[int, int]


class Signature(NamedTuple):
    """The lines that introduce a definition, in full and as short as they go; both end a line."""

    full: str
    short: str


@dataclass(slots=True)
class Unit:
    """A definition or another piece of a file, with the comments before it: ``text[start:end]``.

    Attributes
    ----------
    start, end
        Offsets of whole lines.
    core
        Where the unit proper begins, behind its leading comments.
    line
        Where the line that introduces it begins, behind its decorators.
    kind, name, class_name, extends
        As in `CodeSpan`.
    opens
        Whether `line` introduces all of the unit, so that it is the signature of its parts.
    leaf
        Whether there are no members to look for in it.
    """

    start: int
    end: int
    core: int
    line: int
    kind: str
    name: str
    class_name: str | None = None
    extends: str | None = None
    opens: bool = True
    leaf: bool = False


@dataclass(slots=True)
class Inside:
    """What is asked for of a unit that is too large: its signature and what is in it."""

    signature: Signature | None
    members: list[Unit]
    keep: list[Range]
    """Ranges that are not cut where that can be helped (inner functions, heredocs), in order."""


class Outline(Protocol):
    """The units of a text; `inside` is asked only of those that do not fit."""

    def units(self) -> list[Unit]:
        """Return the units of the whole text, side by side."""

    def inside(self, unit: Unit, room: int) -> Inside:
        """Return what is in `unit`; `room` is the largest size of a range worth keeping."""


@dataclass(slots=True)
class Literals:
    """Ranges of a text in which no statement begins, in order and apart from each other."""

    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    def add(self, start: int, end: int) -> None:
        """Append a range behind all others."""
        self.starts.append(start)
        self.ends.append(end)

    def around(self, offset: int) -> Range | None:
        """Return the range that holds `offset` behind its first character, if there is one."""
        at = bisect_right(self.starts, offset - 1) - 1
        return (self.starts[at], self.ends[at]) if at >= 0 and self.ends[at] > offset else None

    def last(self, offset: int) -> Range:
        """Return the last range that ends at or before `offset`; (0, 0) without one."""
        at = bisect_right(self.ends, offset) - 1
        return (self.starts[at], self.ends[at]) if at >= 0 else (0, 0)


def find_literals(text: str, token: re.Pattern[str], closers: dict[str, str]) -> Literals:
    r"""Return the literals that may run over several lines.

    Parameters
    ----------
    text
        The source.
    token
        Finds comments, short strings and, as group 1, what opens a long literal.
    closers
        What opens a literal → what closes it. A closing quote behind an odd number of backslashes
        is none, but for the raw ones (a backtick, ``*/``).

    Notes
    -----
    Only the lines that hold an opener are read token by token. An opener that is never closed is
    taken for plain text, so that a broken file keeps its other definitions.

    Examples
    --------
    >>> import re
    >>> token = re.compile(r"#[^\n]*|(`)")
    >>> find_literals("a # `\nb `c\nd`", token, {"`": "`"})
    Literals(starts=[8], ends=[13])
    """
    found = Literals()
    pending = dict.fromkeys(closers, -1)  # the next place of each that is not given up
    position = 0
    while pending:
        for opener in [opener for opener in closers if pending.get(opener, position) < position]:
            pending[opener] = text.find(opener, position)
            if pending[opener] < 0:
                del pending[opener]
        if not pending:
            break
        first = min(pending.values())
        line = max(text.rfind("\n", position, first) + 1, position)
        match = token.search(text, line)
        while match and match.end() <= first:
            match = token.search(text, match.end())
        if match is None:
            break
        opener = match[1]
        if opener is None:
            position = match.end()
            continue
        end = _closing(text, match.end(), closers[opener])
        if end < 0:
            pending.pop(opener)
            position = match.end()
            continue
        found.add(match.start(), end)
        position = end
    return found


def _closing(text: str, position: int, closer: str) -> int:
    """Return the offset behind the next `closer`, or -1."""
    start = position
    while (at := text.find(closer, position)) >= 0:
        before = at
        if closer[0] in "\"'":
            while before > start and text[before - 1] == "\\":
                before -= 1
        if (at - before) % 2 == 0:
            return at + len(closer)
        position = at + 1
    return -1


def balance(text: str, start: int, end: int, noise: re.Pattern[str]) -> int:
    """Return how many brackets are opened and not closed in a range.

    `noise` finds the strings and comments; it is asked only where a plain count does not come out
    even.

    Examples
    --------
    >>> import re
    >>> noise = re.compile('"[^"]*"')
    >>> balance('f(")")', 0, 6, noise), balance("f([", 0, 3, noise)
    (0, 2)
    """
    segment = text[start:end]
    if open_brackets(segment):
        return open_brackets(noise.sub("", segment))
    return 0


def open_brackets(segment: str) -> int:
    """Return the number of opening brackets less the number of closing ones."""
    count = segment.count
    return count("(") + count("[") + count("{") - count(")") - count("]") - count("}")


def leading(text: str, start: int, floor: int, comment: str, width: int = 0) -> int:
    r"""Return where the comments and blank lines directly above the line at `start` begin.

    Parameters
    ----------
    text, start
        The source, and the offset of a line.
    floor
        Offset to go back to at most.
    comment
        What a comment begins with.
    width
        Comments that are indented by more characters belong to what is above them.

    Examples
    --------
    >>> text = "x\n  # of x\n# of y\n\ny"
    >>> text[leading(text, len(text) - 1, 0, "#"):]
    '# of y\n\ny'
    """
    # A comment of one line longer than this is no part of a definition that fits any size in use.
    if text.rfind(comment, max(floor, start - 2000), start) < 0:
        return start
    first = start
    while start > floor:
        line = text.rfind("\n", 0, start - 1) + 1
        if line < floor:
            break
        if text.startswith(comment, line):
            first = line
        else:
            content = text[line:start].lstrip(" \t")
            if content.startswith(comment) and start - line - len(content) <= width:
                first = line
            elif not content.isspace():
                break
        start = line
    return first


def first_line(text: str, start: int, most: int = 60) -> str:
    """Return the line at `start`, bare, as a name for what has none.

    Examples
    --------
    >>> first_line("  print( 1 )  # one", 0)
    'print( 1 )  # one'
    """
    end = text.find("\n", start, start + 4 * most)
    line = text[start : end if end >= 0 else start + 4 * most].strip("\ufeff \t\r\f\v")
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def pack(text: str, units: list[Unit], limit: int) -> list[Unit]:
    r"""Join neighbouring blocks up to `limit`, apart at blank lines where there are any.

    Examples
    --------
    >>> text = "a = 1\nb = 2\n\nc = 3\n"
    >>> blocks = [Unit(at, at + 6, at, at, "block", text[at]) for at in (0, 6, 13)]
    >>> blocks[1].end = 13
    >>> [(text[unit.start:unit.end], unit.name) for unit in pack(text, blocks, 14)]
    [('a = 1\nb = 2\n\n', 'a'), ('c = 3\n', 'c')]
    """
    packed: list[Unit] = []
    run: list[Unit] = []

    def close(count: int) -> None:
        nonlocal run
        first, run = run[:count], run[count:]
        if len(first) == 1:
            packed.append(first[0])
        elif first:
            head = first[0]
            packed.append(
                Unit(
                    head.start, first[-1].end, head.core, head.line, head.kind, head.name,
                    head.class_name, opens=False, leaf=True,
                )
            )  # fmt: skip

    paragraph = 0
    for unit in units:
        if unit.kind != "block":
            close(len(run))
            paragraph = 0
            packed.append(unit)
            continue
        if run and len(text[run[0].start : unit.end].rstrip()) > limit:
            half = run[0].start + limit // 2
            close(paragraph if paragraph and run[paragraph].start > half else len(run))
            if run and len(text[run[0].start : unit.end].rstrip()) > limit:
                close(len(run))
            paragraph = 0
        if run and text.endswith(("\n\n", "\n\r\n"), 0, unit.start):
            paragraph = len(run)
        run.append(unit)
    close(len(run))
    return packed
