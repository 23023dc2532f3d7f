"""The vector indexes: rows go in, an HNSW graph over each partition comes out that fits its size.

The more rows a graph has, the more of their true neighbours a walk through it misses: a graph of
more links, and a walk that keeps more candidates, make up for that. Both are chosen here by
the number of rows.
"""

from __future__ import annotations

from typing import Any, LiteralString, NamedTuple

import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus

from course_lib.errors import InputError
from course_lib.store.schema import (
    HALF_PRECISION_LIMIT,
    TABLES,
    VECTOR_LIMIT,
    owns_tables,
    stored_dimension,
)


class HnswBuild(NamedTuple):
    """What an HNSW graph is built with: links a node, and candidates looked at for each."""

    m: int
    ef_construction: int


HNSW = HnswBuild(m=16, ef_construction=64)
"""pgvector's own."""

HNSW_LARGE = HnswBuild(m=24, ef_construction=128)
"""Takes 2.2 times as long to build, and on disk no more room."""

HNSW_LARGE_FROM = 5_000
"""So many rows are worth the larger graph.

Of the ten nearest, a walk with 100 candidates finds through the small one 0.97 among 2,000 rows,
0.91 among 20,000 and 0.81 among 86,000 (real pieces and questions, all-MiniLM-L6-v2); through the
large one, with the candidates that `search` chooses, 0.97 and more. `tests/bench/README.md` has the
figures.
"""

PATIENCE = "200ms"
"""How long an outgrown index waits for those who use it, and they wait for it: it may stay."""

_STATE: LiteralString = """
SELECT nspname, index.oid IS NOT NULL, index.reloptions
FROM pg_class AS tab JOIN pg_namespace ON pg_namespace.oid = tab.relnamespace
LEFT JOIN pg_class AS index ON index.relnamespace = tab.relnamespace AND index.relname = %s
WHERE tab.oid = to_regclass(quote_ident(%s))
"""


def hnsw_build(rows: float) -> HnswBuild:
    """Return what the graph over so many rows is built with.

    Examples
    --------
    >>> hnsw_build(1_000)
    HnswBuild(m=16, ef_construction=64)
    >>> hnsw_build(100_000)
    HnswBuild(m=24, ef_construction=128)
    """
    return HNSW_LARGE if rows >= HNSW_LARGE_FROM else HNSW


def build_vector_indexes(
    conn: psycopg.Connection[Any], *, m: int | None = None, ef_construction: int | None = None
) -> list[str]:
    """Build the HNSW index (cosine) of every partition that has rows and no index yet.

    Built once over rows that are there, such an index takes a fraction of the time that inserting
    them one by one into it would take, and finds no less. Vectors of more than 2,000 dimensions
    are indexed at half precision (`halfvec`), those of more than 4,000 not at all.

    A partition that has outgrown its small graph gets a large one. Searches go on meanwhile and
    look at all of its rows; writes to it wait. Where the small one is in use, by a transaction that
    goes on and on, it stays until the next time.

    Parameters
    ----------
    conn
        A connection whose role owns the tables; for another one, nothing is built.
    m, ef_construction
        Links a node (2 … 100), and candidates looked at while building (twice as many … 1000): by
        the number of rows where both are None (see `hnsw_build`). With either, the other one is
        pgvector's own, or more where it has to be, and indexes that are there stay as they are.

    Returns
    -------
    list of str
        The tables whose index was built now.

    Raises
    ------
    InputError
        If there is no such graph.
    """
    chosen = _chosen(m, ef_construction)
    with conn.transaction():
        dimension = stored_dimension(conn) or 0
        if dimension > HALF_PRECISION_LIMIT or not owns_tables(conn):
            return []
    return [table for table in TABLES if _build(conn, table, dimension, chosen)]


def _chosen(m: int | None, ef_construction: int | None) -> HnswBuild | None:
    if m is None and ef_construction is None:
        return None
    links = HNSW.m if m is None else m
    least = max(HNSW.ef_construction, 2 * links)
    graph = HnswBuild(links, least if ef_construction is None else ef_construction)
    if not (2 <= graph.m <= 100 and 2 * graph.m <= graph.ef_construction <= 1000):
        raise InputError(
            f"there is no graph of m {graph.m} and ef_construction {graph.ef_construction}",
            hint="m is 2 to 100, and ef_construction at least twice that and at most 1000.",
        )
    return graph


def _build(
    conn: psycopg.Connection[Any], table: str, dimension: int, chosen: HnswBuild | None
) -> bool:
    """Build the index of one table where it lacks one; return whether it did."""
    name = f"{table}_embedding_hnsw"
    # A transaction of the caller's keeps what it locks until it ends: it replaces nothing.
    is_alone = conn.info.transaction_status == TransactionStatus.IDLE
    with conn.transaction():
        # Without the lock: one who has written must not wait for one who waits for the writers.
        found = _look(conn, name, table)
        is_outgrown = (
            found.is_small and is_alone and chosen is None and _grown(conn, found.schema, table)
        )
    if found.is_there and not (is_outgrown and _drop_small(conn, name, table)):
        return False
    with conn.transaction():
        # Who builds an index waits for those who do so already, and then finds theirs.
        conn.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [name])
        found = _look(conn, name, table)
        rows = 0 if found.is_there else _count(conn, found.schema, table)
        if rows:
            graph = chosen or hnsw_build(rows)
            # A parallel build shares its memory through /dev/shm, which is small in containers.
            conn.execute("SET LOCAL maintenance_work_mem = '512MB'")
            conn.execute(
                sql.SQL(
                    "CREATE INDEX {} ON {} USING hnsw ({}) WITH (m = {}, ef_construction = {})"
                ).format(
                    sql.Identifier(name),
                    sql.Identifier(found.schema, table),
                    _indexed(dimension),
                    *graph,
                )
            )
    return rows > 0


class _Index(NamedTuple):
    schema: str
    is_there: bool
    is_small: bool


def _look(conn: psycopg.Connection[Any], name: str, table: str) -> _Index:
    # Without the table there is nothing to build, as if all were there.
    schema, is_there, options = conn.execute(_STATE, [name, table]).fetchone() or ("", True, None)
    # Such as ["m=16", "ef_construction=64"].
    given = dict(option.split("=", 1) for option in options or [])
    small = {key: str(value) for key, value in HNSW._asdict().items()}
    return _Index(schema, is_there, options is not None and {**small, **given} == small)


def _grown(conn: psycopg.Connection[Any], schema: str, table: str) -> bool:
    """Say whether a table has too many rows for the small graph, by counting them."""
    return hnsw_build(_count(conn, schema, table)) != HNSW


def _count(conn: psycopg.Connection[Any], schema: str, table: str) -> int:
    count = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(schema, table))
    row = conn.execute(count).fetchone()
    return int(row[0]) if row else 0


def _drop_small(conn: psycopg.Connection[Any], name: str, table: str) -> bool:
    """Drop an index that has the small graph; return false where somebody uses it."""
    try:
        with conn.transaction():
            conn.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [name])
            found = _look(conn, name, table)
            if found.is_small:
                conn.execute("SELECT set_config('lock_timeout', %s, true)", [PATIENCE])
                conn.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(found.schema, name)))
    except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected):
        return False
    return True


def _indexed(dimension: int) -> sql.Composable:
    """Return what the vector index is on; a search has to order by the same expression."""
    if dimension <= VECTOR_LIMIT:
        return sql.SQL("embedding vector_cosine_ops")
    return sql.SQL("(embedding::halfvec({})) halfvec_cosine_ops").format(sql.Literal(dimension))
