"""Writing: chunks and their vectors go in, rows come out, all of a document or nothing.

A row that is there already is updated if it changed. The same transaction deletes what a new
version of a document no longer has, so that no reader sees half of one version and half of another.
Writers of the same scope take turns, because two at once could still mix two versions.
`executemany` sends the rows of a document one after the other without waiting for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, LiteralString

import numpy as np
import psycopg
from psycopg.rows import tuple_row

from course_lib.errors import DatabaseError, InputError
from course_lib.records import Chunk, Scope, SourceDocument, Visibility, vector_key
from course_lib.store.collection import ways_out
from course_lib.store.rows import DOCUMENT_KEY, DocumentKey, check_chunks, check_place, make_rows
from course_lib.store.schema import stored_dimension

IN_SCOPE: LiteralString = "(partition, tenant_id, repo_slug, branch) = (%s, %s, %s, %s)"
"""True for the rows of a scope; the four values are its `key`."""


@dataclass(frozen=True, slots=True)
class WriteReport:
    """How many rows of `document_chunks` a write touched."""

    inserted: int = 0
    updated: int = 0
    unchanged: int = 0
    deleted: int = 0

    def __add__(self, other: WriteReport) -> WriteReport:
        return WriteReport(
            self.inserted + other.inserted,
            self.updated + other.updated,
            self.unchanged + other.unchanged,
            self.deleted + other.deleted,
        )


UPSERT_CHUNK: LiteralString = """
INSERT INTO document_chunks AS old (
    partition, tenant_id, repo_slug, branch, document_name, chunk_index, commit_sha, kind, name,
    namespace, citation_url, content, content_hash, metadata, visibility, embedding)
VALUES (
    %(partition)s, %(tenant_id)s, %(repo_slug)s, %(branch)s, %(document_name)s, %(chunk_index)s,
    %(commit_sha)s, %(kind)s, %(name)s, %(namespace)s, %(citation_url)s, %(content)s,
    %(content_hash)s, %(metadata)s, %(visibility)s, %(embedding)s)
ON CONFLICT (partition, tenant_id, repo_slug, branch, document_name, chunk_index)
DO UPDATE SET updated_at = now(),
    (commit_sha, kind, name, namespace, citation_url, content, content_hash, metadata, visibility,
     embedding)
    = (excluded.commit_sha, excluded.kind, excluded.name, excluded.namespace, excluded.citation_url,
       excluded.content, excluded.content_hash, excluded.metadata, excluded.visibility,
       excluded.embedding)
WHERE
    (old.commit_sha, old.kind, old.name, old.namespace, old.citation_url, old.content,
     old.content_hash, old.metadata, old.visibility, old.embedding)
IS DISTINCT FROM
    (excluded.commit_sha, excluded.kind, excluded.name, excluded.namespace, excluded.citation_url,
     excluded.content, excluded.content_hash, excluded.metadata, excluded.visibility,
     excluded.embedding)
"""
"""Inserts a chunk, or updates the row of the same key; a row that is equal already is not written.

PostgreSQL updates a row by writing a new copy of it, even if all values are the same.
"""

UPSERT_DOCUMENT: LiteralString = """
INSERT INTO documents AS old (
    partition, tenant_id, repo_slug, branch, document_name, commit_sha, citation_url, content,
    content_hash, parser, settings, model, visibility)
VALUES (
    %(partition)s, %(tenant_id)s, %(repo_slug)s, %(branch)s, %(document_name)s, %(commit_sha)s,
    %(citation_url)s, %(content)s, %(content_hash)s, %(parser)s, %(settings)s, %(model)s,
    %(visibility)s)
ON CONFLICT (partition, tenant_id, repo_slug, branch, document_name) DO UPDATE SET
    updated_at = now(),
    (commit_sha, citation_url, content, content_hash, parser, settings, model, visibility)
    = (excluded.commit_sha, excluded.citation_url, excluded.content, excluded.content_hash,
       excluded.parser, excluded.settings, excluded.model, excluded.visibility)
WHERE (old.commit_sha, old.citation_url, old.content, old.content_hash, old.parser, old.settings,
       old.model, old.visibility)
    IS DISTINCT FROM (excluded.commit_sha, excluded.citation_url, excluded.content,
       excluded.content_hash, excluded.parser, excluded.settings, excluded.model,
       excluded.visibility)
"""
"""Inserts a document's row, or updates it if it changed; id, metadata and created_at stay."""


def replace_document(
    conn: psycopg.Connection, document: Mapping[str, object], rows: Sequence[Mapping[str, object]]
) -> tuple[int, int]:
    """Make `document_chunks` hold exactly these rows of a document, or change nothing.

    - Each of `rows` has a value for every placeholder of `UPSERT_CHUNK`, which writes it.
    - `document` holds the five columns that say which document it is: partition, tenant_id,
      repo_slug, branch and document_name. Its rows with any other `chunk_index` are deleted.
    - If anything fails, the caller gets the exception, and the table is as it was before.
    - `conn` is in autocommit mode or inside a transaction of the caller.
    - Returns how many rows were written (new or changed) and how many were deleted.

    Examples
    --------
    With three rows of a document, and a table without any of them::

        replace_document(conn, document, rows)        (3, 0)
        replace_document(conn, document, rows)        (0, 0)
        replace_document(conn, document, rows[:2])    (0, 1)
    """
    stale = """
        DELETE FROM document_chunks WHERE chunk_index <> ALL(%(kept)s)
        AND (partition, tenant_id, repo_slug, branch, document_name)
          = (%(partition)s, %(tenant_id)s, %(repo_slug)s, %(branch)s, %(document_name)s)"""
    kept = [row["chunk_index"] for row in rows]
    with conn.transaction(), conn.cursor() as cursor:
        deleted = cursor.execute(stale, {**document, "kept": kept}).rowcount
        cursor.executemany(UPSERT_CHUNK, rows)
        return cursor.rowcount, deleted


def write_chunks(
    conn: psycopg.Connection,
    chunks: Sequence[Chunk],
    vectors: np.ndarray[Any, np.dtype[np.float32]],
    *,
    partition: str = "documentation",
    visibility: Visibility = "private",
) -> WriteReport:
    """Write the chunks of whole documents, and delete the rows that these documents lost.

    Runs in one transaction (a savepoint where one is open already).

    Parameters
    ----------
    conn
        A connection from `connect`.
    chunks
        All chunks of each document that occurs among them. Their place in the document is
        `customMeta.chunkIndex`, or their order where that is absent; `customMeta` may also hold
        `branch`, `namespace`, `commitSha` and `citationUrl`, which become columns.
    vectors
        float32 of shape (len(chunks), dimension), in the same order.
    partition
        One of the course's partitions; rows of any other name are kept in the default table.
    visibility
        Who may read the rows: their tenant alone, or every tenant.

    Returns
    -------
    WriteReport
        Rows inserted, updated, unchanged and deleted.

    Raises
    ------
    InputError
        If the numbers of chunks and vectors or the dimensions differ, a vector is not finite, a
        text holds a NUL character, a document has two chunks at one place, `customMeta` holds what
        does not fit its column, the partition's name is empty or holds what cannot be printed, or
        there is no such visibility.
    DatabaseError
        If the tables are missing.
    """
    check_place(partition, visibility)
    vectors = np.asarray(vectors, dtype=np.float32)
    if len(chunks) or len(vectors):
        check_chunks(chunks, vectors)
    if not chunks:
        return WriteReport()
    documents = make_rows(chunks, vectors, partition, visibility)
    try:
        with conn.transaction():
            _check_dimension(stored_dimension(conn), vectors.shape[1])
            before = _lock_and_count(conn, documents)
            written = deleted = 0
            for document, rows in documents.items():
                named = dict(zip(DOCUMENT_KEY, document, strict=True))
                counts = replace_document(conn, named, rows)
                written, deleted = written + counts[0], deleted + counts[1]
    except (psycopg.DataError, psycopg.errors.ProgramLimitExceeded) as error:
        raise InputError(
            f"the chunks cannot be stored: {error.diag.message_primary or error}",
            hint="Look at their names and their customMeta.",
        ) from error
    there_already = before - deleted  # rows that were there and stay
    inserted = len(chunks) - there_already
    return WriteReport(inserted, written - inserted, len(chunks) - written, deleted)


def _lock_and_count(conn: psycopg.Connection, documents: Iterable[DocumentKey]) -> int:
    """Wait for those who write to the same scopes; return how many rows the documents have."""
    names: dict[DocumentKey, list[object]] = {}
    for *scope, name in documents:
        names.setdefault(tuple(scope), []).append(name)
    rows = 0
    # In the same order for everyone, so that no two wait for each other.
    for scope_key in sorted(names, key=str):
        _take_turn(conn, scope_key)
        found = conn.cursor(row_factory=tuple_row).execute(
            f"SELECT count(*) FROM document_chunks WHERE {IN_SCOPE} AND document_name = ANY(%s)",
            [*scope_key, names[scope_key]],
        )
        rows += sum(count for (count,) in found)
    return rows


def write_documents(
    conn: psycopg.Connection, scope: Scope, documents: Iterable[SourceDocument]
) -> None:
    """Write the rows of `documents`; call it in the transaction that writes their chunks."""
    _take_turn(conn, scope.key)
    rows = [
        dict(zip(DOCUMENT_KEY, (*scope.key, document.name), strict=True)) | _state(document)
        for document in documents
    ]
    if rows:
        conn.cursor().executemany(UPSERT_DOCUMENT, rows)


def _state(document: SourceDocument) -> dict[str, object]:
    """Return column → value: the fields of `SourceDocument` are columns of `documents`."""
    state = asdict(document)
    del state["name"]  # the column `document_name`
    return state


def delete_chunks(conn: psycopg.Connection, scope: Scope, names: Sequence[str]) -> int:
    """Delete all chunks of the named documents, not their rows in `documents`; return how many."""
    with conn.transaction():
        _take_turn(conn, scope.key)
        return conn.execute(
            f"DELETE FROM document_chunks WHERE {IN_SCOPE} AND document_name = ANY(%s)",
            [*scope.key, list(names)],
        ).rowcount


def delete_documents(conn: psycopg.Connection, scope: Scope, names: Sequence[str]) -> int:
    """Delete documents with all their chunks and return how many chunks that were."""
    with conn.transaction():
        deleted = delete_chunks(conn, scope, names)
        conn.execute(
            f"DELETE FROM documents WHERE {IN_SCOPE} AND document_name = ANY(%s)",
            [*scope.key, list(names)],
        )
    return deleted


def stored_documents(conn: psycopg.Connection, scope: Scope) -> dict[str, tuple[str, ...]]:
    """Return name → (cited path, content hash, parser, settings, model) of a scope's documents."""
    rows = conn.cursor(row_factory=tuple_row).execute(
        "SELECT document_name, coalesce(split_part(citation_url, commit_sha, 2), ''), "
        f"content_hash, parser, settings, model FROM documents WHERE {IN_SCOPE}",
        scope.key,
    )
    return {name: tuple(state) for name, *state in rows}


def stored_sizes(conn: psycopg.Connection, scope: Scope, names: Sequence[str]) -> dict[str, int]:
    """Return name → how many chunks are stored, for the documents among some that have any."""
    rows = conn.cursor(row_factory=tuple_row).execute(
        "SELECT document_name, count(*) FROM document_chunks "
        f"WHERE {IN_SCOPE} AND document_name = ANY(%s) GROUP BY document_name",
        [*scope.key, list(names)],
    )
    return dict(rows.fetchall())


def stored_vectors(
    conn: psycopg.Connection, scope: Scope, names: Sequence[str]
) -> dict[str, np.ndarray[Any, np.dtype[np.float32]]]:
    """Return key (`vector_key`) → vector for the chunks of some documents.

    Parameters
    ----------
    conn
        A connection from `connect`.
    scope
        Where the documents belong.
    names
        Their names.
    """
    with conn.cursor(row_factory=tuple_row, binary=True) as cursor:
        rows = cursor.execute(
            "SELECT chunk.content, chunk.metadata->>'header', document.model, chunk.embedding "
            "FROM document_chunks AS chunk JOIN documents AS document "
            "USING (partition, tenant_id, repo_slug, branch, document_name) "
            f"WHERE {IN_SCOPE} AND document_name = ANY(%s)",
            [*scope.key, list(names)],
        ).fetchall()
    return {
        vector_key(_embedded(scope, content, header), model): vector.to_numpy().astype(np.float32)
        for content, header, model, vector in rows
    }


def _embedded(scope: Scope, content: str, header: str | None) -> Chunk:
    """Return of a stored chunk what its vector depends on."""
    meta = {"header": header} if header else {}
    return Chunk.model_construct(tenant_id=scope.tenant, content=content, custom_meta=meta)


def _take_turn(conn: psycopg.Connection, scope: Sequence[object]) -> None:
    """Wait for others that called this for the same partition, tenant, repository and branch.

    An advisory lock is a lock on a number, here a hash of the four; it ends with the transaction,
    so there has to be one.
    Without it, the pieces of two versions could get mixed. It comes before the first row is
    touched: two writers that lock the same rows in another order would wait for each other.
    """
    conn.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended("
        "concat_ws(' ', 'course write', %s::text, %s::text, %s::text, %s::text), 0))",
        scope,
    )


def _check_dimension(stored: int | None, given: int) -> None:
    if stored is None:
        raise DatabaseError(
            "the database has no table document_chunks", hint="Call `create_schema(conn)` first."
        )
    if stored != given:
        raise InputError(
            f"the vectors have {given} dimensions, the table has {stored}",
            hint=ways_out(),
        )
