"""Bringing a source up to date: what it holds now goes in, an index that says the same comes out.

Whoever located and read the source — a directory, two JSON Lines files, later a repository — hands
over its documents and a function that splits one of them. Only documents that the plan names are
split and encoded, and every batch of documents is written in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import LiteralString

import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus

from course_lib.embedder import EmbeddingClient
from course_lib.errors import DatabaseError
from course_lib.indexing.embedding import encode_chunks
from course_lib.indexing.plan import make_plan
from course_lib.loader.contract import FileRejectedError
from course_lib.loader.splitting import IngestOptions, Say
from course_lib.progress import progress_bar
from course_lib.records import Chunk, Scope, SourceDocument
from course_lib.store import (
    WriteReport,
    build_vector_indexes,
    create_schema,
    delete_documents,
    stored_documents,
    write_chunks,
    write_documents,
)
from course_lib.store.schema import stored_dimension
from course_lib.store.tenancy import as_tenant, set_visibility
from course_lib.store.writer import delete_chunks, stored_sizes, stored_vectors

BATCH_CHUNKS = 128
"""Chunks that are encoded and written together: an interruption costs so many, at most."""

Split = Callable[[str], Sequence[Chunk]]


@dataclass(frozen=True, slots=True)
class UpdateReport:
    """Rows written, chunks encoded, chunks that the source has now, and what was refused.

    `rejected` holds the names of documents that could not be split, and why; what was stored of
    them stays.
    """

    written: WriteReport
    encoded: int
    total: int
    rejected: tuple[tuple[str, FileRejectedError], ...] = ()


def update_source(
    conn: psycopg.Connection,
    embedder: EmbeddingClient,
    scope: Scope,
    documents: Mapping[str, SourceDocument],
    split: Split,
    *,
    is_gone: Callable[[str], bool] = lambda name: True,
    sizes: Mapping[str, int] | None = None,
    part: str = "",
    options: IngestOptions | None = None,
) -> UpdateReport:
    """Make the index hold exactly these documents of a source.

    Parameters
    ----------
    conn
        A connection from `connect`; the tables are created if they are missing. Every transaction
        runs as the scope's tenant.
    embedder
        Encodes the chunks, but those that are stored already.
    scope
        What is compared, written and removed; documents of other scopes are not touched. Its
        visibility is that of everything that is stored of this tenant's repository.
    documents
        Name → row, for all documents that the source holds now.
    split
        Gives all chunks of the document of that name; called for those that have to be indexed.
        A `FileRejectedError` leaves that document as it is stored; the others go on.
    is_gone
        Says of a name that is stored, but not among the documents, whether to remove it.
    sizes
        Name → how many chunks each document has, for a caller that has split them all. A document
        that is stored with another number is written again: some chunks were lost on their way.
    part
        Which part of the source this is about, where several update one each at the same time; who
        updates all of it, or the same part, waits. `is_gone` has to leave the other parts alone,
        and `build_vector_indexes` is to be called once, after all parts.
    options
        As in `ingest`.

    Raises
    ------
    DatabaseError
        If the database went away or refused the work; what was written until then is whole and
        stays, unless a transaction was open already and is rolled back.
    """
    options = options or IngestOptions()
    work = _Work(conn, embedder, scope, options)
    with _explained(work), _alone(conn, scope, part, options.say):
        work.run(documents, split, is_gone, sizes)
        if not part:
            build_vector_indexes(conn)
        total = _count_chunks(conn, scope)
    return UpdateReport(work.written, work.encoded, total, tuple(work.rejected))


@dataclass
class _Work:
    """One update: where it writes, with what, and how far it has come."""

    conn: psycopg.Connection
    embedder: EmbeddingClient
    scope: Scope
    options: IngestOptions
    planned: int = 0
    done: int = 0
    encoded: int = 0
    written: WriteReport = field(default_factory=WriteReport)
    reusable: set[str] = field(default_factory=set)
    rejected: list[tuple[str, FileRejectedError]] = field(default_factory=list)

    def run(
        self,
        documents: Mapping[str, SourceDocument],
        split: Split,
        is_gone: Callable[[str], bool],
        sizes: Mapping[str, int] | None,
    ) -> None:
        # Each block is a transaction of its own, on a connection without autocommit, too.
        tenant = self.scope.tenant
        with as_tenant(self.conn, tenant):
            dimension = stored_dimension(self.conn)
            stored = {}
            counted: dict[str, int] = {}
            if dimension is not None:
                create_schema(self.conn, dimension)  # refuses tables of an earlier version
                set_visibility(self.conn, tenant, self.scope.repo, self.scope.visibility)
                stored = stored_documents(self.conn, self.scope)
                counted = stored_sizes(self.conn, self.scope, [*sizes]) if sizes else {}
        now = {name: _state(document) for name, document in documents.items()}
        plan = make_plan(now, stored)
        if sizes:
            torn = [name for name in plan.skip if sizes[name] != counted.get(name, 0)]
            plan.change.extend(torn)
        fresh = {*plan.add, *plan.change}
        todo = [document for name, document in documents.items() if name in fresh]
        self.planned = len(todo)
        self.reusable = {
            name for name in plan.change if stored[name][-1] == self.embedder.model_name
        }
        if todo or dimension is None:
            # Asking for the dimension loads the model, which an up-to-date index does not need.
            create_schema(self.conn, self.embedder.dimension)
        gone = [name for name in plan.remove if is_gone(name)]
        if gone:
            with as_tenant(self.conn, tenant):
                deleted = delete_documents(self.conn, self.scope, gone)
            self.written += WriteReport(deleted=deleted)
        with progress_bar(len(todo), "ingest", "document", shown=self.options.progress) as advance:
            for batch in self._batches(todo, split):
                advance(self._write(batch))

    def _batches(self, documents: Sequence[SourceDocument], split: Split) -> Iterator[_Batch]:
        """Group documents until a batch has enough chunks; no document is torn apart."""
        batch = _Batch()
        for document in documents:
            try:
                pieces = split(document.name)
            except FileRejectedError as error:
                self.rejected.append((document.name, error))
                continue
            batch.documents.append(document)
            batch.chunks += pieces
            if not pieces:
                batch.emptied.append(document.name)
            if len(batch.chunks) >= BATCH_CHUNKS:
                yield batch
                batch = _Batch()
        if batch.documents:
            yield batch

    def _write(self, batch: _Batch) -> int:
        """Encode a batch, write it in one transaction and return how many documents it has."""
        scope, known = self.scope, None
        names = [document.name for document in batch.documents if document.name in self.reusable]
        if names:
            with as_tenant(self.conn, scope.tenant):
                known = stored_vectors(self.conn, scope, names)
        vectors, encoded = encode_chunks(
            self.embedder, batch.chunks, batch_size=self.options.batch_size, known=known
        )
        self.encoded += encoded
        documents = [replace(document, visibility=scope.visibility) for document in batch.documents]
        with as_tenant(self.conn, scope.tenant):
            removed = delete_chunks(self.conn, scope, batch.emptied) if batch.emptied else 0
            write_documents(self.conn, scope, documents)
            report = write_chunks(
                self.conn,
                batch.chunks,
                vectors,
                partition=scope.key[0],
                visibility=scope.visibility,
            )
        self.written += report + WriteReport(deleted=removed)
        self.done += len(documents)
        return len(documents)


@dataclass
class _Batch:
    """Documents that are written together, and their chunks."""

    documents: list[SourceDocument] = field(default_factory=list)
    chunks: list[Chunk] = field(default_factory=list)
    emptied: list[str] = field(default_factory=list)
    """Names of the documents that have no chunks."""


def _state(document: SourceDocument) -> tuple[str, ...]:
    # A link in a repository may lead to another file with the same text, which is cited then.
    commit, url = document.commit_sha, document.citation_url or ""
    cited = url.split(commit)[1] if commit and commit in url else ""
    return (cited, document.content_hash, document.parser, document.settings, document.model)


def _count_chunks(conn: psycopg.Connection, scope: Scope) -> int:
    with as_tenant(conn, scope.tenant):
        row = conn.execute(
            "SELECT count(*) FROM document_chunks "
            "WHERE (partition, tenant_id, repo_slug, branch) = (%s, %s, %s, %s)",
            scope.key,
        ).fetchone()
    return int(row[0]) if row else 0


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
def _alone(conn: psycopg.Connection, scope: Scope, part: str, say: Say) -> Iterator[None]:
    """Hold a lock on the source: who comes second waits, and then finds the work done.

    Who updates a part shares the source with those of the other parts. The lock belongs to the
    session, because an update is many transactions.
    """
    key = " ".join(("course ingest", *scope.key))
    locks = [(key, "_shared"), (f"{key} {part}", "")] if part else [(key, "")]
    with ExitStack() as held:
        for name, mode in locks:
            held.enter_context(_locked(conn, name, mode, say))
        yield


@contextmanager
def _locked(conn: psycopg.Connection, key: str, mode: str, say: Say) -> Iterator[None]:
    """Hold an advisory lock of the session; the mode is how the functions' names end."""

    def call(function: LiteralString) -> bool:
        statement = sql.SQL("SELECT {}(hashtextextended(%s, 0))")
        with conn.transaction():
            row = conn.execute(statement.format(sql.Identifier(function + mode)), [key]).fetchone()
        return bool(row and row[0])

    if not call("pg_try_advisory_lock"):
        say("another ingest of the same source is running: waiting for it to end")
        call("pg_advisory_lock")
    try:
        yield
    finally:
        # Ctrl-C can come between a statement and its answer: that connection takes no other one.
        if conn.info.transaction_status == TransactionStatus.ACTIVE:
            conn.close()
        # The server gives the lock back by itself when the connection is gone.
        if not conn.closed and not conn.broken:
            call("pg_advisory_unlock")
