"""Ingest: a directory goes in, an index that is up to date comes out.

Documents whose text, parser, settings and model are all as they were cost no encoding; those that
are gone from the source leave the index. Every batch of documents is written in one transaction,
so that an ingest that was stopped anywhere is completed by running it again.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import psycopg
from pydantic import ValidationError

from course_lib.embedder import EmbeddingClient
from course_lib.errors import InputError
from course_lib.indexing.alone import Say
from course_lib.indexing.update import UpdateReport, update_source
from course_lib.loader import Registry, default_registry
from course_lib.loader.contract import FileRejectedError
from course_lib.loader.recursive import check_arguments
from course_lib.records import Chunk, Document, Scope, Skipped, Visibility, explain
from course_lib.settings import CHUNK_OVERLAP, CHUNK_SIZE
from course_lib.store import Source, SourceDocument


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an ingest found and did.

    `documents` and `chunks` count what the source holds now; the next four count rows of
    `document_chunks`; `skipped` are files that were left out; `seconds` is wall-clock time and
    `chunks_per_second` counts the chunks that were encoded.
    """

    documents: int
    chunks: int
    inserted: int
    updated: int
    unchanged: int
    deleted: int
    seconds: float
    chunks_per_second: float
    skipped: tuple[Skipped, ...] = ()

    def to_json(self) -> str:
        """Return the report as a JSON object."""
        return json.dumps(asdict(self), ensure_ascii=False)


def ingest(
    path: str | os.PathLike[str],
    *,
    conn: psycopg.Connection,
    embedder: EmbeddingClient,
    partition: str = "documentation",
    repo: str = "documents",
    branch: str = "",
    tenant: str = "local",
    chunk_size: int = CHUNK_SIZE,
    chunk_overlap: int = CHUNK_OVERLAP,
    visibility: Visibility = "private",
    registry: Registry | None = None,
    batch_size: int = 32,
    progress: bool = False,
    say: Say = lambda sentence: None,
) -> IngestReport:
    """Bring the index of one source up to date with a directory.

    The source is (partition, tenant, repo, branch): documents of other sources are not touched. A
    second ingest of the same source waits until the first is done, and then finds it up to date.

    Parameters
    ----------
    path
        Directory whose files of a registered format are read; or one file of any text, which says
        nothing about others.
    conn
        A connection from `connect`; the tables are created if they are missing.
    embedder
        Encodes the chunks.
    partition, repo, branch, tenant
        Where the documents belong.
    chunk_size, chunk_overlap
        As in `split_text`, in characters.
    visibility
        Whether other tenants may read what is stored of this tenant's repository.
    registry
        Who parses what; None takes this process's.
    batch_size
        Chunks that go through the model at once.
    progress
        Show a bar on a terminal.
    say
        Called with a sentence about what is noteworthy: files left out, waiting for another run.

    Returns
    -------
    IngestReport
        Counts of documents and rows.

    Raises
    ------
    InputError
        If there is no such directory or no document in it, or an argument is out of its range.
    DatabaseError
        If the database went away; what was written until then is whole and stays.
    """
    begin = time.perf_counter()
    check_settings(repo, tenant, chunk_size, chunk_overlap)
    registry = registry or default_registry()
    context = Scope(tenant=tenant, repo=repo, visibility=visibility, branch=branch)
    documents, skipped = read_source(path, say, registry)
    by_name = {document.name: document for document in documents}

    def split(name: str) -> list[Chunk]:
        return registry.parse(
            by_name[name], context, chunk_size=chunk_size, chunk_overlap=chunk_overlap
        )

    update = update_source(
        conn,
        embedder,
        Source(partition, tenant, repo, branch),
        {
            document.name: document_row(
                document,
                parser=parser.state,
                settings=parser.settings(chunk_size, chunk_overlap),
                model=embedder.model_name,
            )
            for document in documents
            for parser in [registry.parser_for(document)]
        },
        split,
        is_gone=_gone_from(Path(path), skipped),
        visibility=visibility,
        batch_size=batch_size,
        progress=progress,
        say=say,
    )
    skipped += left_out(update.rejected, say)
    read = len(documents) - len(update.rejected)
    return make_report(read, update, skipped, time.perf_counter() - begin)


def left_out(
    rejected: Iterable[tuple[str, FileRejectedError]], say: Say = lambda sentence: None
) -> list[Skipped]:
    """Return files that no parser could split as files that were left out, and say so."""
    skipped = [Skipped(name, str(error.args[0])) for name, error in rejected]
    for file in skipped:
        say(f"left out: {file.name}: {file.reason}")
    return skipped


def read_source(
    path: str | os.PathLike[str], say: Say, registry: Registry
) -> tuple[list[Document], list[Skipped]]:
    """Read a directory's documents of all registered formats, and say what was left out.

    Raises
    ------
    InputError
        If there is no such directory, or no document in it.
    """
    skipped: list[Skipped] = []
    extensions = registry.extensions()
    documents = registry.source("directory").read(
        os.fspath(path), extensions=extensions, on_skip=skipped.append
    )
    for file in skipped:
        say(f"left out: {file.name} {file.reason}")
    if not documents:
        raise InputError(
            f"no document of a registered format could be read in {os.fspath(path)}",
            hint=f"Nothing was changed. The formats are {', '.join(extensions)}. Check the path, "
            "or look at what was left out above.",
        )
    return documents, skipped


def check_settings(repo: str, tenant: str, chunk_size: int, chunk_overlap: int) -> None:
    """Try the settings before anything is changed.

    Raises
    ------
    InputError
        If one of them is out of its range.
    """
    try:
        check_arguments("", chunk_size, chunk_overlap)
        Scope(tenant=tenant, repo=repo)
    except (TypeError, ValueError) as error:
        reason = explain(error) if isinstance(error, ValidationError) else str(error)
        raise InputError(reason, hint="Nothing was changed. Correct it and try again.") from error


def _gone_from(path: Path, skipped: list[Skipped]) -> Callable[[str], bool]:
    """Return what says whether a document that was not read is gone from the source.

    It is not where its file, or a folder above it, is there but cannot be read now.
    """
    folders = tuple(file.name for file in skipped if file.name.endswith("/"))
    unread = {file.name for file in skipped}
    is_one_file = path.is_file()
    return lambda name: not (is_one_file or name in unread or name.startswith(folders))


def document_row(document: Document, *, parser: str, settings: str, model: str) -> SourceDocument:
    """Return the row of `documents` for one document, indexed with this parser and settings."""
    return SourceDocument(
        name=document.name,
        content=document.content,
        content_hash=hashlib.sha256(document.content.encode("utf-8")).hexdigest(),
        parser=parser,
        settings=settings,
        model=model,
    )


def make_report(
    documents: int, update: UpdateReport, skipped: list[Skipped], seconds: float
) -> IngestReport:
    """Return the report of an update that took `seconds`."""
    written = update.written
    return IngestReport(
        documents=documents,
        chunks=update.total,
        inserted=written.inserted,
        updated=written.updated,
        unchanged=update.total - written.inserted - written.updated,
        deleted=written.deleted,
        seconds=round(seconds, 3),
        chunks_per_second=round(update.encoded / seconds, 1),
        skipped=tuple(skipped),
    )
