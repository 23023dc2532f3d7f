"""Ingest: a directory goes in, an index that is up to date comes out.

Documents whose text, parser, settings and model are all as they were cost no encoding; those that
are gone from the source leave the index. Every batch of documents is written in one transaction,
so that an ingest that was stopped anywhere is completed by running it again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg

from course_lib.embedder import EmbeddingClient
from course_lib.errors import InputError
from course_lib.indexing.update import UpdateReport, update_source
from course_lib.loader.splitting import IngestOptions, document_row, left_out
from course_lib.loader.staged import Origin
from course_lib.records import LOCAL, Chunk, Document, Report, Scope, Skipped


@dataclass(frozen=True, slots=True)
class IngestReport(Report):
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


def ingest(
    path: str | os.PathLike[str],
    scope: Scope = LOCAL,
    options: IngestOptions | None = None,
    *,
    conn: psycopg.Connection,
    embedder: EmbeddingClient,
) -> IngestReport:
    """Bring the index of one source up to date with a directory.

    The source is what the scope names: documents of other tenants, repositories, branches and
    partitions are not touched. A second ingest of the same source waits until the first is done,
    and then finds it up to date.

    Parameters
    ----------
    path
        Directory whose files of a registered format are read; or one file of any text, which says
        nothing about others.
    scope
        Where the documents belong, and who may read them.
    options
        How they are split and encoded, and who is told.
    conn
        A connection from `connect`; the tables are created if they are missing.
    embedder
        Encodes the chunks.

    Returns
    -------
    IngestReport
        Counts of documents and rows.

    Raises
    ------
    InputError
        If there is no such directory, or no document in it.
    DatabaseError
        If the database went away; what was written until then is whole and stays.
    """
    begin = time.perf_counter()
    options = options or IngestOptions()
    documents, skipped = read_source(path, options)
    report = index_documents(
        documents,
        scope,
        options,
        conn=conn,
        embedder=embedder,
        is_gone=Origin(scope, complete=not Path(path).is_file(), kept=tuple(skipped)).has_lost,
    )
    seconds = round(time.perf_counter() - begin, 3)
    return replace(report, skipped=(*skipped, *report.skipped), seconds=seconds)


def index_documents(
    documents: Sequence[Document],
    scope: Scope,
    options: IngestOptions,
    *,
    conn: psycopg.Connection,
    embedder: EmbeddingClient,
    is_gone: Callable[[str], bool],
    finish: Callable[[Chunk], Chunk] = lambda chunk: chunk,
) -> IngestReport:
    """Bring what the scope names up to date with documents that were read.

    Parameters
    ----------
    documents
        All that the source holds, or those that changed.
    scope, options, conn, embedder
        As in `ingest`.
    is_gone
        Whether a document that is stored and not among these left the source.
    finish
        What is done to each chunk before it is encoded.
    """
    begin = time.perf_counter()
    by_name = {document.name: document for document in documents}
    update = update_source(
        conn,
        embedder,
        scope,
        {name: document_row(file, embedder.model_name, options) for name, file in by_name.items()},
        lambda name: list(map(finish, options.parse(by_name[name], scope))),
        is_gone=is_gone,
        options=options,
    )
    skipped = left_out(update.rejected, options.say)
    read = len(documents) - len(skipped)
    return make_report(read, update, skipped, time.perf_counter() - begin)


def read_source(
    path: str | os.PathLike[str], options: IngestOptions
) -> tuple[list[Document], list[Skipped]]:
    """Read a directory's documents of all registered formats, and say what was left out.

    Raises
    ------
    InputError
        If there is no such directory, or no document in it.
    """
    skipped: list[Skipped] = []
    extensions = options.registry.extensions()
    documents = options.registry.source("directory").read(
        os.fspath(path), extensions=extensions, on_skip=skipped.append
    )
    for file in skipped:
        options.say(f"left out: {file.name} {file.reason}")
    if not documents:
        raise InputError(
            f"no document of a registered format could be read in {os.fspath(path)}",
            hint=f"Nothing was changed. The formats are {', '.join(extensions)}. Check the path, "
            "or look at what was left out above.",
        )
    return documents, skipped


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
