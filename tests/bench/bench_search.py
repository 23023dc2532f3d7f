"""Search in 100,000 rows, against two vector stores.

A search goes from a question's ready vector (and its words) to ten rows as objects. All contestants
have the same rows in one PostgreSQL, one graph of the same parameters each (here that is one
partition) and as many candidates. They take turns at each question, several times; a question's
time is the median of its turns.
"""

from __future__ import annotations

from tests.bench.made_corpus import made_rows, questions
from tests.bench.measure import Row
from tests.bench.search_peers import EF_SEARCH, OWN_GRAPH, TOP_K, compare, filled, searching

ROWS, QUESTIONS = 100_000, 100
PEER_GOAL = 1.0


def measure(rows: int = ROWS, count: int = QUESTIONS) -> list[Row]:
    """Ask everybody the same questions, by meaning alone and with words."""
    corpus = made_rows(rows)
    asked = questions(corpus, count)
    timed: list[Row] = []
    with filled(corpus.chunks, corpus.vectors, OWN_GRAPH) as (conn, stores):
        for store in stores:
            store.learn(asked)
        for hybrid in (False, True):
            contestants = {"ours": searching(conn, asked, hybrid=hybrid, ef_search=EF_SEARCH)}
            goals: dict[str, float] = {}
            notes: dict[str, str] = {}
            for store in stores:
                contestants[store.name] = store.asking(hybrid=hybrid)
                found = store.words_found(conn, asked) if hybrid else None
                if found is not None:
                    notes[store.name] = f"its word search finds rows for {found} of {count}"
                # Whose word search comes back with nothing has not done the same work.
                if found is None or found > count / 2:
                    goals[store.name] = PEER_GOAL
            what = f"p95, {'hybrid' if hybrid else 'dense'}, top {TOP_K} of {rows:,}"
            timed += compare("search", what, contestants, count, goals, notes)
    return timed
