"""The outline of a resource: its lines go in, a flat list of keys and list items comes out.

Indentation alone is enough for that, so templates and broken files have an outline as well. Block
scalars and quoted strings that span lines are text: nothing in them counts as a key.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_LINE = re.compile(r"([ \t]*)([^\n]*)(?:\n|\Z)")
_DASH = re.compile(r"-(?:[ \t]+|(?=\r?\Z))")
_KEY = re.compile(
    r"""(?:"(?P<double>[^"\\]*)"[ \t]*|'(?P<single>[^']*)'[ \t]*
    |(?P<plain>[^\s\#"'{}\[\],&*!|>%@`-][^"'\#]*?))
    :(?=\s|\Z)[ \t]*(?P<value>.*)""",
    re.VERBOSE | re.DOTALL,
)
_BLOCK = re.compile(r"(?:[&!][^\s]*[ \t]+)*[|>][-+0-9]*[ \t\r]*(?:#.*)?\Z")
_SIMPLE_NAME = re.compile(r"[\w$-]+", re.ASCII)
_MOST_LEVELS = 80


@dataclass(slots=True)
class Entry:
    """A key or a list item with all that is indented below it.

    Attributes
    ----------
    start, end
        Offsets of its lines, with the comments above it.
    level
        Twice the column, and one more for an item: items may stand right below their key.
    label
        ``.name`` or ``[0]``.
    parent
        The index of the entry that holds it, -1 at the top.
    """

    start: int
    end: int
    level: int
    label: str
    parent: int


def outline(text: str, ranges: Iterable[tuple[int, int]], body: int = 0) -> list[Entry]:
    r"""Return the entries of the lines in some ranges of a text, in order.

    Parameters
    ----------
    text
        The whole text.
    ranges
        Ascending offsets of whole lines. What is left out between them belongs to no entry.
    body
        Entries begin here at the earliest; what stands before belongs to the first.

    Examples
    --------
    >>> source = "spec:\n  list:\n  - a: 1\n  - b\n"
    >>> entries = outline(source, [(0, len(source))])
    >>> [path(entries, index) for index in range(len(entries))]
    ['spec', 'spec.list', 'spec.list[0]', 'spec.list[0].a', 'spec.list[1]']
    """
    entries: list[Entry] = []
    stack: list[int] = []
    counts: dict[int, int] = {}
    for start, end in ranges:
        _close(entries, stack, start)
        _add_lines(text, start, end, body, entries, stack, counts)
        for index in stack:
            entries[index].end = max(entries[index].end, end)
    return entries


def _close(entries: list[Entry], stack: list[int], at: int) -> None:
    for index in stack:
        entries[index].end = min(entries[index].end, at)


def _add_lines(
    text: str,
    start: int,
    end: int,
    body: int,
    entries: list[Entry],
    stack: list[int],
    counts: dict[int, int],
) -> None:
    opaque = -1  # lines indented more than this are the text of a scalar
    comments = -1  # where the comments above the next entry begin
    for match in _LINE.finditer(text, start, end):
        rest = match[2]
        at, column = match.start(), len(match[1])
        if not rest or rest == "\r" or match.end() <= body:
            continue
        if opaque >= 0:
            if column > opaque:
                continue
            opaque = -1
        if rest[0] == "#":
            comments = at if comments < 0 else comments
            continue
        begin, comments = (at if comments < 0 else comments), -1
        if at <= body < match.end():  # what stands before it is not the resource's
            column, rest, begin = body - at, text[body : match.end(2)], start
        while dash := _DASH.match(rest):
            _push(entries, stack, counts, begin, end, 2 * column + 1, "")
            column += dash.end()
            rest = rest[dash.end() :]
        key = _KEY.match(rest)
        if key:
            name = key["plain"] or key["double"] or key["single"] or ""
            name = name.rstrip()
            label = f".{name}" if _SIMPLE_NAME.fullmatch(name) else f'["{name}"]'
            _push(entries, stack, counts, begin, end, 2 * column, label)
            rest = key["value"]
        if _BLOCK.match(rest) or _is_open(rest):
            opaque = column if key else max(column - 1, 0)


def _push(
    entries: list[Entry],
    stack: list[int],
    counts: dict[int, int],
    start: int,
    end: int,
    level: int,
    label: str,
) -> None:
    while stack and entries[stack[-1]].level >= level:
        entry = entries[stack.pop()]
        entry.end = min(entry.end, start)
    if len(stack) >= _MOST_LEVELS:
        return
    parent = stack[-1] if stack else -1
    if not label:
        number = counts.get(parent, 0)
        counts[parent] = number + 1
        label = f"[{number}]"
    stack.append(len(entries))
    entries.append(Entry(start, end, level, label, parent))


def _is_open(value: str) -> bool:
    """Return whether a quoted string begins here and does not end on this line."""
    quote = value[:1]
    if quote == '"':
        return not re.match(r'"(?:[^"\\]|\\.)*"', value)
    return quote == "'" and not re.match(r"'(?:[^']|'')*'", value)


def path(entries: list[Entry], index: int) -> str:
    """Return where an entry lies, from the top: ``spec.containers[0]``; "" for -1."""
    labels = []
    while index >= 0:
        labels.append(entries[index].label)
        index = entries[index].parent
    return "".join(reversed(labels)).removeprefix(".")
