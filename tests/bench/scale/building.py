"""Vector indexes, built as the library builds them, in memory enough for the whole graph."""

from __future__ import annotations

import time
from typing import Any

import psycopg
from psycopg import sql

from course_lib.store.schema import table_for
from course_lib.store.vector_indexes import HNSW
from tests.bench.scale import corpus
from tests.bench.scale.cluster import GRAPH_BYTES_A_ROW, Cluster, bytes_of
from tests.bench.scale.loading import Progress
from tests.bench.scale.results import Figures

WORKERS = 2


def drop_indexes(conn: psycopg.Connection[Any]) -> None:
    """Drop what an earlier size has built: rows are loaded faster without."""
    for partition in corpus.PARTITION_SHARES:
        name = sql.Identifier(_index(table_for(partition)))
        conn.execute(sql.SQL("DROP INDEX IF EXISTS {}").format(name))


def build_all(conn: psycopg.Connection[Any], cluster: Cluster, progress: Progress) -> list[Figures]:
    """Build the index of each partition, and return what each took."""
    builds = []
    for partition in corpus.PARTITION_SHARES:
        table = table_for(partition)
        progress(f"building the index of {table}")
        builds.append(build_index(conn, cluster, table))
    return builds


def build_index(conn: psycopg.Connection[Any], cluster: Cluster, table: str) -> Figures:
    """Build a table's HNSW index as the library does, with memory for the whole graph.

    CPU seconds are those of all the server's processes.
    """
    table_name = sql.Identifier(table)
    rows = bytes_of(conn, sql.SQL("SELECT count(*) FROM {}").format(table_name))
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
    return {
        "rows": rows,
        "bytes": bytes_of(conn, "SELECT pg_relation_size(%s::regclass)", index),
        "seconds": time.perf_counter() - wall,
        "cpu": cluster.cpu_seconds() - cpu,
        "workers": WORKERS,
        "memory": memory,
    }


def _index(table: str) -> str:
    return f"{table}_embedding_hnsw"
