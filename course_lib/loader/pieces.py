"""Pieces to records: what a parser found in a document goes in, parsed-chunk-v1 records come out.

A parser says where a piece is and what it is. What is the same for all of them is done here: the
text, the lines, the place in the document, whose it is, and what its hash is made of.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from pydantic import JsonValue

from course_lib.records import Chunk, Document, Scope

UNSAID: tuple[object, ...] = (None, "", {})
"""What stands for nothing in a piece's `meta`."""


LONGEST_NAME = 250
"""Most characters of a record's name, its class and its base classes."""

T = TypeVar("T", str, str | None)


class ParserInfo(NamedTuple):
    """A parser's id and version, and what a record's hash is made of besides content and path."""

    id: str
    version: str
    also_hashed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Piece:
    """A piece of a document: ``document.content[start:end]``.

    Attributes
    ----------
    start, end
        Offsets in characters.
    kind, name, class_name, extends
        As in `Chunk`.
    header
        What is put before the piece when it is embedded.
    meta
        What else the parser knows; it goes into `custom_meta`, but for what is `UNSAID`.
    """

    start: int
    end: int
    kind: str
    name: str
    header: str = ""
    class_name: str | None = None
    extends: str | None = None
    meta: Mapping[str, JsonValue] = field(default_factory=dict)


def make_chunks(
    document: Document,
    scope: Scope,
    pieces: Iterable[Piece],
    parser: ParserInfo,
) -> list[Chunk]:
    r"""Return the records of a document's pieces, in their order.

    Parameters
    ----------
    document
        What the pieces are of.
    scope
        Whose it is.
    pieces
        What a parser found.
    parser
        Which parser made them.

    Examples
    --------
    >>> from pathlib import Path
    >>> file = Document(Path("a.md"), "a.md", "one\ntwo\n")
    >>> [chunk] = make_chunks(
    ...     file, Scope(), [Piece(4, 8, "line", "2")], ParserInfo("lines", "1.0.0")
    ... )
    >>> chunk.content, chunk.line_start, chunk.line_end, chunk.custom_meta["charStart"]
    ('two\n', 2, 2, 4)
    """
    text = document.content
    lines = [0, *(match.end() for match in re.finditer("\n", text))]
    return [
        Chunk(
            tenant_id=scope.tenant,
            repo_slug=scope.repo,
            root_kind="external-source",
            source_path=document.name,
            content=text[piece.start : piece.end],
            hash_inputs=["content", *parser.also_hashed, "sourcePath", "parserId", "parserVersion"],
            parser_id=parser.id,
            parser_version=parser.version,
            kind=piece.kind,
            name=shortened(piece.name),
            line_start=bisect_right(lines, piece.start),
            line_end=bisect_right(lines, piece.end - 1),
            class_name=shortened(piece.class_name),
            extends=shortened(piece.extends),
            custom_meta={
                **{name: value for name, value in piece.meta.items() if value not in UNSAID},
                **({"branch": scope.branch} if scope.branch else {}),
                **({"header": piece.header} if piece.header else {}),
                "chunkIndex": index,
                "charStart": piece.start,
                "charEnd": piece.end,
            },
        )
        for index, piece in enumerate(pieces)
    ]


def shortened(name: T) -> T:
    """Return a name that a person could read: each record of a file repeats it.

    Examples
    --------
    >>> shortened("mill"), len(shortened("x" * 9000))
    ('mill', 250)
    """
    if name is None or len(name) <= LONGEST_NAME:
        return name
    return name[: LONGEST_NAME - 1].rstrip() + "…"
