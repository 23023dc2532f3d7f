"""Writing: chunks and their vectors go in, rows come out, all of a document or nothing.

Rows travel by binary COPY into a temporary table, and those that are new or changed go from there
into the real one by a single `INSERT … ON CONFLICT DO UPDATE`. The same transaction deletes what a
new version of a document no longer has, so that nobody ever sees half of one version and half of
another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

import numpy as np
import psycopg
from psycopg import sql
from psycopg.rows import tuple_row

from course_lib.errors import DatabaseError, InputError
from course_lib.records import Chunk, Scope, Visibility
from course_lib.store.collection import ways_out
from course_lib.store.rows import COLUMNS, DOCUMENT, KEY, check_chunks, check_place, make_rows
from course_lib.store.schema import stored_dimension, table_for


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """A row of `documents`: a source file and what it was indexed with.

    `parser`, `settings` and `model` are part of its state: when one of them changes, the document
    is indexed anew although its text is the same.
    """

    name: str
    content: str
    content_hash: str
    parser: str
    settings: str
    model: str
    commit_sha: str | None = None
    citation_url: str | None = None
    visibility: Visibility = "private"


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


# Writers of one source take turns; otherwise the pieces of two versions could get mixed.
_TAKE_TURNS: LiteralString = """
SELECT pg_advisory_xact_lock(hashtextextended(source, 0)) FROM (
    SELECT DISTINCT concat_ws(' ', 'course write', partition, tenant_id, repo_slug, branch)
    FROM incoming ORDER BY 1) AS sources (source)
"""

# EXCEPT compares by hashing. With NOT EXISTS the planner, which takes the columns of a key for
# independent, expects one row and compares each with each.
_DELETE_STALE: LiteralString = """
DELETE FROM {table} AS old
USING (
    SELECT {key} FROM {table}
    JOIN (SELECT DISTINCT {document} FROM incoming) AS documents USING ({document})
    EXCEPT SELECT {key} FROM incoming
) AS stale
WHERE ({old}) = ({stale})
"""

_UPSERT: LiteralString = """
WITH written AS (
    INSERT INTO {table} AS old ({columns})
    SELECT {columns} FROM incoming
    -- What is there already would have its words computed before the conflict is seen.
    WHERE NOT EXISTS (
        SELECT FROM {table} AS same
        WHERE same.partition = incoming.partition AND same.tenant_id = incoming.tenant_id
          AND same.repo_slug = incoming.repo_slug AND same.branch = incoming.branch
          AND same.document_name = incoming.document_name
          AND same.chunk_index = incoming.chunk_index
          AND ({same}) IS NOT DISTINCT FROM ({given}))
    ORDER BY partition, tenant_id, repo_slug, branch, document_name, chunk_index
    ON CONFLICT (partition, tenant_id, repo_slug, branch, document_name, chunk_index)
    DO UPDATE SET ({payload}, updated_at) = ({excluded}, now())
    WHERE ({old}) IS DISTINCT FROM ({excluded})
    RETURNING (xmax = 0) AS is_new)
SELECT count(*) FILTER (WHERE is_new), count(*) FILTER (WHERE NOT is_new) FROM written
"""


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
        One of the course's partitions; any other name is kept in the default one.
    visibility
        Who may read the rows, beside their owner's tools: their tenant, or every tenant.

    Returns
    -------
    WriteReport
        Rows inserted, updated, unchanged and deleted.

    Raises
    ------
    InputError
        If the numbers of chunks and vectors or the dimensions differ, a vector is not finite, a
        text holds a NUL character, a document has two chunks at one place, `customMeta` holds what
        does not fit its column, or there is no such partition or visibility.
    DatabaseError
        If the tables are missing.
    """
    check_place(partition, visibility)
    vectors = np.asarray(vectors, dtype=np.float32)
    if not len(chunks) == len(vectors) == 0:
        check_chunks(chunks, vectors)
    if not chunks:
        return WriteReport()
    rows = make_rows(chunks, vectors, partition, visibility)
    try:
        with conn.transaction(), conn.cursor(row_factory=tuple_row) as cursor:
            _check_dimension(stored_dimension(conn), vectors.shape[1])
            inserted, updated, deleted = _replace(cursor, rows, table_for(partition))
    except (psycopg.DataError, psycopg.errors.ProgramLimitExceeded) as error:
        raise InputError(
            f"the chunks cannot be stored: {error.diag.message_primary or error}",
            hint=error.diag.context or "Look at their names and their customMeta.",
        ) from error
    return WriteReport(inserted, updated, len(chunks) - inserted - updated, deleted)


def _replace(
    cursor: psycopg.Cursor[Any], rows: Sequence[tuple[object, ...]], table_name: str
) -> tuple[int, int, int]:
    """Write all rows of some documents; return how many were inserted, updated and deleted."""
    table = sql.Identifier(table_name)
    columns = sql.SQL(", ").join(map(sql.Identifier, COLUMNS))
    payload = [name for name in COLUMNS if name not in KEY]
    cursor.execute(
        sql.SQL("CREATE TEMP TABLE incoming ON COMMIT DROP AS SELECT {} FROM {} LIMIT 0").format(
            columns, table
        )
    )
    with cursor.copy(
        sql.SQL("COPY incoming ({}) FROM STDIN (FORMAT BINARY)").format(columns)
    ) as copy:
        copy.set_types(list(COLUMNS.values()))
        for row in rows:
            copy.write_row(row)
    cursor.execute("ANALYZE incoming")
    cursor.execute(_TAKE_TURNS)
    deleted = cursor.execute(
        sql.SQL(_DELETE_STALE).format(
            table=table,
            key=sql.SQL(", ").join(map(sql.Identifier, KEY)),
            document=sql.SQL(DOCUMENT),
            old=_qualified("old", KEY),
            stale=_qualified("stale", KEY),
        )
    ).rowcount
    cursor.execute(
        sql.SQL(_UPSERT).format(
            table=table,
            columns=columns,
            payload=sql.SQL(", ").join(map(sql.Identifier, payload)),
            excluded=_qualified("excluded", payload),
            old=_qualified("old", payload),
            same=_qualified("same", payload),
            given=_qualified("incoming", payload),
        )
    )
    inserted, updated = cursor.fetchone() or (0, 0)
    cursor.execute("DROP TABLE incoming")
    return inserted, updated, deleted


def write_documents(
    conn: psycopg.Connection, scope: Scope, documents: Iterable[SourceDocument]
) -> None:
    """Write the rows of `documents`; call it in the transaction that writes their chunks."""
    _take_turn(conn, scope)
    with conn.cursor() as cursor:
        cursor.executemany(
            f"""
            INSERT INTO documents ({DOCUMENT}, commit_sha, citation_url, content, content_hash,
                parser, settings, model, visibility)
            VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
            ON CONFLICT ({DOCUMENT}) DO UPDATE SET
                commit_sha = excluded.commit_sha, citation_url = excluded.citation_url,
                content = excluded.content, content_hash = excluded.content_hash,
                parser = excluded.parser, settings = excluded.settings, model = excluded.model,
                visibility = excluded.visibility, updated_at = now()
            """,
            [
                (
                    *scope.key,
                    document.name,
                    document.commit_sha,
                    document.citation_url,
                    document.content,
                    document.content_hash,
                    document.parser,
                    document.settings,
                    document.model,
                    document.visibility,
                )
                for document in documents
            ],
        )


def delete_chunks(conn: psycopg.Connection, scope: Scope, names: Sequence[str]) -> int:
    """Delete all chunks of the named documents and return how many rows that were."""
    with conn.transaction():
        _take_turn(conn, scope)
        return conn.execute(
            "DELETE FROM document_chunks WHERE partition = %s AND tenant_id = %s "
            "AND repo_slug = %s AND branch = %s AND document_name = ANY(%s)",
            [*scope.key, list(names)],
        ).rowcount


def delete_documents(conn: psycopg.Connection, scope: Scope, names: Sequence[str]) -> int:
    """Delete documents with all their chunks and return how many chunks that were."""
    with conn.transaction():
        deleted = delete_chunks(conn, scope, names)
        conn.execute(
            "DELETE FROM documents WHERE partition = %s AND tenant_id = %s AND repo_slug = %s "
            "AND branch = %s AND document_name = ANY(%s)",
            [*scope.key, list(names)],
        )
    return deleted


def stored_documents(conn: psycopg.Connection, scope: Scope) -> dict[str, tuple[str, ...]]:
    """Return name → (content hash, parser, settings, model) of what is indexed of a scope."""
    rows = conn.cursor(row_factory=tuple_row).execute(
        "SELECT document_name, content_hash, parser, settings, model FROM documents "
        "WHERE partition = %s AND tenant_id = %s AND repo_slug = %s AND branch = %s",
        scope.key,
    )
    return {name: tuple(state) for name, *state in rows}


def _take_turn(conn: psycopg.Connection, scope: Scope) -> None:
    """Wait until no other transaction writes to a scope: `_TAKE_TURNS` for one that is known.

    It comes before the first row is touched. Two writers that lock the same rows in another order
    would wait for each other.
    """
    conn.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended("
        "concat_ws(' ', 'course write', %s::text, %s::text, %s::text, %s::text), 0))",
        scope.key,
    )


def _qualified(alias: str, names: Sequence[str]) -> sql.Composed:
    return sql.SQL(", ").join(sql.Identifier(alias, name) for name in names)


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
