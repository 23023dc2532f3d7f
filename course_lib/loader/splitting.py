"""Splitting a source: documents go in, their rows and chunks come out, ready to be encoded.

It needs neither the database nor the model: `course load` and the pipeline's splitting step, whose
image holds neither, call it as every other ingest does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

from course_lib.loader.contract import FileRejectedError
from course_lib.loader.options import IngestOptions, Say
from course_lib.records import Chunk, Document, Scope, Skipped, SourceDocument


@dataclass(frozen=True, slots=True)
class SplitSource:
    """Documents that were split.

    Attributes
    ----------
    rows
        What the index has to know of each document, but the model.
    chunks
        Theirs, in the same order.
    refused
        Documents that no parser could split, and why.
    """

    rows: list[SourceDocument] = field(default_factory=list)
    chunks: list[Chunk] = field(default_factory=list)
    refused: list[Skipped] = field(default_factory=list)


def split_documents(
    documents: Iterable[Document], scope: Scope, options: IngestOptions
) -> SplitSource:
    """Split documents, each with the parser that takes it; what cannot be split is told and left.

    Parameters
    ----------
    documents
        What was read.
    scope
        Where they belong, and who may read them.
    options
        How they are split, and who is told.

    Examples
    --------
    >>> from pathlib import Path
    >>> pages = [Document(Path("a.md"), "a.md", "Drift is slow.")]
    >>> split = split_documents(pages, Scope(repo="notes"), IngestOptions())
    >>> split.rows[0].name, split.chunks[0].name, split.refused
    ('a.md', 'a.md', [])
    """
    split = SplitSource()
    rejected: list[tuple[str, FileRejectedError]] = []
    for document in documents:
        try:
            chunks = options.parse(document, scope)
            row = document_row(document, "", options)
        except FileRejectedError as error:
            rejected.append((document.name, error))
        else:
            split.chunks.extend(chunks)
            split.rows.append(row)
    split.refused.extend(left_out(rejected, options.say))
    return split


def document_row(
    document: Document,
    model: str,
    options: IngestOptions,
    parser_id: str | None = None,
) -> SourceDocument:
    """Return the row of `documents` for one document: its text, and what it is indexed with.

    Raises
    ------
    FileRejectedError
        If no parser takes the document.
    """
    parser, settings = options.parsed_with(document, parser_id)
    return SourceDocument(
        name=document.name,
        content=document.content,
        content_hash=hash_text(document.content),
        parser=parser,
        settings=settings,
        model=model,
        commit_sha=document.metadata.get("commit"),
        citation_url=document.metadata.get("citation_url") or None,
    )


def hash_text(text: str) -> str:
    """Return the SHA-256 of a text, by which a document is known to be as it was."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def left_out(
    rejected: Iterable[tuple[str, FileRejectedError]], say: Say = lambda sentence: None
) -> list[Skipped]:
    """Return files that no parser could split as files that were left out, and say so."""
    skipped = [Skipped(name, str(error.args[0])) for name, error in rejected]
    for file in skipped:
        say(f"left out: {file.name}: {file.reason}")
    return skipped
