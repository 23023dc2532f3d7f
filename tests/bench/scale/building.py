"""Vector indexes, built as the library builds them, in memory enough for the whole graph.

What an index took is noted in the database, in the transaction that built it: a run that was broken
off does not build it once more.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

from course_lib.store.schema import table_for
from course_lib.store.vector_indexes import HNSW
from tests.bench.scale import corpus
from tests.bench.scale.cluster import GRAPH_BYTES_A_ROW, Cluster, bytes_of
from tests.bench.scale.loading import Progress
from tests.bench.scale.results import Figures

WORKERS = 2


@dataclass(frozen=True)
class Build:
    """An index, and what building it took; CPU seconds are those of all the server's processes."""

    rows: int
    bytes: int
    seconds: float
    cpu: float
    workers: int
    memory: int

    def to_dict(self) -> Figures:
        """Return it as JSON takes it."""
        return asdict(self)


def build_all(conn: psycopg.Connection[Any], cluster: Cluster, progress: Progress) -> list[Figures]:
    """Build the index of each partition that has none, and return what each took."""
    conn.execute("CREATE TABLE IF NOT EXISTS scale_builds (name text PRIMARY KEY, figures jsonb)")
    for partition in corpus.PARTITION_SHARES:
        table = table_for(partition)
        if not _is_there(conn, _index(table)):
            progress(f"building the index of {table}")
            with conn.transaction():
                build = build_index(conn, cluster, table)
                conn.execute(
                    "INSERT INTO scale_builds VALUES (%s, %s)",
                    [_index(table), Jsonb(build.to_dict())],
                )
    found = dict(conn.execute("SELECT name, figures FROM scale_builds").fetchall())
    return [found[_index(table_for(partition))] for partition in corpus.PARTITION_SHARES]


def drop_indexes(conn: psycopg.Connection[Any]) -> None:
    """Drop what an earlier size has built: rows are loaded faster without."""
    with conn.transaction():
        for partition in corpus.PARTITION_SHARES:
            name = sql.Identifier(_index(table_for(partition)))
            conn.execute(sql.SQL("DROP INDEX IF EXISTS {}").format(name))
        conn.execute("DROP TABLE IF EXISTS scale_builds")


def build_index(conn: psycopg.Connection[Any], cluster: Cluster, table: str) -> Build:
    """Build a table's HNSW index as the library does, with memory for the whole graph."""
    table_name = sql.Identifier(table)
    count = sql.SQL("SELECT count(*) FROM {}").format(table_name)
    rows = bytes_of(conn, count)
    memory = max(64 << 20, rows * GRAPH_BYTES_A_ROW)
    index = _index(table)
    alter = sql.SQL("ALTER TABLE {} SET (parallel_workers = {})")
    conn.execute(alter.format(table_name, sql.Literal(WORKERS)))
    wall, cpu = time.perf_counter(), cluster.cpu_seconds()
    with conn.transaction():
        conn.execute(f"SET LOCAL maintenance_work_mem = '{memory >> 10}kB'")
        conn.execute(f"SET LOCAL max_parallel_maintenance_workers = {WORKERS}")
        conn.execute(
            sql.SQL(
                "CREATE INDEX {} ON {} USING hnsw (embedding vector_cosine_ops) "
                "WITH (m = {}, ef_construction = {})"
            ).format(sql.Identifier(index), table_name, *HNSW)
        )
    return Build(
        rows, bytes_of(conn, "SELECT pg_relation_size(%s::regclass)", index),
        time.perf_counter() - wall, cluster.cpu_seconds() - cpu, WORKERS, memory,
    )  # fmt: skip


def _index(table: str) -> str:
    return f"{table}_embedding_hnsw"


def _is_there(conn: psycopg.Connection[Any], index: str) -> bool:
    row = conn.execute("SELECT to_regclass(%s) IS NOT NULL", [index]).fetchone()
    return bool(row and row[0])
