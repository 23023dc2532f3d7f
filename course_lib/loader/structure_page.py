"""STRUCTURE.md to chunks: the page that says what is where goes in, a record a folder comes out.

A question about the repository as a whole is answered by a folder's list of files, which would say
little if it were cut up like prose: so a section stays whole up to four times the usual size.
"""

from __future__ import annotations

import re

from course_lib.loader.pieces import ParserInfo, Piece, make_chunks
from course_lib.records import LOCAL, Chunk, Document, Scope
from course_lib.settings import CHUNK_SIZE

PARSER = ParserInfo("structure", "1.0.0")
KIND = "structure"

_SECTION = re.compile(r"^## +(.*?)[ \t]*$", re.MULTILINE)


def parse_structure(
    document: Document,
    *,
    scope: Scope = LOCAL,
    chunk_size: int = CHUNK_SIZE,
) -> list[Chunk]:
    r"""Split a page of `course structure` into records.

    Parameters
    ----------
    document
        The page.
    scope
        Whose document this is.
    chunk_size
        A section of up to four times as many characters is one record; a longer one is cut at line
        ends.

    Returns
    -------
    list of Chunk
        `kind` is ``structure`` and `name` the section's folder. Each piece but a section's first
        has the section's heading for its header.

    Examples
    --------
    >>> from pathlib import Path
    >>> page = Document(Path("STRUCTURE.md"), "STRUCTURE.md", "# S\n\n## `a/`\n\n- `b.py`\n")
    >>> [(piece.name, piece.line_start) for piece in parse_structure(page)]
    [('STRUCTURE.md', 1), ('a/', 3)]
    """
    text = document.content
    found = list(_SECTION.finditer(text))
    starts = [0, *(match.start() for match in found), len(text)]
    names = [document.name.rsplit("/", 1)[-1], *(match[1].strip("`") for match in found)]
    pieces = []
    for at, name in enumerate(names):
        heading = f"{found[at - 1][0]}\n" if at else ""
        for start, end in _parts(text, starts[at], starts[at + 1], 4 * chunk_size):
            if text[start:end].strip():
                header = heading if start > starts[at] else ""
                pieces.append(Piece(start, end, KIND, name, header))
    return make_chunks(document, scope, pieces, PARSER)


def _parts(text: str, start: int, end: int, most: int) -> list[tuple[int, int]]:
    """Return runs of whole lines of at most `most` characters; a line that is longer is cut."""
    parts = []
    while end - start > most:
        cut = text.rfind("\n", start, start + most) + 1 or start + most
        parts.append((start, cut))
        start = cut
    return [*parts, (start, end)]
