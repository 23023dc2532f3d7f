"""Search among vectors like real ones, with everybody at the recall that the library reaches.

The bench of search gives all the same graph and as many candidates. Here each is as it would be
used: the library chooses both by the number of rows; a store has the graph that its manual makes,
and as many candidates as it needs to find as much, up to the most that pgvector takes. The vectors
are real ones where the bench of quality has left some on this machine, and made ones otherwise. The
goals are those of real vectors: among made ones, what a graph finds differs much from one to the
next.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path

import numpy as np

from course_lib.records import Chunk
from course_lib.retriever import Query, search
from course_lib.settings import state_dir
from tests.bench.made_corpus import DIMENSION, Question, Vectors, made_rows
from tests.bench.made_corpus import questions as made_questions
from tests.bench.measure import Row
from tests.bench.search_peers import TOP_K, Store, compare, filled, searching

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


def measure(most_rows: int = MOST_ROWS) -> list[Row]:
    """Return the library's recall, and its time against that of each store."""
    rows, asked, is_real = like_real()
    rows = rows[:most_rows]
    what = f"{len(rows):,} {'real' if is_real else 'made'} vectors"
    questions = [Question(vector, "") for vector in asked]
    with filled([plain_chunk(at) for at in range(len(rows))], rows) as (conn, stores):
        exact, ours = (
            [
                {
                    one.chunk_id
                    for one in search(conn, vector, Query(top_k=TOP_K, threshold=-1, exact=how))
                }
                for vector in asked
            ]
            for how in (True, False)
        )
        recall = _recall(ours, exact)
        contestants = {"ours": searching(conn, questions)}
        goals, notes = {}, {}
        for store in stores:
            store.learn(questions)
            candidates, found = _as_wide_as_needed(store, exact, recall - AS_MUCH)
            contestants[store.name] = store.asking(hybrid=False)
            notes[store.name] = f"recall {recall:.3f} against {found:.3f}, ef_search {candidates}"
            if is_real:
                goals[store.name] = PEER_GOAL
        title = f"p95, dense, top {TOP_K} of {what}, theirs at our recall or their best"
        timed = compare("recall", title, contestants, len(asked), goals, notes)
    title, goal = f"recall@{TOP_K} among {what}", RECALL_GOAL if is_real else None
    return [Row("recall", title, "exact scan", recall, 1.0, "share", recall, goal), *timed]


def like_real() -> tuple[Vectors, Vectors, bool]:
    """Return vectors of pieces in no order, vectors of questions, and whether they are real."""
    vectors = real_vectors()
    is_real = vectors is not None and len(vectors) > FEWEST_REAL
    if vectors is not None and is_real:
        rows, asked = real_questions(vectors)
    else:
        corpus = made_rows(MOST_ROWS)
        rows, made = corpus.vectors, made_questions(corpus, QUESTIONS)
        asked = np.stack([one.vector for one in made])
    return np.random.default_rng(1).permutation(rows), asked, is_real


def real_vectors() -> Vectors | None:
    """Return the real MiniLM vectors that the bench of quality has left here, each once."""
    path = state_dir() / "bench" / "vectors.sqlite"
    if not path.is_file():
        return None
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as kept:
        raw = b"".join(row[0] for row in kept.execute("SELECT vector FROM vectors ORDER BY key"))
    vectors = np.frombuffer(raw, dtype=np.float32).reshape(-1, DIMENSION)
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


def _recall(found: list[set[str]], exact: list[set[str]]) -> float:
    hits = sum(len(some & best) for some, best in zip(found, exact, strict=True))
    return hits / TOP_K / len(exact)


def _as_wide_as_needed(store: Store, exact: list[set[str]], wanted: float) -> tuple[int, float]:
    """Give a store the fewest candidates that find as much; return how many, and its recall."""

    def found_with(candidates: int) -> float:
        store.widen(candidates)
        return _recall([{*store.ask(at)[1]} for at in range(len(exact))], exact)

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
