"""A vector index out of the way: many rows of a partition change, and its index is built once.

To PostgreSQL an update is a new row, which every index has to learn, whatever changed. An HNSW
index takes milliseconds to learn one row: many times what a row costs that is indexed with all the
others.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus

from course_lib.store.schema import owns_tables, table_for

FEWEST_ROWS = 500
"""So few rows are learnt in a moment."""

WORTH = 5
"""To learn a row costs more than to build the index over so many: about seven, as measured."""

PATIENCE = "2s"
"""How long we wait for those who use the table; whoever comes after us waits as long."""

_INDEXES = """
SELECT nspname, pg_class.relname, pg_get_indexdef(indexrelid)
FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_am ON pg_am.oid = relam
JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE indrelid = to_regclass(quote_ident(%s)) AND amname = 'hnsw'
"""


@contextmanager
def vector_index_rebuilt(
    conn: psycopg.Connection[Any], partition: str, changing: int
) -> Iterator[bool]:
    """Let many rows of a partition change inside, without its HNSW index where that is quicker.

    Searches go on meanwhile: without the index they look at all rows. Where something goes wrong
    inside, the index stays away until `build_vector_indexes`, which every ingest calls.

    Parameters
    ----------
    conn
        A connection from `connect`.
    partition
        Whose rows change.
    changing
        How many of them.

    Yields
    ------
    bool
        Whether the index is away: not where few rows change, where somebody uses the table for
        longer than a moment, on a connection whose role does not own the tables, or within a
        transaction that is open already.
    """
    indexes = _out_of_the_way(conn, table_for(partition), changing)
    yield bool(indexes)
    for schema, name, definition in indexes:
        with conn.transaction():
            # Who builds missing indexes takes this lock as well, and may have been here first.
            conn.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [name])
            row = conn.execute(
                "SELECT to_regclass(quote_ident(%s) || '.' || quote_ident(%s)) IS NULL",
                [schema, name],
            ).fetchone()
            if row and row[0]:
                conn.execute("SET LOCAL maintenance_work_mem = '512MB'")
                conn.execute(definition)


def _out_of_the_way(
    conn: psycopg.Connection[Any], table: str, changing: int
) -> list[tuple[str, str, bytes]]:
    """Drop the HNSW indexes of a table, if that is worth it; return schema, name, definition."""
    if changing < FEWEST_ROWS or conn.info.transaction_status != TransactionStatus.IDLE:
        return []
    name = sql.Identifier(table)
    try:
        with conn.transaction():
            if not owns_tables(conn):
                return []
            row = conn.execute(sql.SQL("SELECT count(*) FROM {}").format(name)).fetchone()
            if not row or changing * WORTH < row[0]:
                return []
            found = conn.execute(_INDEXES, [table]).fetchall()
            conn.execute("SELECT set_config('lock_timeout', %s, true)", [PATIENCE])
            for schema, index, _ in found:
                conn.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(schema, index)))
    except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected):
        return []  # somebody uses the table, perhaps to do the same
    return [(schema, index, definition.encode()) for schema, index, definition in found]
