"""Search among vectors like real ones, with everybody at the recall that the library reaches.

The bench of search gives all the same graph and as many candidates. Here each is as it would be
used: the library chooses both by the number of rows; a store has the graph that its manual makes,
and as many candidates as it needs to find as much, up to the most that pgvector takes. The vectors
are real ones where another bench has left some on this machine, and made ones otherwise. The goals
are those of real vectors: among made ones, what a graph finds differs much from one to the next.
"""

from __future__ import annotations

import time
from contextlib import ExitStack

import numpy as np
import psycopg

from course_lib.retriever import Query, search
from course_lib.store import (
    build_vector_indexes,
    connect,
    create_schema,
    fresh_database,
    write_chunks,
)
from tests.bench.bench_search import PEERS, TOP_K, Contestant, asking, compare
from tests.bench.measure import Row
from tests.bench.scale.choosing import like_real, plain_chunk
from tests.bench.search_peers import Store
from tests.bench.search_rows import Question
from tests.bench.vectors import Vectors

MOST_ROWS = 100_000
FEWEST, MOST, STEP = 40, 1_000, 20
"""Candidates that a store may get, from pgvector's default to its limit, and how near is near."""
AS_MUCH = 0.005
"""So much less than the library's recall is as much."""
RECALL_GOAL, PEER_GOAL = 0.95, 1.0
TEN = Query(top_k=TOP_K, threshold=-1)


def measure() -> list[Row]:
    """Return the library's recall, and its time against that of each store."""
    rows, asked, is_real = like_real(MOST_ROWS)
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
