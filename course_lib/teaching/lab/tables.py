"""What labs about tables need around their SQL: tables made again, notices, plans, a stopwatch.

They take a connection and give plain Python values, so that a lab's own cells hold the statements
that it is about.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Any

from psycopg import sql

if TYPE_CHECKING:
    import psycopg


def new_table(conn: psycopg.Connection[Any], name: str, columns: str) -> None:
    """Create a table, in the place of one that has this name already: the cell can be run again.

    Parameters
    ----------
    conn
        Whose role owns the schema.
    name
        The table's name.
    columns
        What is between the brackets, as in ``"id int, embedding vector(3)"``.
    """
    table = sql.Identifier(name)
    with conn.transaction():
        conn.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(table))
        conn.execute(sql.SQL("CREATE TABLE {} (").format(table).as_bytes() + f"{columns})".encode())


@contextmanager
def notices_shown(conn: psycopg.Connection[Any]) -> Iterator[None]:
    """Print what the server remarks on the statements inside; psycopg keeps it to itself."""

    def show(notice: psycopg.errors.Diagnostic) -> None:
        parts = (notice.message_primary, notice.message_detail, notice.message_hint)
        print(f"{notice.severity}:", " ".join(f"{part.rstrip('.')}." for part in parts if part))

    conn.add_notice_handler(show)
    try:
        yield
    finally:
        conn.remove_notice_handler(show)


def explain(conn: psycopg.Connection[Any], statement: str, *values: Any) -> list[tuple[str]]:
    """Run a query under EXPLAIN ANALYZE and return its plan, for `lab.show.plan`.

    Vectors are written as ``'[…]'`` in it.

    Parameters
    ----------
    conn
        A connection.
    statement
        The query.
    values
        For its placeholders.
    """
    asked = f"EXPLAIN (ANALYZE, BUFFERS off) {statement}".encode()
    lines = conn.execute(asked, values or None)
    return [(re.sub(r"'\[[^\]']{40,}\]'", "'[…]'", line),) for (line,) in lines]


def nearest_ids(
    conn: psycopg.Connection[Any],
    table: str,
    queries: Sequence[Any],
    k: int = 10,
    *,
    exact: bool = False,
) -> list[set[int]]:
    """Return, for each query vector, the `id`s of the rows that are nearest by cosine distance.

    Parameters
    ----------
    conn
        A connection.
    table
        With columns `id` and `embedding`.
    queries
        Vectors.
    k
        How many rows.
    exact
        True looks at every row; False takes the table's vector index, where it has one.
    """
    avoided = sql.Identifier("enable_indexscan" if exact else "enable_seqscan")
    statement = sql.SQL("SELECT id FROM {} ORDER BY embedding <=> %s LIMIT %s").format(
        sql.Identifier(table)
    )
    with conn.transaction():
        conn.execute(sql.SQL("SET LOCAL {} = off").format(avoided))
        return [{row[0] for row in conn.execute(statement, (query, k))} for query in queries]


def seconds(step: Callable[..., object], *arguments: Any, **options: Any) -> float:
    """Return how long a call takes, in seconds of wall-clock time."""
    begun = perf_counter()
    step(*arguments, **options)
    return perf_counter() - begun
