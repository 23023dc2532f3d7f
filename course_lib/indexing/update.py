"""Bringing a source up to date: what it holds now goes in, an index that says the same comes out.

Whoever located and read the source (a directory, two JSON Lines files, a repository) hands over the
rows of its documents, is told which of them are stale, splits these, and hands over the pieces as
they come. Every batch of documents is written in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace

import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus

from course_lib.embedder import EmbeddingClient
from course_lib.errors import DatabaseError
from course_lib.indexing.embedding import encode_chunks
from course_lib.indexing.plan import make_plan
from course_lib.loader.splitting import IngestOptions, Say, SplitDocument
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


@contextmanager
def updating(
    conn: psycopg.Connection,
    embedder: EmbeddingClient,
    scope: Scope,
    documents: Mapping[str, SourceDocument],
    *,
    is_gone: Callable[[str], bool],
    sizes: Mapping[str, int] | None = None,
    part: str = "",
    options: IngestOptions | None = None,
) -> Iterator[Update]:
    """Make the index hold exactly these documents of a source, of which the block writes the stale.

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

    Yields
    ------
    Update
        What is gone was removed; `stale` is to be split, and `write` takes the pieces. What only
        has another name now is removed at the end: until then, its vectors are needed.

    Raises
    ------
    DatabaseError
        If the database went away or refused the work; what was written until then is whole and
        stays, unless a transaction was open already and is rolled back.
    """
    update = Update(conn, embedder, scope, options or IngestOptions())
    with _explained(update), _alone(conn, scope, part, update.options.say):
        update.compare(documents, is_gone, sizes or {})
        yield update
        update.remove(update.renamed.values())
        if not part:
            build_vector_indexes(conn)
        update.total = _count_chunks(conn, scope)


@dataclass
class Update:
    """One update: where it writes, with what, and how far it has come.

    Attributes
    ----------
    read
        How many documents the source holds now.
    stale
        Those of them that have to be split and written.
    renamed
        Name → the old name, of documents that are stored already, under a name that is gone.
    refused
        Those that could not be split; what was stored of them stays.
    written, encoded
        Rows written, and chunks encoded.
    total
        Chunks that the source has in the end.
    """

    conn: psycopg.Connection
    embedder: EmbeddingClient
    scope: Scope
    options: IngestOptions
    read: int = 0
    stale: dict[str, SourceDocument] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    refused: list[SplitDocument] = field(default_factory=list)
    written: WriteReport = field(default_factory=WriteReport)
    encoded: int = 0
    total: int = 0
    done: int = 0
    _changed: set[str] = field(default_factory=set)

    def compare(
        self,
        documents: Mapping[str, SourceDocument],
        is_gone: Callable[[str], bool],
        sizes: Mapping[str, int],
    ) -> None:
        """Find out what is stale, and remove what is gone."""
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
        self.read = len(documents)
        fresh = {*plan.add, *plan.change}
        self.stale = {name: document for name, document in documents.items() if name in fresh}
        self._changed = set(plan.change)
        if fresh or dimension is None:
            # Asking for the dimension loads the model, which an up-to-date index does not need.
            create_schema(self.conn, self.embedder.dimension)
        gone = [name for name in plan.remove if is_gone(name)]
        # All of a state but its first part, which has the name in it.
        added = {now[name][1:]: name for name in plan.add}
        self.renamed = {added[stored[name][1:]]: name for name in gone if stored[name][1:] in added}
        self.remove({*gone}.difference(self.renamed.values()))

    def remove(self, names: Collection[str]) -> None:
        """Remove documents that are gone."""
        if names:
            with as_tenant(self.conn, self.scope.tenant):
                deleted = delete_documents(self.conn, self.scope, sorted(names))
            self.written += WriteReport(deleted=deleted)

    def write(self, split: Iterable[SplitDocument]) -> None:
        """Encode and write what is stale, as it comes."""
        shown = self.options.progress
        with progress_bar(len(self.stale), "ingest", "document", shown=shown) as advance:
            for batch in self._batches(split):
                advance(self._write(batch))

    def _batches(self, split: Iterable[SplitDocument]) -> Iterator[_Batch]:
        """Group documents until a batch has enough chunks; no document is torn apart."""
        batch = _Batch()
        for one in split:
            if one.refused:
                self.refused.append(one)
                continue
            batch.documents.append(self.stale[one.name])
            batch.chunks += one.chunks
            if not one.chunks:
                batch.emptied.append(one.name)
            if len(batch.chunks) >= BATCH_CHUNKS:
                yield batch
                batch = _Batch()
        if batch.documents:
            yield batch

    def _write(self, batch: _Batch) -> int:
        """Encode a batch, write it in one transaction and return how many documents it has."""
        scope, known = self.scope, None
        names = [
            self.renamed.get(document.name, document.name)
            for document in batch.documents
            if document.name in self._changed or document.name in self.renamed
        ]
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
def _explained(update: Update) -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        if not (update.conn.closed or update.conn.broken):
            raise DatabaseError(
                f"the database refused the work: {str(error).strip()}",
                hint="Nothing half-written was left. Mend the cause and run the command again.",
            ) from error
        raise DatabaseError(
            f"the database went away after {update.done} of {len(update.stale)} documents were "
            "written",
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

    def call(function: str) -> bool:
        statement = sql.SQL("SELECT {}(hashtextextended(%s, 0))")
        with conn.transaction():
            named = statement.format(sql.Identifier(function + mode))
            row = conn.execute(named, [key]).fetchone()
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
