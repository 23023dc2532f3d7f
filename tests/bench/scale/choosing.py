"""What the library chooses for a partition's size, on real vectors: its graph, and its candidates.

Rows are written, indexed and searched through the library alone, beside the same rows under
pgvector's own graph and a walk with 100 candidates, whatever the size.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import psycopg
from psycopg import sql

from course_lib.records import Chunk
from course_lib.retriever import Query, search
from course_lib.store import (
    build_vector_indexes,
    connect,
    create_schema,
    drop_schema,
    fresh_database,
    write_chunks,
)
from course_lib.store.vector_indexes import HNSW
from tests.bench.scale import corpus, outside
from tests.bench.scale.building import PGVECTORS_OWN
from tests.bench.scale.cluster import backend_cpu
from tests.bench.scale.loading import Progress
from tests.bench.scale.results import Figures

SIZES = (2_000, 5_000, 20_000)
QUESTIONS, TOP_K, FIXED = 120, 10, 100
RARE, EVERY = "rare", 100
"""One row in so many has a kind of its own, to be filtered by."""


def measure(progress: Progress) -> Figures:
    """Return what is found at each size and at that of all vectors, and what it costs."""
    rows, asked, is_real = like_real()
    found: list[Figures] = []
    with fresh_database("choosing") as database, connect(database.url, autocommit=True) as conn:
        for count in (*SIZES, len(rows)):
            progress(f"writing {count:,} rows")
            drop_schema(conn)
            create_schema(conn, rows.shape[1])
            write_chunks(conn, [plain_chunk(at) for at in range(count)], rows[:count])
            for is_chosen in (False, True):
                progress(f"an index over {count:,} rows, {'chosen' if is_chosen else 'fixed'}")
                found.append(_measure(conn, rows[:count], asked, is_chosen=is_chosen))
    return {"real": is_real, "found": found}


def like_real(most: int | None = None) -> tuple[corpus.Vectors, corpus.Vectors, bool]:
    """Return vectors of pieces in no order, vectors of questions, and whether they are real.

    Real ones are those that another bench has left on this machine, `most` of them at most; without
    them they are made.
    """
    vectors = outside.real_vectors()
    is_real = vectors is not None and len(vectors) > max(SIZES)
    if vectors is not None and is_real:
        rows, asked = outside.real_questions(vectors, QUESTIONS)
    else:
        rows = np.concatenate([corpus.vectors(number) for number in range(10)])
        asked = np.stack([one.vector for one in corpus.questions(QUESTIONS)])
    return np.random.default_rng(1).permutation(rows)[:most], asked, is_real


def _measure(
    conn: psycopg.Connection[Any], rows: corpus.Vectors, asked: corpus.Vectors, *, is_chosen: bool
) -> Figures:
    index = sql.Identifier("document_chunks_documentation_embedding_hnsw")
    conn.execute(sql.SQL("DROP INDEX IF EXISTS {}").format(index))
    begin = time.perf_counter()
    build_vector_indexes(conn, HNSW if is_chosen else PGVECTORS_OWN)
    seconds = time.perf_counter() - begin
    conn.execute("VACUUM ANALYZE document_chunks")
    ef_search = None if is_chosen else FIXED
    figures: Figures = {"rows": len(rows), "chosen": is_chosen, "build_seconds": seconds}
    for name, kind, at in (
        ("all", None, np.arange(len(rows))),
        ("rare", RARE, np.arange(0, len(rows), EVERY)),
    ):
        best = [set(at[np.argsort(-(rows[at] @ one))[:TOP_K]].tolist()) for one in asked]
        for _ in ("warm-up", "measured"):
            hits, least, times, cpu = 0, TOP_K, [], backend_cpu(conn)
            for one, wanted in zip(asked, best, strict=True):
                begin = time.perf_counter()
                came = search(
                    conn,
                    one,
                    Query(top_k=TOP_K, threshold=-1, kind=kind, ef_search=ef_search),
                )
                times.append(time.perf_counter() - begin)
                hits += len({result.chunk_index for result in came} & wanted)
                least = min(least, len(came))
            cpu = backend_cpu(conn) - cpu
        p50, p95 = (float(np.percentile(times, share)) for share in (50, 95))
        figures[name] = {
            "recall": hits / TOP_K / len(asked), "fewest": least, "cpu": cpu / len(asked),
            "p50": p50, "p95": p95,
        }  # fmt: skip
    return figures


def plain_chunk(at: int) -> Chunk:
    """Return a piece that differs in its number alone; one in a hundred is of a rare kind."""
    return Chunk(
        tenant_id="local",
        repo_slug="scale",
        root_kind="external-source",
        source_path="all.md",
        content=f"piece {at}",
        hash_inputs=["content"],
        parser_id="scale",
        parser_version="1.0.0",
        kind="common" if at % EVERY else RARE,
        name=f"Piece {at}",
        custom_meta={"chunkIndex": at},
    )
