"""Splitting a source: documents go in, their rows and chunks come out, ready to be encoded.

`IngestOptions` says how, and how an ingest goes on from there. All of it needs neither the database
nor the model: `course load` and the pipeline's splitting step, whose image holds neither, call it
as every other ingest does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from course_lib.errors import InputError
from course_lib.loader.contract import FileRejectedError
from course_lib.loader.recursive import check_arguments
from course_lib.loader.registry import Registry, default_registry
from course_lib.records import Chunk, Document, Scope, Skipped, SourceDocument
from course_lib.settings import CHUNK_OVERLAP, CHUNK_SIZE

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestOptions:
    """The options of `ingest` and of everything that brings an index up to date.

    Attributes
    ----------
    chunk_size, chunk_overlap
        As in `split_text`, in characters.
    batch_size
        Chunks that go through the model at once.
    registry
        Who parses what; by default this process's.
    progress
        Whether to show a bar on a terminal.
    say
        Called with a sentence about what is noteworthy: files left out, waiting for another run.

    Raises
    ------
    InputError
        If a size is out of its range.

    Examples
    --------
    >>> IngestOptions(chunk_size=1200).chunk_overlap
    64
    """

    chunk_size: int = CHUNK_SIZE
    chunk_overlap: int = CHUNK_OVERLAP
    batch_size: int = 32
    registry: Registry = field(default_factory=default_registry)
    progress: bool = False
    say: Say = lambda sentence: None

    def __post_init__(self) -> None:
        try:
            check_arguments("", self.chunk_size, self.chunk_overlap)
        except (TypeError, ValueError) as error:
            raise InputError(
                str(error), hint="Nothing was changed. Correct it and try again."
            ) from error

    def parse(self, file: Document, scope: Scope, parser_id: str | None = None) -> list[Chunk]:
        """Return the chunks of a file by its parser, as `Registry.parse` does."""
        return self.registry.parse(
            file,
            scope,
            parser_id=parser_id,
            chunk_size=self.chunk_size,
            chunk_overlap=self.chunk_overlap,
        )

    def parsed_with(self, file: Document, parser_id: str | None = None) -> tuple[str, str]:
        """Return which parser takes a file, with its version, and the settings that it uses.

        Raises
        ------
        FileRejectedError
            If no parser takes it.
        """
        parser = self.registry.parser_for(file, parser_id)
        return parser.state, parser.settings(self.chunk_size, self.chunk_overlap)


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
