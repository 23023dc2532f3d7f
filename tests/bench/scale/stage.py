"""One size: a number of rows goes in, what the library does with them comes out as figures."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import psycopg

from course_lib.records import Scope, SearchResult
from course_lib.retriever import Query, search
from course_lib.store import build_vector_indexes, delete_documents, write_chunks
from tests.bench.scale import building, corpus, loading
from tests.bench.scale.cluster import Cluster, backend_cpu, bytes_of
from tests.bench.scale.corpus import Question
from tests.bench.scale.loading import Progress
from tests.bench.scale.results import Figures
from tests.bench.scale.truth import TOP, Identity, recall, truth

QUESTIONS, WARM_UP, PROBES = 100, 10, 40
EF_SEARCH = (40, 100, 200, 400)
FILTERS = {"PodDefault": "1 %", "Deployment": "10 %"}


def measure(
    conn: psycopg.Connection[Any], cluster: Cluster, rows: int, progress: Progress
) -> Figures:
    """Load so many rows, build the indexes, and measure; the vector indexes stay."""
    building.drop_indexes(conn)
    blocks = loading.load(conn, rows, progress)
    conn.execute("VACUUM ANALYZE document_chunks")
    figures: Figures = {"rows": rows, "load_before": os.getloadavg()[0]}
    figures["ingest"] = _ingest(blocks)
    figures["builds"] = building.build_all(conn, cluster, progress)
    is_whole = not build_vector_indexes(conn)
    assert is_whole, "the library would build other indexes"
    figures["bytes"] = sizes(conn)
    progress("comparing the questions with every row")
    asked = corpus.questions(QUESTIONS + WARM_UP)
    vectors = np.stack([question.vector for question in asked[WARM_UP:]])
    wanted = truth(vectors, rows, [None, *FILTERS])
    progress("searching")
    figures["search"] = searches(conn, asked, wanted)
    figures["resident_bytes"] = cluster.resident_bytes()
    progress("writing again")
    figures["again"] = _again(conn, min(rows, corpus.BLOCK))
    figures["probes"] = _probes(conn)
    figures["load_after"] = os.getloadavg()[0]
    return figures


def sizes(conn: psycopg.Connection[Any]) -> Figures:
    """Return the bytes on disk of the tables and of each sort of index."""
    tree = "FROM pg_partition_tree('document_chunks') AS part WHERE part.isleaf"
    indexes = (
        "SELECT sum(pg_relation_size(indexrelid)) FROM pg_index "
        "JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_am ON pg_am.oid = relam "
        "WHERE indrelid IN (SELECT relid " + tree + ") AND amname = %s"
    )
    return {
        "heap": bytes_of(conn, "SELECT sum(pg_relation_size(relid)) " + tree),
        "table": bytes_of(conn, "SELECT sum(pg_table_size(relid)) " + tree),
        **{sort: bytes_of(conn, indexes, sort) for sort in ("hnsw", "gin", "btree")},
    }


def searches(
    conn: psycopg.Connection[Any],
    asked: list[Question],
    wanted: dict[str | None, list[set[Identity]]],
) -> Figures:
    """Return times and recall of the searches; the first `WARM_UP` questions do not count."""

    def dense(**more: Any) -> Callable[[Question], list[SearchResult]]:
        return lambda one: search(conn, one.vector, Query(top_k=TOP, threshold=-1, **more))

    def hybrid(one: Question) -> list[SearchResult]:
        return search(conn, one.vector, Query(one.words, top_k=TOP, threshold=-1))

    found: Figures = {
        f"dense, ef_search {ef}": timed(conn, asked, dense(ef_search=ef), wanted[None])
        for ef in EF_SEARCH
    }
    found["dense"] = timed(conn, asked, dense(), wanted[None])
    for partition in ("documentation", "code_pipelines"):
        found[f"dense, only {partition}"] = timed(conn, asked, dense(partitions=partition), None)
    found["hybrid"] = timed(conn, asked, hybrid, None)
    for kind, share in FILTERS.items():
        found[f"dense, filter {share}"] = timed(conn, asked, dense(kind=kind), wanted[kind])
    few = slice(WARM_UP, WARM_UP + 5)
    found["dense, exact"] = timed(
        conn, asked[few], dense(exact=True), wanted[None][: len(asked[few])], warm_up=0
    )
    return found


def timed(
    conn: psycopg.Connection[Any],
    asked: list[Question],
    ask: Callable[[Question], list[SearchResult]],
    wanted: list[set[Identity]] | None,
    warm_up: int = WARM_UP,
) -> Figures:
    """Ask question after question; return milliseconds, the server's CPU among them, and recall."""
    for question in asked[:warm_up]:
        ask(question)
    seconds, results = [], []
    server, client = backend_cpu(conn), time.process_time()
    for question in asked[warm_up:]:
        begin = time.perf_counter()
        results.append(ask(question))
        seconds.append(time.perf_counter() - begin)
    count = len(seconds)
    figures: Figures = {
        "p50_ms": float(np.percentile(seconds, 50)) * 1000,
        "p95_ms": float(np.percentile(seconds, 95)) * 1000,
        "server_cpu_ms": (backend_cpu(conn) - server) / count * 1000,
        "client_cpu_ms": (time.process_time() - client) / count * 1000,
        "fewest_rows": min(map(len, results)),
    }
    if wanted is not None:
        found = [{(row.document_name, row.chunk_index) for row in rows} for rows in results]
        figures["recall"] = recall(found, wanted)
    return figures


def _ingest(blocks: list[loading.Loaded]) -> Figures:
    last = blocks[-5:]
    rows = sum(block.rows for block in last)
    return {
        "rows_per_second": rows / sum(block.seconds for block in last),
        "client_cpu_ms_per_row": 1000 * sum(block.client_cpu for block in last) / rows,
        "server_cpu_ms_per_row": 1000 * sum(block.server_cpu for block in last) / rows,
        "all_seconds": sum(block.seconds for block in blocks),
    }


def _again(conn: psycopg.Connection[Any], rows: int) -> Figures:
    """Write the first block once more, unchanged, with all the indexes there."""
    made = corpus.block(0, rows)
    wall, server = time.perf_counter(), backend_cpu(conn)
    report = loading.write(conn, made)
    return {
        "rows": len(made.chunks),
        "unchanged": report.unchanged,
        "seconds": time.perf_counter() - wall,
        "server_cpu": backend_cpu(conn) - server,
    }


def _probes(conn: psycopg.Connection[Any]) -> Figures:
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
        figures[what] = {
            "p50_ms": float(np.percentile(seconds, 50)) * 1000,
            "p95_ms": float(np.percentile(seconds, 95)) * 1000,
            "server_cpu_ms": (backend_cpu(conn) - server) / PROBES * 1000,
        }
    for at in range(PROBES):
        source = Scope(tenant=chunks[at].tenant_id, repo=chunks[at].repo_slug)
        delete_documents(conn, source, [chunks[at].source_path])
    return figures
