"""Search in 100,000 rows, against two vector stores.

A search goes from a question's ready vector (and its words) to ten rows as objects. All contestants
have the same rows in one PostgreSQL, graphs of the same parameters and as many candidates. They
take turns at each question, several times; a question's time is the median of its turns.

The stores keep all rows in one table with one graph. The like of it here is one partition, and that
is what is held against them; so are filtered searches, each in its own way of keeping rows apart.
A search over all partitions walks a graph for each, which takes longer than one: that row stands
beside them without a goal.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace

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
from course_lib.store.collection import in_collection
from course_lib.store.vector_indexes import HnswBuild
from tests.bench.measure import Row
from tests.bench.scale import corpus as made_corpus
from tests.bench.scale.corpus import PARTITION_SHARES, Block, Question
from tests.bench.search_peers import EF_CONSTRUCTION, EF_SEARCH, M, Store

ROWS, QUESTIONS, TURNS, WARM_UP, TOP_K = 100_000, 100, 3, 10, 10
PEERS = ("langchain", "llama")
ONE = "documentation"
"""The only partition of the collection that is kept as the stores keep theirs."""
PEER_GOAL = 1.0
FILTERS: tuple[dict[str, str], ...] = (
    {"partition": "documentation"},
    {"repo": "repo-001"},
    {"kind": "Deployment"},
    {"kind": "PodDefault"},
    {"partition": "issues", "kind": "doc-section"},
)
"""What filtered questions are narrowed to, in turn: from most of the rows to one in a hundred."""

Contestant = Callable[[int], tuple[float, int]]
"""A question's number → seconds, and how many rows came."""


def measure(rows: int = ROWS, count: int = QUESTIONS) -> list[Row]:
    """Ask everybody the same questions, plain and filtered, by meaning alone and with words."""
    corpus = made_corpus.first_rows(rows)
    asked = made_corpus.questions(2 * count)
    plain, filtered = (
        asked[:count],
        [
            replace(question, filters=FILTERS[at % len(FILTERS)])
            for at, question in enumerate(asked[count:])
        ],
    )
    with fresh_database("bench") as database, ExitStack() as stack:

        def opened(collection: str | None = None) -> psycopg.Connection:
            url = in_collection(database.url, collection)
            return stack.enter_context(connect(url, autocommit=True))

        every, one = opened(), opened("one")
        every.execute("ALTER ROLE CURRENT_USER SET maintenance_work_mem = '512MB'")
        _write(every, corpus, corpus.partitions)
        _write(one, corpus, [ONE] * rows)
        dimension = corpus.vectors.shape[1]
        stores = [stack.enter_context(Store(name, database.url, dimension)) for name in PEERS]
        _index(every, one, stores, database.url)

        timed: list[Row] = []
        for questions, what, conn, goal in (
            (plain, "", one, PEER_GOAL),
            (plain, f", {len(PARTITION_SHARES)} partitions", every, None),
            # The stores come back with fewer rows than were asked for: no goal.
            (filtered, f", {len(FILTERS)} filters in turn", every, None),
        ):
            for store in stores:
                store.learn(questions)
            for hybrid in (False, True):
                contestants = {"ours": _ours(conn, questions, hybrid=hybrid)}
                goals: dict[str, float] = {}
                notes: dict[str, str] = {}
                for store in stores:
                    contestants[store.name] = asking(store, hybrid=hybrid)
                    found = store.words_found(every, questions) if hybrid else None
                    if found is not None:
                        notes[store.name] = (
                            f"its word search finds rows for {found} of {count} questions"
                        )
                    # Whose word search comes back with nothing has not done the same work.
                    if goal and (found is None or found > count / 2):
                        goals[store.name] = goal
                how = "hybrid" if hybrid else "dense"
                timed += compare(
                    f"p95, {how}, top {TOP_K} of {rows:,}{what}", contestants, count, goals, notes
                )
        return timed


def _write(conn: psycopg.Connection, corpus: Block, partitions: Sequence[str]) -> None:
    create_schema(conn, corpus.vectors.shape[1])
    lies_in = np.array(partitions)
    for name in PARTITION_SHARES:
        at = np.flatnonzero(lies_in == name)
        write_chunks(conn, [corpus.chunks[i] for i in at], corpus.vectors[at], partition=name)


def _index(
    every: psycopg.Connection, one: psycopg.Connection, stores: Sequence[Store], url: str
) -> None:
    """Build all indexes at once, each over rows that are there."""

    def fill(store: Store) -> None:
        with connect(url, autocommit=True) as own:
            store.fill(own)

    with ThreadPoolExecutor(len(stores)) as pool:
        filling = [pool.submit(fill, store) for store in stores]
        for conn in (every, one):
            build_vector_indexes(conn, HnswBuild(M, EF_CONSTRUCTION))
        for store in filling:
            store.result()
    for conn in (every, one):
        conn.execute("VACUUM ANALYZE document_chunks")


def _query(question: Question, *, hybrid: bool) -> Query:
    return Query(
        question.words if hybrid else None,
        top_k=TOP_K,
        threshold=-1,
        partitions=question.filters.get("partition"),
        kind=question.filters.get("kind"),
        repo=question.filters.get("repo"),
        ef_search=EF_SEARCH,
    )


def _ours(conn: psycopg.Connection, questions: Sequence[Question], *, hybrid: bool) -> Contestant:
    def ask(at: int) -> tuple[float, int]:
        begin = time.perf_counter()
        found = search(conn, questions[at].vector, _query(questions[at], hybrid=hybrid))
        return time.perf_counter() - begin, len(found)

    return ask


def asking(store: Store, *, hybrid: bool) -> Contestant:
    """Return who asks a store the questions that it has learnt."""

    def ask(at: int) -> tuple[float, int]:
        seconds, found = store.ask(at, hybrid=hybrid, top_k=TOP_K)
        return seconds, len(found)

    return ask


def compare(
    what: str,
    contestants: Mapping[str, Contestant],
    count: int,
    goals: Mapping[str, float],
    notes: Mapping[str, str],
    *,
    part: str = "search",
) -> list[Row]:
    """Let all take turns at each question; return a row for each of ours against another's."""
    for contestant in contestants.values():
        for at in range(min(WARM_UP, count)):
            contestant(at)
    seconds = {name: np.zeros((TURNS, count)) for name in contestants}
    short = dict.fromkeys(contestants, 0)
    for turn in range(TURNS):
        for at in range(count):
            names = list(contestants)
            # Nobody always comes first.
            for name in names if (turn + at) % 2 == 0 else reversed(names):
                seconds[name][turn, at], found = contestants[name](at)
                short[name] += turn == 0 and found < TOP_K
    each = {name: np.median(times, axis=0) * 1000 for name, times in seconds.items()}
    p50, p95 = (
        {name: float(np.percentile(times, share)) for name, times in each.items()}
        for share in (50, 95)
    )
    rows = []
    for name in contestants:
        if name == "ours":
            continue
        note = f"p50 {p50['ours']:.2f} against {p50[name]:.2f} ms"
        if short["ours"] or short[name]:
            note += f"; fewer than {TOP_K} rows: {short['ours']} against {short[name]} times"
        note = "; ".join(filter(None, (note, notes.get(name))))
        ratio = p95[name] / p95["ours"]
        rows.append(
            Row(part, what, name, p95["ours"], p95[name], "ms", ratio, goals.get(name), note)
        )
    return rows
