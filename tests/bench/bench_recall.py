"""Search among vectors like real ones, with everybody at the recall that the library reaches.

The bench of search gives all the same graph and as many candidates. Here each is as it would be
used: the library chooses both by the number of rows; a store has the graph that its manual makes,
and as many candidates as it needs to find as much, up to the most that pgvector takes. The vectors
are real ones where another bench has left some on this machine, and made ones otherwise. The goals
are those of real vectors: among made ones, what a graph finds differs much from one to the next.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import psycopg

from course_lib.records import Chunk
from course_lib.retriever import Query, search
from course_lib.settings import state_dir
from course_lib.store import (
    build_vector_indexes,
    connect,
    create_schema,
    fresh_database,
    write_chunks,
)
from tests.bench.bench_search import PEERS, TOP_K, Contestant, asking, compare
from tests.bench.measure import Row
from tests.bench.scale import corpus as made_corpus
from tests.bench.scale.corpus import Question, Vectors
from tests.bench.search_peers import Store

MOST_ROWS = 100_000
FEWEST_REAL = 20_000
QUESTIONS = 120
ASKED = Path(__file__).parent / "questions" / "kubeflow.jsonl"
SAME = 0.9999
FEWEST, MOST, STEP = 40, 1_000, 20
"""Candidates that a store may get, from pgvector's default to its limit, and how near is near."""
AS_MUCH = 0.005
"""So much less than the library's recall is as much."""
RECALL_GOAL, PEER_GOAL = 0.95, 1.0
TEN = Query(top_k=TOP_K, threshold=-1)


def measure() -> list[Row]:
    """Return the library's recall, and its time against that of each store."""
    rows, asked, is_real = like_real()
    count = len(asked)
    what = f"{len(rows):,} {'real' if is_real else 'made'} vectors"
    questions = [Question(vector, "") for vector in asked]
    with (
        fresh_database("bench") as database,
        connect(database.url, autocommit=True) as conn,
        ExitStack() as stack,
    ):
        create_schema(conn, rows.shape[1])
        write_chunks(conn, [plain_chunk(at) for at in range(len(rows))], rows)
        conn.execute("ALTER ROLE CURRENT_USER SET maintenance_work_mem = '512MB'")
        build_vector_indexes(conn)
        conn.execute("VACUUM ANALYZE document_chunks")
        exact = _exact(conn, rows, asked)
        ours = [search(conn, vector, TEN) for vector in asked]
        recall = _recall([{one.chunk_id for one in found} for found in ours], exact)
        if any(len(found) < TOP_K for found in ours):
            raise AssertionError(f"a search among {what} did not come back with {TOP_K} rows")
        goal = RECALL_GOAL if is_real else None
        title = f"recall@{TOP_K} among {what}"
        made = [Row("recall", title, "exact scan", recall, 1.0, "share", recall, goal)]
        contestants: dict[str, Contestant] = {"ours": _ours(conn, asked)}
        notes = {}
        for name in PEERS:
            with connect(database.url, autocommit=True) as own:
                store = stack.enter_context(Store(name, database.url, rows.shape[1]))
                store.fill(own)
            store.learn(questions)
            candidates, found = _as_wide_as_needed(store, exact, recall - AS_MUCH)
            contestants[store.name] = asking(store, hybrid=False)
            notes[store.name] = f"recall {recall:.3f} against {found:.3f}, ef_search {candidates}"
        goals = dict.fromkeys(notes, PEER_GOAL) if is_real else {}
        title = f"p95, dense, top {TOP_K} of {what}, theirs at our recall or their best"
        return made + compare(title, contestants, count, goals, notes, part="recall")


def like_real() -> tuple[Vectors, Vectors, bool]:
    """Return vectors of pieces in no order, vectors of questions, and whether they are real.

    Real ones are those that the bench of quality has left on this machine; without them they are
    made.
    """
    vectors = real_vectors()
    if vectors is not None and len(vectors) > FEWEST_REAL:
        rows, asked = real_questions(vectors)
    else:
        vectors = None
        rows = np.concatenate([made_corpus.vectors(number) for number in range(10)])
        asked = np.stack([one.vector for one in made_corpus.questions(QUESTIONS)])
    return np.random.default_rng(1).permutation(rows)[:MOST_ROWS], asked, vectors is not None


def real_vectors() -> Vectors | None:
    """Return the real MiniLM vectors that the bench of quality has left here, each once."""
    path = state_dir() / "bench" / "vectors.sqlite"
    if not path.is_file():
        return None
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as kept:
        raw = b"".join(row[0] for row in kept.execute("SELECT vector FROM vectors ORDER BY key"))
    vectors = np.frombuffer(raw, dtype=np.float32).reshape(-1, made_corpus.DIMENSION)
    _, first = np.unique(vectors, axis=0, return_index=True)
    return np.asarray(vectors[np.sort(first)])  # by key, a hash: in no order


def real_questions(vectors: Vectors) -> tuple[Vectors, Vectors]:
    """Return the vectors without those of questions, and the vectors of real questions.

    The questions are those that the bench of quality asks about the Kubeflow corpora.
    """
    from course_lib.embedder import EmbeddingClient

    lines = ASKED.read_text(encoding="utf-8").splitlines()
    asked = EmbeddingClient(threads=1).encode([json.loads(line)["question"] for line in lines])
    # The other bench has encoded them too: a question must not be its own best answer.
    others = (vectors @ asked.T).max(axis=1) < SAME
    return vectors[others], asked[:QUESTIONS]


def plain_chunk(at: int) -> Chunk:
    """Return a piece that differs in its number alone."""
    return Chunk(
        tenant_id="local",
        repo_slug="scale",
        root_kind="external-source",
        source_path="all.md",
        content=f"piece {at}",
        hash_inputs=["content"],
        parser_id="scale",
        parser_version="1.0.0",
        kind="common",
        name=f"Piece {at}",
        custom_meta={"chunkIndex": at},
    )


def _ours(conn: psycopg.Connection, asked: Vectors) -> Contestant:
    def ask(at: int) -> tuple[float, int]:
        begin = time.perf_counter()
        found = search(conn, asked[at], TEN)
        return time.perf_counter() - begin, len(found)

    return ask


def _exact(conn: psycopg.Connection, rows: Vectors, asked: Vectors) -> list[set[str]]:
    """Return the ids of the nearest rows of each question."""
    ids = dict(conn.execute("SELECT chunk_index, id::text FROM document_chunks").fetchall())
    return [{ids[int(at)] for at in np.argsort(-(rows @ one))[:TOP_K]} for one in asked]


def _recall(found: list[set[str]], exact: list[set[str]]) -> float:
    hits = sum(len(some & best) for some, best in zip(found, exact, strict=True))
    return hits / TOP_K / len(exact)


def _as_wide_as_needed(store: Store, exact: list[set[str]], wanted: float) -> tuple[int, float]:
    """Give a store the fewest candidates that find as much; return how many, and its recall."""

    def found_with(candidates: int) -> float:
        store.widen(candidates)
        return _recall(
            [{*store.ask(at, hybrid=False, top_k=TOP_K)[1]} for at in range(len(exact))], exact
        )

    enough, recall, too_few = MOST, found_with(MOST), FEWEST
    while recall >= wanted and enough - too_few > STEP:
        middle = (enough + too_few) // 2
        reached = found_with(middle)
        if reached >= wanted:
            enough, recall = middle, reached
        else:
            too_few = middle
    store.widen(enough)
    return enough, recall
