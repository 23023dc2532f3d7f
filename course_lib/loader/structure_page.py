"""STRUCTURE.md to chunks: the page that says what is where goes in, a record a folder comes out.

A question about the repository as a whole is answered by a folder's list of files, which would say
little if it were cut up like prose: so a section stays whole up to four times the usual size.
"""

from __future__ import annotations

import re

from course_lib.records import Chunk, Document

PARSER_ID = "structure"
PARSER_VERSION = "1.0.0"
KIND = "structure"

_SECTION = re.compile(r"^## +(.*?)[ \t]*$", re.MULTILINE)


def parse_structure(
    document: Document,
    *,
    chunk_size: int = 512,
    tenant_id: str = "local",
    repo_slug: str = "documents",
    branch: str = "",
) -> list[Chunk]:
    r"""Split a page of `course structure` into records.

    Parameters
    ----------
    document
        The page.
    chunk_size
        A section of up to four times as many characters is one record; a longer one is cut at line
        ends.
    tenant_id, repo_slug, branch
        Whose document this is, which corpus it belongs to, and which version of that.

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
    chunks: list[Chunk] = []
    for at, name in enumerate(names):
        heading = found[at - 1][0] if at else ""
        for start, end in _pieces(text, starts[at], starts[at + 1], 4 * chunk_size):
            if not text[start:end].strip():
                continue
            header = {"header": f"{heading}\n"} if heading and start > starts[at] else {}
            chunks.append(
                Chunk(
                    tenant_id=tenant_id,
                    repo_slug=repo_slug,
                    root_kind="external-source",
                    source_path=document.name,
                    content=text[start:end],
                    hash_inputs=["content", "sourcePath", "parserId", "parserVersion"],
                    parser_id=PARSER_ID,
                    parser_version=PARSER_VERSION,
                    kind=KIND,
                    name=name,
                    line_start=text.count("\n", 0, start) + 1,
                    line_end=text.count("\n", 0, end - 1) + 1,
                    custom_meta={
                        **({"branch": branch} if branch else {}),
                        **header,
                        "chunkIndex": len(chunks),
                        "charStart": start,
                        "charEnd": end,
                    },
                )
            )
    return chunks


def _pieces(text: str, start: int, end: int, most: int) -> list[tuple[int, int]]:
    """Return runs of whole lines of at most `most` characters; a line that is longer is cut."""
    pieces = []
    while end - start > most:
        cut = text.rfind("\n", start, start + most) + 1 or start + most
        pieces.append((start, cut))
        start = cut
    return [*pieces, (start, end)]
