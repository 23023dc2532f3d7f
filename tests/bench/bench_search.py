"""Search against the same query in plain prepared SQL, and its recall against an exact scan."""

from __future__ import annotations

import time

import numpy as np
from pgvector import Vector

from course_lib.retriever import search
from course_lib.store import (
    build_vector_indexes,
    connect,
    create_schema,
    fresh_database,
    write_chunks,
)
from tests.bench.measure import Row
from tests.bench.rows import make_chunks
from tests.bench.vectors import clustered_vectors

ROWS, QUERIES = 20_000, 200


def measure(rows: int = ROWS, queries: int = QUERIES) -> list[Row]:
    """Time single queries in turn; compare the 95th percentiles."""
    everything = clustered_vectors(rows + queries)
    vectors, questions = everything[:rows], everything[rows:]
    with fresh_database("bench") as database, connect(database.url, autocommit=True) as conn:
        create_schema(conn)
        write_chunks(conn, make_chunks(rows), vectors)
        build_vector_indexes(conn)
        conn.execute("ANALYZE document_chunks")
        conn.execute("SET hnsw.ef_search = 100")
        raw = (
            "SELECT id, document_name, content, 1 - (embedding <=> %(q)s) FROM document_chunks "
            "ORDER BY embedding <=> %(q)s LIMIT 10"
        )
        ours, theirs, found, found_filtered = [], [], 0, 0
        full = True
        for turn, question in enumerate([*questions[:20], *questions]):
            begin = time.perf_counter()
            results = search(conn, question, top_k=10, threshold=-1)
            middle = time.perf_counter()
            conn.execute(raw, {"q": Vector(question)}, prepare=True, binary=True).fetchall()
            end = time.perf_counter()
            if turn < 20:
                continue
            ours.append(middle - begin)
            theirs.append(end - middle)
            exact = search(conn, question, top_k=10, threshold=-1, exact=True)
            found += len({r.chunk_id for r in results} & {r.chunk_id for r in exact})
            rare = search(conn, question, top_k=10, threshold=-1, kind="rare")
            exact_rare = search(conn, question, top_k=10, threshold=-1, kind="rare", exact=True)
            found_filtered += len({r.chunk_id for r in rare} & {r.chunk_id for r in exact_rare})
            full = full and len(rare) == 10
    p95 = [float(np.percentile(times, 95)) * 1000 for times in (ours, theirs)]
    p50 = [float(np.percentile(times, 50)) * 1000 for times in (ours, theirs)]
    note = "p50 {:.2f} against {:.2f} ms".format(*p50)
    return [
        Row("search", f"p95 of a search in {rows} rows, top 10", "prepared SQL, same settings",
            p95[0], p95[1], "ms", p95[1] / p95[0], 1 / 1.5, note),
        Row("search", "recall@10, HNSW", "exact scan", found / queries / 10, 1.0, "share",
            found / queries / 10, 0.95),
        Row("search", "recall@10 behind a filter that keeps 0.1 %", "exact scan",
            found_filtered / queries / 10, 1.0, "share", found_filtered / queries / 10, 0.95,
            "always 10 rows" if full else "NOT always 10 rows"),
    ]  # fmt: skip
