"""Plain text, and what no parser knows: split like prose without headings, named by its file."""

from __future__ import annotations

from course_lib.loader.pieces import ParserInfo, Piece, make_chunks
from course_lib.loader.recursive import split_prose
from course_lib.records import LOCAL, Chunk, Document, Scope
from course_lib.settings import CHUNK_OVERLAP, CHUNK_SIZE

PARSER = ParserInfo("raw-text", "2.0.0")


def parse_raw_text(
    document: Document,
    *,
    scope: Scope = LOCAL,
    chunk_size: int = CHUNK_SIZE,
    chunk_overlap: int = CHUNK_OVERLAP,
) -> list[Chunk]:
    r"""Split one file of any text into records.

    Parameters and errors are those of `split_document`. `kind` is ``raw-text``, and `name` the
    file's. A text that fits `chunk_size` is one record.

    Examples
    --------
    >>> from pathlib import Path
    >>> file = Document(Path("etc/Makefile"), "etc/Makefile", "# not a heading\nall:\n")
    >>> [(piece.kind, piece.name, piece.line_start) for piece in parse_raw_text(file)]
    [('raw-text', 'Makefile', 1)]
    """
    name = document.name.rsplit("/", 1)[-1]
    pieces = (
        Piece(span.start, span.end, "raw-text", name)
        for span in split_prose(document.content, chunk_size, chunk_overlap)
        if span.text.strip()
    )
    return make_chunks(document, scope, pieces, PARSER)
