"""One size: a number of rows goes in, what the library does with them comes out as figures."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, LiteralString

import numpy as np
import psutil
import psycopg
from psycopg import sql

from course_lib.records import Scope, SearchResult
from course_lib.retriever import Query, search
from course_lib.store import (
    WriteReport,
    build_vector_indexes,
    create_schema,
    delete_documents,
    write_chunks,
)
from course_lib.store.schema import table_for
from course_lib.store.vector_indexes import HNSW
from tests.bench.measure import load
from tests.bench.scale import corpus
from tests.bench.scale.cluster import GRAPH_BYTES_A_ROW, Cluster
from tests.bench.scale.corpus import Question
from tests.bench.scale.results import Figures

Conn = psycopg.Connection[Any]
QUESTIONS, WARM_UP, PROBES, TOP = 100, 10, 40, 10
EF_SEARCH = (40, 100, 200, 400)
FILTERS = {"PodDefault": "1 %", "Deployment": "10 %"}
WORKERS = 2
"""Beside the process that builds an index."""


def measure(conn: Conn, cluster: Cluster, there: int, rows: int) -> Figures:
    """Load rows until there are so many, build the indexes, and measure; the indexes stay."""
    for partition in corpus.PARTITION_SHARES:  # rows are loaded faster without
        conn.execute(sql.SQL("DROP INDEX IF EXISTS {}").format(_index(table_for(partition))))
    figures: Figures = {"rows": rows, "load_before": load(), "ingest": ingest(conn, there, rows)}
    conn.execute("VACUUM ANALYZE document_chunks")
    figures["builds"] = [
        build_index(conn, cluster, table_for(partition)) for partition in corpus.PARTITION_SHARES
    ]
    is_whole = not build_vector_indexes(conn)
    assert is_whole, "the library would build other indexes"
    figures["bytes"] = sizes(conn)
    figures["search"] = searches(conn, corpus.questions(QUESTIONS + WARM_UP))
    figures["resident_bytes"] = cluster.resident_bytes()
    figures["again"] = _again(conn, min(rows, corpus.BLOCK))
    figures["probes"] = _probes(conn)
    figures["load_after"] = load()
    return figures


def ingest(conn: Conn, there: int, rows: int) -> Figures:
    """Write the corpus's blocks; return what the last ones took, making them not counted."""
    create_schema(conn, corpus.DIMENSION)
    blocks = []
    for number in range(there // corpus.BLOCK, (rows - 1) // corpus.BLOCK + 1):
        made = corpus.block(number, min(corpus.BLOCK, rows - number * corpus.BLOCK))
        wall, client, server = time.perf_counter(), time.process_time(), backend_cpu(conn)
        write(conn, made)
        spent = time.process_time() - client, backend_cpu(conn) - server
        blocks.append((len(made.chunks), time.perf_counter() - wall, *spent))
    count, seconds, client, server = map(sum, zip(*blocks[-5:], strict=True))
    return {
        "rows_per_second": count / seconds,
        "client_cpu_ms_per_row": 1000 * client / count,
        "server_cpu_ms_per_row": 1000 * server / count,
    }


def write(conn: Conn, made: corpus.Block) -> WriteReport:
    """Write a block's rows, each partition's in one call."""
    report = WriteReport()
    partitions = np.array(made.partitions)
    for partition in corpus.PARTITION_SHARES:
        at = np.flatnonzero(partitions == partition)
        chunks = [made.chunks[row] for row in at]
        report += write_chunks(conn, chunks, made.vectors[at], partition=partition)
    return report


def build_index(conn: Conn, cluster: Cluster, table: str) -> Figures:
    """Build a table's HNSW index as the library does, with memory for the whole graph.

    CPU seconds are those of all the server's processes.
    """
    name = sql.Identifier(table)
    rows = number(conn, sql.SQL("SELECT count(*) FROM {}").format(name))
    memory = max(64 << 20, rows * GRAPH_BYTES_A_ROW)
    conn.execute(sql.SQL("ALTER TABLE {} SET (parallel_workers = {})").format(name, WORKERS))
    wall, cpu = time.perf_counter(), cluster.cpu_seconds()
    with conn.transaction():
        conn.execute(f"SET LOCAL maintenance_work_mem = '{memory >> 10}kB'")
        conn.execute(f"SET LOCAL max_parallel_maintenance_workers = {WORKERS}")
        conn.execute(
            sql.SQL(
                "CREATE INDEX {} ON {} USING hnsw (embedding vector_cosine_ops) "
                "WITH (m = {}, ef_construction = {})"
            ).format(_index(table), name, *HNSW)
        )
    return {
        "rows": rows,
        "seconds": time.perf_counter() - wall,
        "cpu": cluster.cpu_seconds() - cpu,
    }


def _index(table: str) -> sql.Identifier:
    return sql.Identifier(f"{table}_embedding_hnsw")


def sizes(conn: Conn) -> Figures:
    """Return the bytes on disk of the tables and of each sort of index."""
    tree = "FROM pg_partition_tree('document_chunks') AS part WHERE part.isleaf"
    indexes = (
        "SELECT sum(pg_relation_size(indexrelid)) FROM pg_index "
        "JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_am ON pg_am.oid = relam "
        "WHERE indrelid IN (SELECT relid " + tree + ") AND amname = %s"
    )
    return {
        "table": number(conn, "SELECT sum(pg_table_size(relid)) " + tree),
        **{sort: number(conn, indexes, sort) for sort in ("hnsw", "gin", "btree")},
    }


def searches(conn: Conn, asked: list[Question]) -> Figures:
    """Return times and recall of the searches; the first `WARM_UP` questions do not count."""

    def dense(**more: Any) -> Callable[[Question], list[SearchResult]]:
        return lambda one: search(conn, one.vector, Query(top_k=TOP, threshold=-1, **more))

    def hybrid(one: Question) -> list[SearchResult]:
        return search(conn, one.vector, Query(one.words, top_k=TOP, threshold=-1))

    def exact(**more: Any) -> tuple[Figures, list[set[str]]]:
        return timed(conn, asked, dense(exact=True, **more))

    found: Figures = {}
    found["dense, exact"], wanted = exact()
    for ef in EF_SEARCH:
        found[f"dense, ef_search {ef}"], _ = timed(conn, asked, dense(ef_search=ef), wanted)
    found["dense"], _ = timed(conn, asked, dense(), wanted)
    for partition in ("documentation", "code_pipelines"):
        found[f"dense, only {partition}"], _ = timed(conn, asked, dense(partitions=partition))
    found["hybrid"], _ = timed(conn, asked, hybrid)
    for kind, share in FILTERS.items():
        _, nearest = exact(kind=kind)
        found[f"dense, filter {share}"], _ = timed(conn, asked, dense(kind=kind), nearest)
    return found


def timed(
    conn: Conn,
    asked: list[Question],
    ask: Callable[[Question], list[SearchResult]],
    wanted: list[set[str]] | None = None,
) -> tuple[Figures, list[set[str]]]:
    """Ask question after question.

    Returns
    -------
    tuple
        Milliseconds, the server's CPU among them, with the recall where it is known what is
        wanted; and the ids that each question found.
    """
    for question in asked[:WARM_UP]:
        ask(question)
    seconds, found = [], []
    server = backend_cpu(conn)
    for question in asked[WARM_UP:]:
        begin = time.perf_counter()
        results = ask(question)
        seconds.append(time.perf_counter() - begin)
        found.append({one.chunk_id for one in results})
    figures = _milliseconds(seconds, backend_cpu(conn) - server)
    if wanted is not None:
        hits = sum(len(one & best) for one, best in zip(found, wanted, strict=True))
        figures["recall"] = hits / sum(map(len, wanted))
    return figures, found


def _again(conn: Conn, rows: int) -> Figures:
    """Write the first block once more, unchanged, with all the indexes there."""
    made = corpus.block(0, rows)
    server = backend_cpu(conn)
    report = write(conn, made)
    assert report.unchanged == rows
    return {"rows": rows, "server_cpu": backend_cpu(conn) - server}


def _probes(conn: Conn) -> Figures:
    """Write documents of one piece, one by one, change them, and take them out again."""
    made = corpus.block(0)
    chunks = [
        chunk.model_copy(update={"source_path": f"probe/{at}.md", "custom_meta": {}})
        for at, chunk in enumerate(made.chunks[: 2 * PROBES])
    ]
    figures: Figures = {}
    for what, shift in (("insert", 0), ("update", PROBES)):
        seconds, server = [], backend_cpu(conn)
        for at in range(PROBES):
            content = chunks[at + shift].content
            chunk = chunks[at].model_copy(update={"content": content})
            begin = time.perf_counter()
            write_chunks(conn, [chunk], made.vectors[at + shift][None])
            seconds.append(time.perf_counter() - begin)
        figures[what] = _milliseconds(seconds, backend_cpu(conn) - server)
    for at in range(PROBES):
        source = Scope(tenant=chunks[at].tenant_id, repo=chunks[at].repo_slug)
        delete_documents(conn, source, [chunks[at].source_path])
    return figures


def _milliseconds(seconds: list[float], server: float) -> Figures:
    return {
        "p50_ms": float(np.percentile(seconds, 50)) * 1000,
        "p95_ms": float(np.percentile(seconds, 95)) * 1000,
        "server_cpu_ms": server / len(seconds) * 1000,
    }


def backend_cpu(conn: Conn) -> float:
    """Return the CPU seconds that the server's process of a connection has used."""
    spent = psutil.Process(conn.info.backend_pid).cpu_times()
    return float(spent.user + spent.system)


def number(conn: Conn, query: LiteralString | sql.Composed, *values: object) -> int:
    """Return the one number that a query gives, 0 for none."""
    row = conn.execute(query, values).fetchone()
    return int(row[0] or 0) if row else 0
