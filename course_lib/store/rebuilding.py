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
from course_lib.store.vector_indexes import build_vector_indexes, index_of

FEWEST_ROWS = 500
"""So few rows are learnt in a moment."""

WORTH = 5
"""To learn a row costs more than to build the index over so many: about seven, as measured."""

PATIENCE = "2s"
"""How long we wait for those who use the table; whoever comes after us waits as long."""


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
    is_away = _out_of_the_way(conn, table_for(partition), changing)
    yield is_away
    if is_away:
        build_vector_indexes(conn)


def _out_of_the_way(conn: psycopg.Connection[Any], table: str, changing: int) -> bool:
    """Drop the HNSW index of a table, if that is worth it; return whether it was dropped."""
    if changing < FEWEST_ROWS or conn.info.transaction_status != TransactionStatus.IDLE:
        return False
    try:
        with conn.transaction():
            index = index_of(conn, table)
            if index is None or not owns_tables(conn):
                return False
            count = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))
            row = conn.execute(count).fetchone()
            if not row or changing * WORTH < row[0]:
                return False
            conn.execute("SELECT set_config('lock_timeout', %s, true)", [PATIENCE])
            conn.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(*index)))
    except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected):
        return False  # somebody uses the table, perhaps to do the same
    return True
