"""Search against the same query in plain prepared SQL, and its recall against an exact scan."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, LiteralString

import numpy as np
import psycopg
from pgvector import Vector

from course_lib.records import Chunk
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
from tests.bench.vectors import Vectors, clustered_vectors

ROWS, QUERIES, WARM_UP = 20_000, 200, 20
VOCABULARY, WORDS_A_CHUNK, WORDS_A_QUESTION = 20_000, 60, 6

_DENSE: LiteralString = (
    "SELECT id, document_name, content, 1 - (embedding <=> %(q)s) FROM document_chunks "
    "ORDER BY embedding <=> %(q)s LIMIT 10"
)
# What one would write first: any of the words, ranked by PostgreSQL's own function.
_HYBRID: LiteralString = """
WITH near AS MATERIALIZED (
    SELECT document_name, chunk_index, content, embedding <=> %(q)s AS distance
    FROM document_chunks ORDER BY embedding <=> %(q)s LIMIT 100
), words AS MATERIALIZED (
    SELECT document_name, chunk_index, content, embedding <=> %(q)s AS distance,
           ts_rank(search_text, %(words)s::tsquery) AS rank
    FROM document_chunks WHERE search_text @@ %(words)s::tsquery
    ORDER BY rank DESC, document_name, chunk_index LIMIT 100
), by_meaning AS (SELECT *, row_number() OVER (ORDER BY distance) AS place FROM near),
by_words AS (SELECT *, row_number() OVER (ORDER BY rank DESC, document_name, chunk_index) AS place
             FROM words)
SELECT document_name, chunk_index, coalesce(by_meaning.content, by_words.content),
       1 - coalesce(by_meaning.distance, by_words.distance),
       coalesce(1.0 / (60 + by_meaning.place), 0) + coalesce(1.0 / (60 + by_words.place), 0) AS s
FROM by_meaning FULL JOIN by_words USING (document_name, chunk_index)
ORDER BY s DESC, document_name, chunk_index LIMIT 10
"""


def measure(rows: int = ROWS, queries: int = QUERIES) -> list[Row]:
    """Time single queries in turn; compare the 95th percentiles."""
    everything = clustered_vectors(rows + queries + WARM_UP)
    vectors, questions = everything[:rows], everything[rows:]
    chunks, asked = _with_words(make_chunks(rows), len(questions))
    with fresh_database("bench") as database, connect(database.url, autocommit=True) as conn:
        create_schema(conn)
        write_chunks(conn, chunks, vectors)
        build_vector_indexes(conn)
        conn.execute("VACUUM ANALYZE document_chunks")
        conn.execute("SET hnsw.ef_search = 100")

        def dense(at: int) -> object:
            return search(conn, questions[at], top_k=10, threshold=-1)

        def plain_dense(at: int) -> object:
            return _plain(conn, _DENSE, {"q": Vector(questions[at])})

        def hybrid(at: int) -> object:
            return search(conn, questions[at], top_k=10, threshold=-1, question=asked[at])

        def plain_hybrid(at: int) -> object:
            words = " | ".join(asked[at].split())
            return _plain(conn, _HYBRID, {"q": Vector(questions[at]), "words": words})

        timed = [
            Row("search", f"p95 of a search in {rows} rows, top 10", "prepared SQL, same settings",
                *_compare(dense, plain_dense, queries, goal=1 / 1.5)),
            Row("search", f"p95 of a hybrid search in {rows} rows, top 10",
                "prepared SQL with ts_rank, fused the same way",
                *_compare(hybrid, plain_hybrid, queries, goal=1.0)),
        ]  # fmt: skip
        return timed + _recall(conn, questions[:queries])


def _compare(
    ours: Callable[[int], object], theirs: Callable[[int], object], queries: int, goal: float
) -> tuple[float, float, str, float, float, str]:
    """Return the rest of a row: both 95th percentiles in ms, and their ratio."""
    times: list[tuple[float, float]] = []
    for at in range(queries + WARM_UP):
        begin = time.perf_counter()
        ours(at)
        middle = time.perf_counter()
        theirs(at)
        times.append((middle - begin, time.perf_counter() - middle))
    measured = np.array(times[WARM_UP:]) * 1000
    p95, p50 = np.percentile(measured, 95, axis=0), np.percentile(measured, 50, axis=0)
    note = f"p50 {p50[0]:.2f} against {p50[1]:.2f} ms"
    return float(p95[0]), float(p95[1]), "ms", float(p95[1] / p95[0]), goal, note


def _plain(conn: psycopg.Connection, query: LiteralString, values: dict[str, Any]) -> list[Any]:
    return conn.execute(query, values, prepare=True, binary=True).fetchall()


def _recall(conn: psycopg.Connection, questions: Vectors) -> list[Row]:
    found = found_filtered = 0
    full = True
    for question in questions:
        results = search(conn, question, top_k=10, threshold=-1)
        exact = search(conn, question, top_k=10, threshold=-1, exact=True)
        found += len({r.chunk_id for r in results} & {r.chunk_id for r in exact})
        rare = search(conn, question, top_k=10, threshold=-1, kind="rare")
        exact_rare = search(conn, question, top_k=10, threshold=-1, kind="rare", exact=True)
        found_filtered += len({r.chunk_id for r in rare} & {r.chunk_id for r in exact_rare})
        full = full and len(rare) == 10
    most = len(questions) * 10
    return [
        Row("search", "recall@10, HNSW", "exact scan", found / most, 1.0, "share",
            found / most, 0.95),
        Row("search", "recall@10 behind a filter that keeps 0.1 %", "exact scan",
            found_filtered / most, 1.0, "share", found_filtered / most, 0.95,
            "always 10 rows" if full else "NOT always 10 rows"),
    ]  # fmt: skip


def _with_words(chunks: list[Chunk], questions: int) -> tuple[list[Chunk], list[str]]:
    """Give chunks and questions words that are as unequally frequent as in real text (Zipf)."""
    random = np.random.default_rng(1)
    syllables = [a + b for a in "bdfgklmnprtvz" for b in "aiou"]
    words = [
        "".join(
            syllables[number // len(syllables) ** power % len(syllables)] for power in (2, 1, 0)
        )
        for number in random.permutation(len(syllables) ** 3)[:VOCABULARY]
    ]
    share = 1 / np.arange(1, VOCABULARY + 1)
    share /= share.sum()

    def text(count: int) -> str:
        return " ".join(words[at] for at in random.choice(VOCABULARY, size=count, p=share))

    return (
        [chunk.model_copy(update={"content": text(WORDS_A_CHUNK)}) for chunk in chunks],
        [text(WORDS_A_QUESTION) for _ in range(questions)],
    )
