"""Reading and splitting a source: a folder goes in, its documents come out with their chunks.

`IngestOptions` says how, and how an ingest goes on from there. All of it needs neither the database
nor the model: `course load` and the pipeline's splitting step, whose image holds neither, call it
as every other ingest does.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from course_lib.errors import InputError
from course_lib.ignored import ignored_in_words, without_ignored
from course_lib.loader.contract import FileRejectedError
from course_lib.loader.documents import read_documents
from course_lib.loader.github import cite
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
    no_ignore
        Whether to read what `own_files` ignores as well.
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
    no_ignore: bool = False
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
class Origin:
    """Where documents come from, and where in the index they belong.

    Attributes
    ----------
    scope
        Where they belong.
    commit, web
        Of a repository: the hash, and the page that citations lead to.
    complete
        Whether these are all there are, so that what is stored beside them is gone from the source.
    shard
        Which part of the source this is, such as ``"2/4"``.
    kept
        What is in the source and not among the documents, with the reason: it could not be read or
        split. A folder has a slash at its end. What is ignored is not in the source.
    """

    scope: Scope
    commit: str = ""
    web: str = ""
    complete: bool = True
    shard: str = "0/1"
    kept: tuple[Skipped, ...] = ()

    def has_lost(self, name: str) -> bool:
        """Return whether a document that is not among these is gone from the source.

        It is not where its file, or a folder above it, is there.
        """
        return self.complete and not any(one.covers(name) for one in self.kept)


def read_source(
    path: str | os.PathLike[str], options: IngestOptions
) -> tuple[list[Document], list[Skipped]]:
    """Read a directory's documents of all registered formats, and say what was left out.

    What is ignored is among it, as `Ignored`, and is not said one by one.

    Raises
    ------
    InputError
        If there is no such directory, or no document in it.
    """
    skipped: list[Skipped] = []
    extensions = options.registry.extensions()
    documents = read_documents(
        path, extensions, on_skip=skipped.append, no_ignore=options.no_ignore
    )
    kept, ignored = without_ignored(skipped)
    for file in kept:
        options.say(f"left out: {file.name} {file.reason}")
    if not documents:
        because = f"; ignored: {ignored_in_words(ignored)}" if ignored else ""
        raise InputError(
            f"no document of a registered format could be read in {os.fspath(path)}{because}",
            hint=f"Nothing was changed. The formats are {', '.join(extensions)}. Check the path, "
            "or look at what was left out above."
            + (" --no-ignore reads what is ignored as well." if ignored else ""),
        )
    return documents, skipped


class SplitDocument(NamedTuple):
    """A document by its name: its chunks, or why no parser could split it."""

    name: str
    chunks: Sequence[Chunk] = ()
    refused: FileRejectedError | None = None


def split_documents(
    documents: Iterable[Document], origin: Origin, options: IngestOptions
) -> Iterator[SplitDocument]:
    """Split documents one by one, each with the parser that takes it.

    Parameters
    ----------
    documents
        What was read.
    origin
        Where they come from and belong; chunks of a repository say their commit and their page.
    options
        How they are split.

    Examples
    --------
    >>> from pathlib import Path
    >>> pages = [Document(Path("a.md"), "a.md", "Drift is slow.")]
    >>> [one] = split_documents(pages, Origin(Scope(repo="notes")), IngestOptions())
    >>> one.name, one.chunks[0].content, one.refused
    ('a.md', 'Drift is slow.', None)
    """
    for document in documents:
        try:
            chunks = options.parse(document, origin.scope)
        except FileRejectedError as error:
            yield SplitDocument(document.name, refused=error)
            continue
        if origin.commit:
            page = document.metadata.get("citation_url") or ""
            chunks = [cite(chunk, origin.web, origin.commit, page) for chunk in chunks]
        yield SplitDocument(document.name, chunks)


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


def left_out(split: Iterable[SplitDocument], say: Say) -> list[Skipped]:
    """Return those that no parser could split as files that were left out, and say so."""
    skipped = [Skipped(one.name, str(one.refused.args[0])) for one in split if one.refused]
    for file in skipped:
        say(f"left out: {file.name}: {file.reason}")
    return skipped
