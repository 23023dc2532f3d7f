"""Bringing a source up to date: what it holds now goes in, an index that says the same comes out.

Whoever located and read the source — a directory, two JSON Lines files, later a repository — hands
over its documents and a function that splits one of them. Only documents that the plan names are
split and encoded, and every batch of documents is written in one transaction.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg

from course_lib.embedder import EmbeddingClient
from course_lib.errors import DatabaseError
from course_lib.indexing.plan import make_plan
from course_lib.records import Chunk
from course_lib.store import (
    Source,
    SourceDocument,
    WriteReport,
    build_vector_indexes,
    create_schema,
    delete_documents,
    stored_documents,
    write_chunks,
    write_documents,
)
from course_lib.store.schema import stored_dimension
from course_lib.store.writer import delete_chunks

BATCH_CHUNKS = 512
"""Chunks that are encoded and written together: what an interruption costs, at most."""

Say = Callable[[str], None]
Split = Callable[[str], Sequence[Chunk]]


@dataclass(frozen=True, slots=True)
class UpdateReport:
    """Rows written, chunks encoded, and chunks that the source has now."""

    written: WriteReport
    encoded: int
    total: int


def update_source(
    conn: psycopg.Connection,
    embedder: EmbeddingClient,
    source: Source,
    documents: Mapping[str, SourceDocument],
    split: Split,
    *,
    is_gone: Callable[[str], bool] = lambda name: True,
    batch_size: int = 32,
    progress: bool = False,
    say: Say = lambda sentence: None,
) -> UpdateReport:
    """Make the index hold exactly these documents of a source.

    Parameters
    ----------
    conn
        A connection from `connect`; the tables are created if they are missing.
    embedder
        Encodes the chunks.
    source
        What is compared, written and removed; documents of other sources are not touched.
    documents
        Name → row, for all documents that the source holds now.
    split
        Gives all chunks of the document of that name; called for those that have to be indexed.
    is_gone
        Says of a name that is stored, but not among the documents, whether to remove it.
    batch_size, progress, say
        As in `ingest`.

    Raises
    ------
    DatabaseError
        If the database went away or refused the work; what was written until then is whole and
        stays, unless a transaction was open already and is rolled back.
    """
    work = _Work(conn, embedder, source, batch_size)
    with _explained(work), _alone(conn, source, say):
        work.run(documents, split, is_gone, progress)
        build_vector_indexes(conn)
        total = _count_chunks(conn, source)
    return UpdateReport(work.written, work.encoded, total)


@dataclass
class _Work:
    """One update: where it writes, with what, and how far it has come."""

    conn: psycopg.Connection
    embedder: EmbeddingClient
    source: Source
    batch_size: int
    planned: int = 0
    done: int = 0
    encoded: int = 0
    written: WriteReport = field(default_factory=WriteReport)

    def run(
        self,
        documents: Mapping[str, SourceDocument],
        split: Split,
        is_gone: Callable[[str], bool],
        progress: bool,
    ) -> None:
        # Each block is a transaction of its own, on a connection without autocommit, too.
        with self.conn.transaction():
            has_tables = stored_dimension(self.conn) is not None
            stored = stored_documents(self.conn, self.source) if has_tables else {}
        now = {name: _state(document) for name, document in documents.items()}
        plan = make_plan(now, stored)
        fresh = {*plan.add, *plan.change}
        todo = [document for name, document in documents.items() if name in fresh]
        self.planned = len(todo)
        if todo or not has_tables:
            # Asking for the dimension loads the model, which an up-to-date index does not need.
            create_schema(self.conn, self.embedder.dimension)
        gone = [name for name in plan.remove if is_gone(name)]
        if gone:
            self.written += WriteReport(deleted=delete_documents(self.conn, self.source, gone))
        with _bar(len(todo), progress) as advance:
            for batch in _batches(todo, split):
                self._write(batch)
                advance(len(batch))

    def _write(self, batch: list[tuple[SourceDocument, Sequence[Chunk]]]) -> None:
        chunks = [chunk for _, pieces in batch for chunk in pieces]
        vectors = self.embedder.encode([c.content for c in chunks], batch_size=self.batch_size)
        emptied = [document.name for document, pieces in batch if not pieces]
        with self.conn.transaction():
            removed = delete_chunks(self.conn, self.source, emptied) if emptied else 0
            write_documents(self.conn, self.source, [document for document, _ in batch])
            report = write_chunks(self.conn, chunks, vectors, partition=self.source.partition)
        self.written += report + WriteReport(deleted=removed)
        self.encoded += len(chunks)
        self.done += len(batch)


def _batches(
    documents: Sequence[SourceDocument], split: Split
) -> Iterator[list[tuple[SourceDocument, Sequence[Chunk]]]]:
    """Group documents until a batch has enough chunks; no document is torn apart."""
    batch: list[tuple[SourceDocument, Sequence[Chunk]]] = []
    size = 0
    for document in documents:
        pieces = split(document.name)
        batch.append((document, pieces))
        size += len(pieces)
        if size >= BATCH_CHUNKS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _state(document: SourceDocument) -> tuple[str, ...]:
    return (document.content_hash, document.parser, document.settings, document.model)


def _count_chunks(conn: psycopg.Connection, source: Source) -> int:
    with conn.transaction():
        row = conn.execute(
            "SELECT count(*) FROM document_chunks "
            "WHERE (partition, tenant_id, repo_slug, branch) = (%s, %s, %s, %s)",
            source,
        ).fetchone()
    return int(row[0]) if row else 0


@contextmanager
def _alone(conn: psycopg.Connection, source: Source, say: Say) -> Iterator[None]:
    """Hold a lock on the source: who comes second waits, and then finds the work done."""
    key = " ".join(("course ingest", *source))
    with conn.transaction():
        row = conn.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", [key]).fetchone()
    if not (row and row[0]):
        say("another ingest of the same source is running: waiting for it to end")
        with conn.transaction():
            conn.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", [key])
    try:
        yield
    finally:
        # The server gives the lock back by itself when the connection is gone.
        if not conn.closed and not conn.broken:
            with conn.transaction():
                conn.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", [key])


@contextmanager
def _explained(work: _Work) -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        if not (work.conn.closed or work.conn.broken):
            raise DatabaseError(
                f"the database refused the work: {str(error).strip()}",
                hint="Nothing half-written was left. Mend the cause and run the command again.",
            ) from error
        raise DatabaseError(
            f"the database went away after {work.done} of {work.planned} documents were written",
            hint="Nothing half-written was left. Run the same command again to complete the rest.",
        ) from error


@contextmanager
def _bar(total: int, progress: bool) -> Iterator[Callable[[int], Any]]:
    if not progress or not total or not sys.stderr.isatty():
        yield lambda count: None
        return
    from tqdm import tqdm

    with tqdm(total=total, desc="ingest", unit="document") as bar:
        yield bar.update
