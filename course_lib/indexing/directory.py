"""Ingest: a directory goes in, an index that is up to date comes out.

Documents whose text, parser, settings and model are all as they were cost no encoding, also under
another name; those that are gone from the source leave the index. Every batch of documents is
written in one transaction, so that an ingest that was stopped anywhere is completed by running it
again.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg

from course_lib.embedder import EmbeddingClient
from course_lib.ignored import Ignored, without_ignored
from course_lib.indexing.update import Update, updating
from course_lib.loader.splitting import (
    IngestOptions,
    Origin,
    document_row,
    left_out,
    read_source,
    split_documents,
)
from course_lib.records import LOCAL, Document, Report, Scope, Skipped
from course_lib.store import WriteReport


@dataclass(frozen=True, slots=True)
class IngestReport(Report):
    """What an ingest found and did.

    `documents` and `chunks` count what the source holds now; the next four count rows of
    `document_chunks`; `skipped` are files that were left out, and files and folders that are
    ignored; `seconds` is wall-clock time and `chunks_per_second` counts the chunks that were
    encoded.
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
    kept, ignored = without_ignored(skipped)
    origin = Origin(scope, complete=not Path(path).is_file(), kept=tuple(kept))
    now_ignored: Counter[Ignored] = Counter()

    def is_gone(name: str) -> bool:
        if not origin.has_lost(name):
            return False
        now_ignored.update([one for one in ignored if one.covers(name)][:1])
        return True

    report = index_documents(
        documents, origin, options, conn=conn, embedder=embedder, is_gone=is_gone
    )
    for one, count in sorted(now_ignored.items(), key=lambda pair: pair[0].name):
        what = f"{count} document{'s' * (count > 1)}"
        options.say(f"removed from the index: {what}, because {one.name} {one.reason}")
    seconds = round(time.perf_counter() - begin, 3)
    return replace(report, skipped=(*skipped, *report.skipped), seconds=seconds)


def index_documents(
    documents: Sequence[Document],
    origin: Origin,
    options: IngestOptions,
    *,
    conn: psycopg.Connection,
    embedder: EmbeddingClient,
    is_gone: Callable[[str], bool],
) -> IngestReport:
    """Bring what the origin names up to date with documents that were read.

    Parameters
    ----------
    documents
        All that the source holds, or those that changed.
    origin
        Where they come from, and where they belong.
    options, conn, embedder
        As in `ingest`.
    is_gone
        Whether a document that is stored and not among these left the source.
    """
    begin = time.perf_counter()
    rows = {file.name: document_row(file, embedder.model_name, options) for file in documents}
    with updating(conn, embedder, origin.scope, rows, is_gone=is_gone, options=options) as update:
        stale = [file for file in documents if file.name in update.stale]
        update.write(split_documents(stale, origin, options))
    return make_report([update], begin, left_out(update.refused, options.say))


def make_report(
    updates: Sequence[Update], begin: float, skipped: Sequence[Skipped] = ()
) -> IngestReport:
    """Return the report of updates, the first of which began then."""
    seconds = time.perf_counter() - begin
    written = sum((one.written for one in updates), WriteReport())
    total = sum(one.total for one in updates)
    return IngestReport(
        documents=sum(one.read - len(one.refused) for one in updates),
        chunks=total,
        inserted=written.inserted,
        updated=written.updated,
        unchanged=total - written.inserted - written.updated,
        deleted=written.deleted,
        seconds=round(seconds, 3),
        chunks_per_second=round(sum(one.encoded for one in updates) / seconds, 1),
        skipped=tuple(skipped),
    )
