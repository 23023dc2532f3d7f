"""Documents to chunks: a Markdown or text document goes in, parsed-chunk-v1 records come out.

The splitter decides where to cut; this module adds what a reader needs to know about a piece: the
nearest heading above it, its lines and its place in the document.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from course_lib.loader.recursive import split_text
from course_lib.records import Chunk, Document

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
    chunk_size: int = 512,
    chunk_overlap: int = 64,
    tenant_id: str = "local",
    repo_slug: str = "documents",
    branch: str = "",
) -> list[Chunk]:
    r"""Split one document into records.

    Parameters
    ----------
    document
        What `read_documents` gave.
    chunk_size, chunk_overlap
        As in `split_text`, in characters.
    tenant_id, repo_slug, branch
        Whose document this is, which corpus it belongs to, and which version of that.

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
    text = document.content
    offsets, titles = _headings(text)
    line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
    chunks: list[Chunk] = []
    for span in split_text(text, chunk_size, chunk_overlap):
        body = span.text.strip()
        if not body:
            continue
        first = span.start + len(span.text) - len(span.text.lstrip())
        section = bisect_right(offsets, first) - 1
        chunks.append(
            Chunk(
                tenant_id=tenant_id,
                repo_slug=repo_slug,
                root_kind="external-source",
                source_path=document.name,
                content=span.text,
                hash_inputs=["content", "sourcePath", "parserId", "parserVersion"],
                parser_id=PARSER_ID,
                parser_version=PARSER_VERSION,
                kind="doc-section",
                name=titles[section] if section >= 0 else document.name.rsplit("/", 1)[-1],
                line_start=bisect_right(line_starts, span.start),
                line_end=bisect_right(line_starts, span.end - 1),
                custom_meta={
                    **({"branch": branch} if branch else {}),
                    "chunkIndex": len(chunks),
                    "charStart": span.start,
                    "charEnd": span.end,
                },
            )
        )
    return chunks


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
