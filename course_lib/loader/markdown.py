"""Documents to chunks: a Markdown or text document goes in, parsed-chunk-v1 records come out.

The splitter decides where to cut; this module adds what a reader needs to know about a piece: the
nearest heading above it, its lines and its place in the document.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from course_lib.loader.pieces import Piece, make_chunks
from course_lib.loader.recursive import split_text
from course_lib.records import LOCAL, Chunk, Document, Scope
from course_lib.settings import CHUNK_OVERLAP, CHUNK_SIZE

PARSER_ID = "markdown"
PARSER_VERSION = "1.0.0"

# A backtick behind three of them on the same line makes them inline code.
_HEADING_OR_FENCE = re.compile(
    r"^ {0,3}(?:#{1,6}[ \t](?P<title>.*)|(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})(?P<info>.*))$",
    re.MULTILINE,
)


def split_document(
    document: Document,
    *,
    scope: Scope = LOCAL,
    chunk_size: int = CHUNK_SIZE,
    chunk_overlap: int = CHUNK_OVERLAP,
) -> list[Chunk]:
    r"""Split one document into records.

    Parameters
    ----------
    document
        What `read_documents` gave.
    scope
        Whose document this is.
    chunk_size, chunk_overlap
        As in `split_text`, in characters.

    Returns
    -------
    list of Chunk
        `kind` is ``doc-section`` and `name` the nearest heading above the piece's first character
        that is not white space (the file's name where there is none). `custom_meta` holds
        `chunkIndex` and the offsets `charStart` and `charEnd`. Pieces of white space alone are
        left out.

    Raises
    ------
    ValueError, TypeError
        As `split_text`.

    Examples
    --------
    >>> from pathlib import Path
    >>> page = Document(Path("a.md"), "a.md", "# Title\n\nFirst.\n\n## Next\n\nSecond.")
    >>> pieces = split_document(page, chunk_size=20, chunk_overlap=0)
    >>> [(piece.name, piece.content, piece.line_start) for piece in pieces]
    [('Title', '# Title\n\nFirst.\n\n', 1), ('Next', '## Next\n\nSecond.', 5)]
    """
    offsets, titles = _headings(document.content)
    titles = [document.name.rsplit("/", 1)[-1], *titles]  # before the first heading
    pieces = []
    for span in split_text(document.content, chunk_size, chunk_overlap):
        if span.text.strip():
            first = span.end - len(span.text.lstrip())
            title = titles[bisect_right(offsets, first)]
            pieces.append(Piece(span.start, span.end, "doc-section", title))
    return make_chunks(document, scope, pieces, parser_id=PARSER_ID, parser_version=PARSER_VERSION)


def _headings(text: str) -> tuple[list[int], list[str]]:
    """Return the offsets and titles of the headings, those in fenced code left out."""
    offsets, titles = [], []
    fence = ""
    for match in _HEADING_OR_FENCE.finditer(text):
        mark = match["fence"]
        if fence:
            if mark and mark.startswith(fence) and not match["info"].strip():
                fence = ""
        elif mark:
            fence = mark
        elif title := _without_closing_marks(match["title"].strip()):
            offsets.append(match.start())
            titles.append(title)
    return offsets, titles


def _without_closing_marks(title: str) -> str:
    """Return `Title` for ``Title ##``, but ``C#`` for ``C#``."""
    bare = title.rstrip("#")
    return bare.rstrip() if not bare or bare[-1].isspace() else title
