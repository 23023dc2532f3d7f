"""Source code to chunks: a Python, Go or shell file goes in, its definitions come out.

A definition that fits the size stays whole. One that does not is split along the definitions in it
(a class by its methods), or like any text: at blank lines, else at line ends, words, anywhere. Its
parts carry as their header the signatures of what they were cut out of, as far as the size has room
for them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import NamedTuple

from tree_sitter import Node

from course_lib.errors import InputError
from course_lib.loader.languages import (
    LANGUAGES,
    bases_of,
    definition_of,
    find_definitions,
    language_of,
    name_of,
    parse_source,
    receiver_of,
    split_definitions,
)
from course_lib.loader.pieces import ParserInfo, Piece, make_chunks
from course_lib.loader.recursive import check_arguments, find_cut, next_start
from course_lib.records import LOCAL, Chunk, Document, Scope
from course_lib.settings import CHUNK_OVERLAP, CHUNK_SIZE

PARSER = ParserInfo("code", "2.0.0", ("kind", "name", "customMeta"))
"""The id of a record's parser is its language."""

SEPARATORS = ("\n\n", "\n\r\n", "\n", " ", "")
"""Where a piece that is too large is cut: blank lines, line ends, words, anywhere."""

_DEEPEST = 8
"""Definitions in definitions are opened down to this level."""

_LONGEST_NAME = 60
_BLANK_LINES = re.compile(r"(?:[^\S\n]*\n)*+")
"""Lines of white space, as many as there are: `*+` never gives one back, so it stays linear."""

_ASSIGNMENT = re.compile(
    r"(?:(?:export|readonly|local|declare|typeset)\s+(?:-\w+\s+)*)?"
    r"([A-Za-z_][\w.]*)[ \t]*(?::[^=\n]+)?\+?=(?!=)"
)
"""The name in ``LIMIT: int = 3``, ``path += x`` and ``export -r HOME=/srv``."""


@dataclass(frozen=True)
class CodeSpan:
    """A piece of a source file: ``text == source[start:end]``.

    Attributes
    ----------
    start, end, text
        Offsets in characters, and what is between them.
    kind
        ``function``, ``class``, ``method``, ``type``, ``module`` (docstring, imports, package
        clause) or ``block``.
    name
        The name of the definition, the first name that a block assigns or declares, or its first
        line; empty for a file's docstring and imports.
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


def split_code(
    text: str, language: str, chunk_size: int = CHUNK_SIZE, chunk_overlap: int = CHUNK_OVERLAP
) -> list[CodeSpan]:
    r"""Split a source file at its definitions.

    Parameters
    ----------
    text
        The source; it need not be valid. Where it breaks the grammar, it is first split at the
        lines that look like definitions, so that one mistake harms one definition.
    language
        A key of `LANGUAGES`, such as ``"python"``.
    chunk_size
        Most characters in a span and its header together.
    chunk_overlap
        Most characters that neighbouring parts of one definition share; where a line begins in the
        overlap, whole lines. Definitions share nothing.

    Returns
    -------
    list of CodeSpan
        In order: starts and ends increase. Every character that is not white space is in a span.

    Raises
    ------
    TypeError, ValueError
        As `split_text`, and for a language that is not known.

    Examples
    --------
    >>> source = "import os\n\nclass A(B):\n    x = 1\n\n    def f(self):\n        return os.sep\n"
    >>> for span in split_code(source, "python", chunk_size=60, chunk_overlap=0):
    ...     print((span.kind, span.name, span.class_name, span.line_start, span.header))
    ('module', '', None, 1, '')
    ('class', 'A', 'A', 3, '')
    ('method', 'f', 'A', 6, 'class A(B):\n')
    """
    check_arguments(text, chunk_size, chunk_overlap)
    if language not in LANGUAGES:
        raise ValueError(f"language must be one of {', '.join(LANGUAGES)}, not {language!r}")
    root = parse_source(text, language)
    if root is None or root.has_error:
        pieces = split_definitions(text, LANGUAGES[language].starts)
        if len(pieces) > 1:  # each has one definition at most, so the next call goes on below
            spans, lines = [], 0
            for _, piece in pieces:
                inner = split_code(piece.text, language, chunk_size, chunk_overlap)
                spans += [_moved(span, piece.start, lines) for span in inner]
                lines += piece.text.count("\n")
            return spans
    splitter = _Splitter(text, language, chunk_size, chunk_overlap)
    return [span for unit in splitter.units(root) for span in splitter.split(unit)]


def choose_header(signatures: Sequence[str], room: int) -> str:
    r"""Return the header for a part of a definition: it says where the part is from.

    1. It is one of these: all signatures joined, the innermost one alone, its first line, "".
    2. Take the longest of these that has at most `room` characters.
    3. A line end belongs to its line, and counts.
    4. Without signatures, it is "".

    Parameters
    ----------
    signatures
        Of the class and the method around the part, the outermost first. Each has one or more
        lines with their line ends.
    room
        Most characters of the header.

    Examples
    --------
    >>> signatures = ["class Mill:\n", "    def grind(\n        self, corn\n    ):\n"]
    >>> choose_header(signatures, 50)
    '    def grind(\n        self, corn\n    ):\n'
    >>> choose_header(signatures, 20), choose_header(signatures, 10)
    ('    def grind(\n', '')
    """
    innermost = signatures[-1] if signatures else ""
    first_line = innermost[: innermost.find("\n") + 1]
    candidates = ("".join(signatures), innermost, first_line)
    return next((header for header in candidates if len(header) <= room), "")


def parse_code(
    document: Document,
    *,
    scope: Scope = LOCAL,
    language: str | None = None,
    chunk_size: int = CHUNK_SIZE,
    chunk_overlap: int = CHUNK_OVERLAP,
) -> list[Chunk]:
    r"""Split one source file into records.

    Parameters
    ----------
    document
        What `read_documents` gave.
    scope
        Whose file this is.
    language
        As in `split_code`; by default what the file name's extension says.
    chunk_size, chunk_overlap
        As in `split_code`.

    Returns
    -------
    list of Chunk
        `content` is the exact text of the piece; what is to be put before it when it is embedded
        is ``custom_meta["header"]`` (left out where it is empty). `custom_meta` also holds
        `chunkIndex` and the offsets `charStart` and `charEnd`. A piece without a name of its own
        (a Python file's imports) bears the file's.

    Raises
    ------
    InputError
        If the language is not given and the extension is none of the known ones.
    ValueError, TypeError
        As `split_code`.

    Examples
    --------
    >>> from pathlib import Path
    >>> file = Document(Path("a.py"), "a.py", "import os\n\n\ndef f():\n    pass\n")
    >>> [(piece.kind, piece.name, piece.line_start, piece.line_end) for piece in parse_code(file)]
    [('module', 'a.py', 1, 1), ('function', 'f', 4, 5)]
    """
    language = language or language_of(document.name)
    if language is None:
        raise InputError(
            f"{document.name} has an extension that tells no language",
            hint=f"Give language=, one of {', '.join(LANGUAGES)}.",
        )
    file_name = PurePosixPath(document.name).name
    pieces = (
        Piece(
            span.start,
            span.end,
            span.kind,
            span.name or file_name,
            span.header,
            span.class_name,
            span.extends,
        )  # fmt: skip
        for span in split_code(document.content, language, chunk_size, chunk_overlap)
    )
    return make_chunks(document, scope, pieces, PARSER._replace(id=language))


class _Unit(NamedTuple):
    """Whole lines of a source: a definition with the comments above it, or what is between two.

    `first` is its first line, from 0, `after` the line after its last, and `core` its first line
    without the comments above it. The definitions inside are looked for in `node`. What is around
    inner definitions has no node; its `signature` is that of the definition which it begins, or "".
    """

    first: int
    after: int
    core: int
    kind: str = "block"
    name: str = ""
    class_name: str | None = None
    extends: str | None = None
    node: Node | None = None
    signature: str | None = None


class _Splitter:
    """Makes the spans of one text.

    `_starts` holds the offset of each line, and of the end. `_siblings_of` remembers nodes with
    their siblings and their place among them: to ask a node for the one before it takes as long as
    it has siblings.
    """

    def __init__(self, text: str, language: str, size: int, overlap: int) -> None:
        self._text = text
        self._language = LANGUAGES[language]
        self._size, self._overlap = size, overlap
        self._starts = [0, *(match.end() for match in re.finditer("\n", text)), len(text)]
        self._siblings_of: dict[int, tuple[list[Node], int]] = {}

    def units(self, root: Node | None) -> list[_Unit]:
        """Return a file's imports, its definitions, and what is between them."""
        whole = _Unit(0, len(self._starts) - 1, 0)
        if root is None:
            return [whole]
        types, preamble_end = self._language.definitions, 0
        found: list[_Unit] = []
        for node in root.named_children:
            if not found and self._language.is_preamble(node):
                preamble_end = node.end_point.row + 1
            elif node.type in types or find_definitions(node, types):
                found.append(self._unit(node, whole))
        if root.has_error:  # `split_code` saw to it that this is one definition at most
            names = [name for name, _ in split_definitions(self._text, self._language.starts)]
            one = found[0] if found else whole._replace(name=names[0] if names else "")
            return [one._replace(first=0, after=whole.after, node=root)]
        # The comments above a definition may belong to the preamble's last lines.
        preamble_end = min([preamble_end, *(unit.first for unit in found)])
        return self._side_by_side([_Unit(0, preamble_end, 0, "module"), *found], whole)

    def split(self, unit: _Unit, above: tuple[str, ...] = ()) -> Iterator[CodeSpan]:
        """Yield the spans of a unit; `above` are the signatures of what it is in."""
        start, end = self._place(unit.first, unit.after)
        if unit.kind != "module" and not unit.name:
            unit = unit._replace(name=_name_of_block(self._text[start:end]))
        if end - start <= self._size:
            if start < end:
                yield self._span(start, end, unit, choose_header(above, self._size - (end - start)))
            return
        body, _ = self._place(unit.core, unit.after)
        if start < body and end - body <= self._size:  # it fits without the comments above it
            comments = _Unit(unit.first, unit.core, unit.first, class_name=unit.class_name)
            yield from self.split(comments, above)
            yield from self.split(unit._replace(first=unit.core), above)
            return
        own = self._signature(unit) if unit.signature is None else unit.signature
        with_own = (*above, own) if own else above
        inner = self._inside(unit) if len(above) < _DEEPEST else []
        for one in inner:  # the first holds this signature in its text
            yield from self.split(one, above if one.first == unit.first else with_own)
        if not inner:
            header_limit = (self._size - self._overlap) // 2  # at least half of a part is its own
            header = choose_header(above, header_limit)
            next_header = choose_header(with_own, header_limit)
            room = self._size - max(len(header), len(next_header))
            for begin, stop in _parts(self._text, start, end, room, self._overlap):
                yield self._span(begin, stop, unit, header if begin == start else next_header)

    def _inside(self, unit: _Unit) -> list[_Unit]:
        """Return the definitions in a unit, and what is between them; nothing without any."""
        if unit.node is None:
            return []
        found = find_definitions(definition_of(unit.node), self._language.definitions)
        is_file = unit.node.parent is None  # with a mistake in it: what is found is in no class
        around = unit._replace(kind="block", class_name=None) if is_file else unit
        units = [self._unit(node, around) for node in found]
        return self._side_by_side(units, unit) if units else []

    def _side_by_side(self, found: list[_Unit], around: _Unit) -> list[_Unit]:
        """Return units that share no line, and between them the rest of the unit around them."""
        units: list[_Unit] = []
        at = around.first
        in_definition = around.node is not None and around.node.parent is not None
        signature = self._signature(around) if in_definition else None
        rest = around._replace(node=None, signature="" if in_definition else None)
        for unit in found:
            if unit.after <= at:  # all of it is on the last line of the one before
                continue
            if at < unit.first:
                # Comments above what is around are passed before its own first line.
                core = around.core if at < around.core < unit.first else at
                one = rest._replace(first=at, after=unit.first, core=core)
                units.append(one._replace(signature=signature) if at == around.first else one)
            units.append(unit._replace(first=max(unit.first, at), core=max(unit.core, at)))
            at = unit.after
        if units and at == around.after - 1:  # one last line, mostly a brace: no piece of its own
            units[-1] = units[-1]._replace(after=around.after)
        elif at < around.after:
            units.append(rest._replace(first=at, core=at))
        return units

    def _unit(self, node: Node, around: _Unit) -> _Unit:
        """Return the unit of a definition, or of a statement with definitions in it."""
        definition = definition_of(node)
        kind = self._language.definitions.get(definition.type)
        name = name_of(definition) if kind else ""
        class_name, extends = around.class_name, None
        if kind == "class":
            class_name = f"{class_name}.{name}" if class_name else name
            extends = bases_of(definition)
        elif kind == "method":
            class_name = receiver_of(definition)
        elif kind == "function" and around.kind == "class":
            kind = "method"
        first, core = self._with_comments(node), node.start_point.row
        # A node that ends at column 0 ends with the line before.
        after = node.end_point.row + (1 if node.end_point.column else 0)
        return _Unit(first, after, core, kind or "block", name, class_name, extends, node)

    def _with_comments(self, node: Node) -> int:
        """Return the first of the comment lines directly above a node, or the node's own line."""
        first = node.start_point.row
        for above in self._siblings_before(node):
            row, column = above.start_point
            if above.type != "comment" or above.end_point.row != first - 1:
                break
            if self._text[self._starts[row] : self._starts[row] + column].strip():
                break  # it is on the line of a statement
            first = row
        return first

    def _siblings_before(self, node: Node) -> Iterator[Node]:
        """Yield what is before a node, the nearest first.

        For the first in a body, that is what is before the body: in Python the comments above a
        class's first method are there.
        """
        if node.id not in self._siblings_of and node.parent:
            siblings = node.parent.named_children
            self._siblings_of |= {one.id: (siblings, place) for place, one in enumerate(siblings)}
        siblings, place = self._siblings_of.get(node.id, ([], 0))
        if place:
            yield from (siblings[at] for at in range(place - 1, -1, -1))
        elif node.parent and node.parent.parent:
            yield from self._siblings_before(node.parent)

    def _signature(self, unit: _Unit) -> str:
        """Return the lines that introduce a unit: all those before its body.

        Of what is between definitions, that is the first line that is not blank.
        """
        start, _ = self._place(unit.core, unit.after)
        first = last = bisect_right(self._starts, start, hi=len(self._starts) - 1) - 1
        if unit.node is not None:
            definition = definition_of(unit.node)
            first = last = definition.start_point.row
            if body := definition.child_by_field_name("body"):
                before = (
                    child for child in definition.children if child.end_byte <= body.start_byte
                )
                last = max(
                    (child.end_point.row for child in before if child.type != "comment"),
                    default=first,  # nothing is before the body: it is all of a shell's function
                )
        lines = self._text[self._starts[first] : self._starts[last + 1]].rstrip()
        return lines + "\n"

    def _place(self, first: int, after: int) -> tuple[int, int]:
        """Return the offsets of some lines, without the blank ones around them."""
        start, end = self._starts[first], self._starts[after]
        return _without_blank_lines(self._text, start, end)

    def _span(self, start: int, end: int, unit: _Unit, header: str) -> CodeSpan:
        text = self._text[start:end]
        line = bisect_right(self._starts, start, hi=len(self._starts) - 1)
        return CodeSpan(
            start, end, text, unit.kind, unit.name, unit.class_name, unit.extends,
            line, line + text.count("\n"), header,
        )  # fmt: skip


def _parts(text: str, start: int, end: int, room: int, overlap: int) -> Iterator[tuple[int, int]]:
    """Yield places of at most `room` characters that cover a range, cut at the best separators.

    The next part begins with a line where one begins in the overlap, otherwise with a word.
    """
    covered_to = start
    while (start := _BLANK_LINES.match(text, start, end).end()) < end:  # type: ignore[union-attr]
        is_last = end - start <= room
        cut = end if is_last else find_cut(text, start, start + room, start + overlap, SEPARATORS)
        begin, stop = _without_blank_lines(text, start, cut)
        if begin < stop and covered_to < stop:  # otherwise the part before has all of it
            yield begin, stop
            covered_to = stop
        line_end = text.find("\n", max(cut - overlap - 1, 0), cut - 1)
        word = next_start(text, cut, overlap, snap_to_words=True)
        start = end if is_last else word if line_end < 0 else line_end + 1


def _without_blank_lines(text: str, start: int, end: int) -> tuple[int, int]:
    begin = _BLANK_LINES.match(text, start, end).end()  # type: ignore[union-attr]  # it may be empty
    return begin, begin + len(text[begin:end].rstrip())


def _name_of_block(text: str) -> str:
    """Return the first name that a block assigns, or its first line that is not a comment."""
    lines = [line.strip("\ufeff \t\r\f\v") for line in text.split("\n")]
    line = next((line for line in lines if line and not line.startswith(("#", "//"))), lines[0])
    if assigned := _ASSIGNMENT.match(line):
        return assigned[1]
    return line if len(line) <= _LONGEST_NAME else line[: _LONGEST_NAME - 1].rstrip() + "…"


def _moved(span: CodeSpan, start: int, lines: int) -> CodeSpan:
    """Return a span of a piece as one of the text that the piece was cut out of."""
    return replace(
        span,
        start=span.start + start,
        end=span.end + start,
        line_start=span.line_start + lines,
        line_end=span.line_end + lines,
    )
