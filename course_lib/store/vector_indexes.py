"""The vector indexes: rows go in, an HNSW graph over each partition comes out.

The more rows a graph has, the more of their true neighbours a walk through it misses: a graph of
more links, and a walk that keeps more candidates, make up for that. The graph is large enough for
100,000 rows; the candidates are chosen by the number of rows, when a search is made.
"""

from __future__ import annotations

from typing import Any, LiteralString, NamedTuple

import psycopg
from psycopg import sql

from course_lib.store.schema import TABLES, owns_tables, stored_dimension

VECTOR_LIMIT = 2_000
"""Most dimensions of a `vector` that pgvector indexes as it is."""

HALF_PRECISION_LIMIT = 4_000
"""Most dimensions that pgvector indexes with two bytes a number in place of four (`halfvec`)."""

VECTOR_INDEX: LiteralString = """
CREATE INDEX {name} ON {table} USING hnsw (embedding vector_cosine_ops)
WITH (m = {m}, ef_construction = {ef_construction})
"""

HALFVEC_INDEX: LiteralString = """
CREATE INDEX {name} ON {table} USING hnsw ((embedding::halfvec({dimension})) halfvec_cosine_ops)
WITH (m = {m}, ef_construction = {ef_construction})
"""
"""For more dimensions than `VECTOR_LIMIT`; a search has to order by the same expression."""

EXACT: LiteralString = ""
"""For more than `HALF_PRECISION_LIMIT`: no index, so that a search looks at all rows."""


class HnswBuild(NamedTuple):
    """What an HNSW graph is built with: links a node, and candidates looked at for each."""

    m: int
    ef_construction: int


HNSW = HnswBuild(m=24, ef_construction=128)
"""What finds enough in a large partition, too; a small one is built in a moment anyway.

Of the ten nearest, a walk with 100 candidates through pgvector's own (16 and 64) finds 0.97 among
2,000 rows, 0.91 among 20,000 and 0.81 among 86,000 (real pieces and questions, all-MiniLM-L6-v2);
through this one, with the candidates that `search` chooses, 0.97 and more. It takes 2.2 times as
long to build, and on disk no more room. `tests/bench/README.md` has the figures.
"""


def build_vector_indexes(conn: psycopg.Connection[Any], graph: HnswBuild = HNSW) -> list[str]:
    """Build the HNSW index (cosine) of every partition that has rows and no index yet.

    Built once over rows that are there, such an index takes a fraction of the time that inserting
    them one by one into it would take, and finds no less. Vectors of more than 2,000 dimensions
    are indexed at half precision (`halfvec`), those of more than 4,000 not at all.

    Parameters
    ----------
    conn
        A connection whose role owns the tables; for another one, nothing is built.
    graph
        What each index is built with.

    Returns
    -------
    list of str
        The tables whose index was built now.
    """
    with conn.transaction():
        dimension = stored_dimension(conn) or 0
        statement = vector_index(dimension)
        if not statement or not owns_tables(conn):
            return []
    values = {"dimension": sql.Literal(dimension), **graph._asdict()}
    return [table for table in TABLES if _build(conn, table, sql.SQL(statement), values)]


def vector_index(dimension: int) -> LiteralString:
    """Return the statement that builds the index of vectors of so many dimensions.

    Examples
    --------
    >>> vector_index(384) == VECTOR_INDEX, vector_index(3_072) == HALFVEC_INDEX
    (True, True)
    >>> vector_index(4_001)
    ''
    """
    if dimension <= VECTOR_LIMIT:
        return VECTOR_INDEX
    return HALFVEC_INDEX if dimension <= HALF_PRECISION_LIMIT else EXACT


def _build(
    conn: psycopg.Connection[Any], table: str, statement: sql.SQL, values: dict[str, Any]
) -> bool:
    """Build the index of one table where it has rows and no index; return whether it did."""
    with conn.transaction():
        # Without the lock: one who has written must not wait for one who waits for the writers.
        if _has_index(conn, table):
            return False
        # Who builds an index waits for those who do so already, and then finds theirs.
        conn.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [_name(table)])
        on = sql.Identifier(table)
        rows = sql.SQL("SELECT 1 FROM {} LIMIT 1").format(on)
        if _has_index(conn, table) or conn.execute(rows).fetchone() is None:
            return False
        # A parallel build shares its memory through /dev/shm, which is small in containers.
        conn.execute("SET LOCAL maintenance_work_mem = '512MB'")
        conn.execute(statement.format(name=sql.Identifier(_name(table)), table=on, **values))
    return True


def _has_index(conn: psycopg.Connection[Any], table: str) -> bool:
    """Return whether a table has its vector index."""
    asked = (
        "SELECT FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid "
        "WHERE indrelid = to_regclass(quote_ident(%s)) AND relname = %s"
    )
    return conn.execute(asked, [table, _name(table)]).fetchone() is not None


def _name(table: str) -> str:
    return f"{table}_embedding_hnsw"
