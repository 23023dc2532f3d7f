"""Text of a format that no parser knows: split like a document, named by its file."""

from __future__ import annotations

from course_lib.loader.markdown import split_document
from course_lib.records import Chunk, Document

PARSER_ID = "raw-text"
PARSER_VERSION = "1.0.0"


def parse_raw_text(
    document: Document,
    *,
    chunk_size: int = 512,
    chunk_overlap: int = 64,
    tenant_id: str = "local",
    repo_slug: str = "documents",
    branch: str = "",
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
    file_name = document.name.rsplit("/", 1)[-1]
    return [
        piece.model_copy(
            update={
                "parser_id": PARSER_ID,
                "parser_version": PARSER_VERSION,
                "kind": "raw-text",
                "name": file_name,
            }
        )
        for piece in split_document(
            document,
            chunk_size=chunk_size,
            chunk_overlap=chunk_overlap,
            tenant_id=tenant_id,
            repo_slug=repo_slug,
            branch=branch,
        )
    ]
