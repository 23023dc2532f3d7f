"""Units to spans: the outline of a source file goes in, pieces that fit a size come out.

What fits stays whole. What does not is split into its members, or else at blank lines and line
ends, and each piece gets as its header the signatures of what it was cut out of.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import NamedTuple

from course_lib.loader.code_outline import Outline, Range, Signature, Unit
from course_lib.loader.recursive import find_cut

SEPARATORS = ("\n\n", "\n\r\n", "\n", " ", "")
"""Where a piece that is too large is cut: blank lines, line ends, words, anywhere."""

_WITHOUT_CR = tuple(separator for separator in SEPARATORS if "\r" not in separator)
_BLANK_LINES = re.compile(r"(?:[ \t\f\v]{0,99}\r?\n)*+")
_WORD_START = re.compile(r"\s(?=\S)")
_SHORTEST_HEADER = 8
_DEEPEST = 8
"""Classes in classes are opened down to this level."""


@dataclass(frozen=True, slots=True)
class CodeSpan:
    """A piece of a source file: ``text == source[start:end]``.

    Attributes
    ----------
    start, end, text
        Offsets in characters, and what lies between them.
    kind
        ``function``, ``class``, ``method``, ``type``, ``module`` (docstring, imports, package
        clause) or ``block``.
    name
        The name of the definition, the first name that a block assigns or declares, or its first
        line; empty for a Python file's docstring and imports.
    class_name
        Of a class and what is in it: the class, ``Outer.Inner`` where they are nested; of a Go
        method the type of its receiver.
    extends
        The base classes of a class, as written and joined by commas.
    line_start, line_end
        The first and the last line, from 1.
    header
        The signatures of what the piece was cut out of, each with its line end; empty for what is
        whole at the top level. ``header + text`` is what gets embedded, and fits the size.
    """

    start: int
    end: int
    text: str
    kind: str
    name: str
    class_name: str | None
    extends: str | None
    line_start: int
    line_end: int
    header: str


def split_units(text: str, outline: Outline, chunk_size: int, chunk_overlap: int) -> list[CodeSpan]:
    """Return the spans of all units of `outline`, which is that of `text`; see `split_code`."""
    splitter = _Splitter(text, outline, chunk_size, chunk_overlap)
    top = _Context()
    for unit in outline.units():
        splitter.split(unit, top)
    return splitter.spans


class _Splitter:
    def __init__(self, text: str, outline: Outline, size: int, overlap: int) -> None:
        self.spans: list[CodeSpan] = []
        self._text = text
        self._outline = outline
        self._size = size
        self._overlap = overlap
        self._separators = SEPARATORS if "\r" in text else _WITHOUT_CR
        self._line = 1
        self._counted = 0  # up to this offset the line feeds are counted

    def split(self, unit: Unit, context: _Context, depth: int = 0) -> None:
        """Add the spans of `unit`, which lies in the definitions of `context`."""
        text, start = self._text, unit.start
        if text[start : start + 1] in "\r\n\f":
            start = _behind_blank_lines(text, start, unit.end)
        body = text[start : unit.end].rstrip()
        if not body:
            return
        room = self._size - len(body)
        header = context.header(room)
        if header is not None:
            self._add(start, body, unit, header)
            return
        if unit.core > start and context.header(room + unit.core - start) is not None:
            comments = Unit(start, unit.core, start, start, "block", unit.name, unit.class_name)
            self._cut(comments, context, None, [])
            unit.start = unit.core
            self.split(unit, context, depth)
            return
        unit.leaf = unit.leaf or depth >= _DEEPEST
        inside = self._outline.inside(unit, self._size * 7 // 8)
        if not inside.members:
            self._cut(unit, context, inside.signature, inside.keep)
            return
        deeper = context.deeper(inside.signature) if inside.signature else context
        for member in inside.members:
            self.split(member, context if member.start == unit.start else deeper, depth + 1)

    def _cut(
        self, unit: Unit, context: _Context, signature: Signature | None, keep: list[Range]
    ) -> None:
        """Add the parts of what does not fit, each but the first under the unit's signature."""
        text, size, overlap, separators = self._text, self._size, self._overlap, self._separators
        # At least half of what a part adds is text, so that headers cannot multiply the parts.
        budget = (size - overlap) // 2
        header = context.clipped(budget)
        next_header = context.with_signature(signature, budget) if signature else header
        room, next_room = size - len(header), size - len(next_header)
        if keep:
            keep = [kept for kept in keep if kept[1] - kept[0] <= next_room]
        position, stop = unit.start, unit.end
        done = -1  # end of the last part
        while position < stop:
            start = _behind_blank_lines(text, position, stop)
            limit = start + room
            if limit >= stop:
                cut = position = stop
            else:
                floor = start + overlap
                cut = find_cut(text, start, limit, floor, separators)
                if keep:
                    cut = _spare(keep, cut, floor)
                position = self._next(cut, keep, next_room)
            part = text[start:cut].rstrip()
            end = start + len(part)
            if part and end > done:
                done = end
                self._add(start, part, unit, header)
                header, room = next_header, next_room

    def _next(self, cut: int, keep: list[Range], room: int) -> int:
        """Return where the part after the one that ends at `cut` begins."""
        text, overlap = self._text, self._overlap
        if keep:
            start, end = keep[bisect_right(keep, (cut, len(text))) - 1]
            if start == cut and end - cut + overlap > room:
                return cut
        start = cut - overlap
        line = text.find("\n", max(start - 1, 0), cut - 1)
        if line >= 0:
            return line + 1
        word = _WORD_START.search(text, max(start - 1, 0), cut)
        return word.end() if word else start

    def _add(self, start: int, part: str, unit: Unit, header: str) -> None:
        # Parts overlap: the count of lines goes back by what they share.
        if start < self._counted:
            self._line -= self._text.count("\n", start, self._counted)
        else:
            self._line += self._text.count("\n", self._counted, start)
        self._counted = start + len(part)
        first = self._line
        self._line += part.count("\n")
        span = _Draft(
            start, self._counted, part, unit.kind, unit.name, unit.class_name, unit.extends,
            first, self._line, header,
        )  # fmt: skip
        span.__class__ = CodeSpan  # type: ignore[assignment]
        self.spans.append(span)  # type: ignore[arg-type]


def _behind_blank_lines(text: str, start: int, end: int) -> int:
    if start < end and text[start] not in "\r\n\f":
        return start
    found = _BLANK_LINES.match(text, start, end)
    return found.end() if found else start


def _spare(keep: list[Range], cut: int, floor: int) -> int:
    """Return `cut`, or the start of the range that it would break, if that lies behind `floor`."""
    at = bisect_right(keep, (cut, -1)) - 1
    if at >= 0 and keep[at][0] < cut < keep[at][1] and keep[at][0] > floor:
        return keep[at][0]
    return cut


class _Context(NamedTuple):
    """The definitions that a unit lies in: their signatures, and the headers made of these."""

    full: str = ""
    short: str = ""
    forms: tuple[str, ...] = ("",)
    """From the richest to the shortest: in full, the outer ones short, all short, the innermost."""

    def deeper(self, signature: Signature) -> _Context:
        """Return the context of what lies in a definition."""
        full, short = signature
        return _Context(
            self.full + full,
            self.short + short,
            (self.full + full, self.short + full, self.short + short, short),
        )

    def with_signature(self, signature: Signature, room: int) -> str:
        """Return the header of a part of a definition."""
        full = self.full + signature.full
        return full if len(full) <= room else self.deeper(signature).clipped(room)

    def header(self, room: int) -> str | None:
        """Return the richest header that fits; None where not even the innermost one does."""
        if len(self.full) <= room:
            return self.full
        for form in self.forms[1:]:
            if len(form) <= room:
                return form
        return None

    def clipped(self, room: int) -> str:
        """Return what `header` does, or as much of the innermost signature as there is room for."""
        header = self.header(room)
        if header is not None:
            return header
        return self.forms[-1][: room - 1] + "\n" if room >= _SHORTEST_HEADER else ""


@dataclass(slots=True)
class _Draft:
    """A `CodeSpan` in the making: the same slots, set without the detour of a frozen class."""

    start: int
    end: int
    text: str
    kind: str
    name: str
    class_name: str | None
    extends: str | None
    line_start: int
    line_end: int
    header: str
