"""The vector indexes: rows go in, an HNSW graph over each partition comes out that fits its size.

The more rows a graph has, the more of their true neighbours a walk through it misses: a graph of
more links, and a walk that keeps more candidates at hand, make up for that. Both are chosen here by
the number of rows.
"""

from __future__ import annotations

from typing import Any, LiteralString, NamedTuple

import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus

from course_lib.store.schema import (
    HNSW_LIMIT,
    TABLES,
    VECTOR_LIMIT,
    owns_tables,
    stored_dimension,
)


class Graph(NamedTuple):
    """What an HNSW graph is built with: links a node, and candidates looked at for each."""

    m: int
    ef_construction: int


SMALL = Graph(16, 64)
"""pgvector's own."""

LARGE = Graph(24, 128)
"""Takes 2.2 times as long to build, and on disk no more room."""

LARGE_FROM = 5_000
"""So many rows are worth the larger graph.

Of the ten nearest, a walk with 100 candidates finds through the small one 0.97 among 2,000 rows,
0.91 among 20,000 and 0.81 among 86,000 (real pieces and questions, all-MiniLM-L6-v2); through the
large one, with the candidates that `search` chooses, 0.97 and more. `tests/bench/README.md` has the
figures.
"""

PATIENCE = "2s"
"""How long an old index waits for those who use it, before it stays until the next time."""

_STATE: LiteralString = """
SELECT tab.reltuples, index.oid IS NOT NULL, index.reloptions, next.oid IS NOT NULL
FROM pg_class AS tab
LEFT JOIN pg_class AS index ON index.relnamespace = tab.relnamespace AND index.relname = %s
LEFT JOIN pg_class AS next ON next.relnamespace = tab.relnamespace AND next.relname = %s
WHERE tab.oid = to_regclass(quote_ident(%s))
"""


def graph_for(rows: float) -> Graph:
    """Return the graph that is built over so many rows.

    Examples
    --------
    >>> graph_for(1_000), graph_for(100_000)
    (Graph(m=16, ef_construction=64), Graph(m=24, ef_construction=128))
    """
    return LARGE if rows >= LARGE_FROM else SMALL


def build_vector_indexes(
    conn: psycopg.Connection[Any], *, m: int | None = None, ef_construction: int | None = None
) -> list[str]:
    """Build the HNSW index (cosine) of every partition that has rows and no index yet.

    Built once over rows that are there, such an index takes a fraction of the time that inserting
    them one by one into it would take, and finds no less. Vectors of more than 2,000 dimensions
    are indexed at half precision (`halfvec`), those of more than 4,000 not at all.

    A partition that has outgrown its small graph gets a large one. Searches go on meanwhile, writes
    to that partition wait.

    Parameters
    ----------
    conn
        A connection whose role owns the tables; for another one, nothing is built.
    m, ef_construction
        Links a node, and candidates looked at while building: by the number of rows where they are
        None (see `graph_for`). With either, indexes that are there stay as they are.

    Returns
    -------
    list of str
        The tables whose index was built now.
    """
    with conn.transaction():
        dimension = stored_dimension(conn) or 0
        if dimension > HNSW_LIMIT or not owns_tables(conn):
            return []
    chosen = None
    if m is not None or ef_construction is not None:
        chosen = Graph(m or SMALL.m, ef_construction or SMALL.ef_construction)
    return [table for table in TABLES if _build(conn, table, dimension, chosen)]


def _build(conn: psycopg.Connection[Any], table: str, dimension: int, chosen: Graph | None) -> bool:
    """Build the index of one table where it lacks one; return whether it did."""
    name = f"{table}_embedding_hnsw"
    successor = f"{name}_next"
    is_alone = conn.info.transaction_status == TransactionStatus.IDLE
    with conn.transaction():
        # Who builds an index waits for those who do so already, and then finds theirs.
        conn.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [name])
        row = conn.execute(_STATE, [name, successor, table]).fetchone()
        if row is None:
            return False
        about, is_there, options, has_successor = row
        built = False
        if not (is_there or has_successor):
            count = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))
            rows = (conn.execute(count).fetchone() or (0,))[0]
            if rows:
                _create(conn, name, table, dimension, chosen or graph_for(rows))
            return bool(rows)
        is_outgrown = chosen is None and _is_small(options) and graph_for(about) != SMALL
        if is_outgrown and is_alone and not has_successor:
            _create(conn, successor, table, dimension, graph_for(about))
            has_successor = built = True
    if has_successor and is_alone:
        _succeed(conn, name, successor, table)
    return built


def _create(
    conn: psycopg.Connection[Any], name: str, table: str, dimension: int, graph: Graph
) -> None:
    # A parallel build shares its memory through /dev/shm, which is small in containers.
    conn.execute("SET LOCAL maintenance_work_mem = '512MB'")
    conn.execute(
        sql.SQL("CREATE INDEX {} ON {} USING hnsw ({}) WITH (m = {}, ef_construction = {})").format(
            sql.Identifier(name), sql.Identifier(table), _indexed(dimension), *graph
        )
    )


def _succeed(conn: psycopg.Connection[Any], name: str, successor: str, table: str) -> None:
    """Drop an index and give its name to its successor; where it is in use, do so next time."""
    try:
        with conn.transaction():
            conn.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [name])
            row = conn.execute(_STATE, [name, successor, table]).fetchone()
            if row is None or not row[3]:
                return
            # Searches wait behind us as long as we wait for one that goes on.
            conn.execute("SELECT set_config('lock_timeout', %s, true)", [PATIENCE])
            conn.execute(sql.SQL("DROP INDEX IF EXISTS {}").format(sql.Identifier(name)))
            conn.execute(
                sql.SQL("ALTER INDEX {} RENAME TO {}").format(
                    sql.Identifier(successor), sql.Identifier(name)
                )
            )
    except psycopg.errors.LockNotAvailable:
        return


def _is_small(options: list[str] | None) -> bool:
    """Say whether an index has the small graph, by its options: ``["m=16", …]``."""
    given = dict(option.split("=", 1) for option in options or [])
    links = int(given.get("m", SMALL.m))
    return Graph(links, int(given.get("ef_construction", SMALL.ef_construction))) == SMALL


def _indexed(dimension: int) -> sql.Composable:
    """Return what the vector index is on; a search has to order by the same expression."""
    if dimension <= VECTOR_LIMIT:
        return sql.SQL("embedding vector_cosine_ops")
    return sql.SQL("(embedding::halfvec({})) halfvec_cosine_ops").format(sql.Literal(dimension))
