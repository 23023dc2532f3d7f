"""The vector stores that people install, each with a table of its own with the same rows.

A store makes its table and its index through its own interface, and is asked through it; only the
rows are copied by SQL, since adding 100,000 of them one by one would take many minutes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import LiteralString

import numpy as np
import psycopg

from course_lib.records import Chunk
from course_lib.retriever import Query, search
from course_lib.store import (
    build_vector_indexes,
    connect,
    create_schema,
    fresh_database,
    write_chunks,
)
from course_lib.store.vector_indexes import HNSW, HnswBuild
from tests.bench.made_corpus import Question, Vectors
from tests.bench.measure import Row
from tests.bench.peers import VECTOR_STORES, Peer

_FILL: dict[str, LiteralString] = {
    "langchain": """
INSERT INTO langchain_chunks (langchain_id, content, embedding, words, langchain_metadata)
SELECT id, content, embedding, to_tsvector('pg_catalog.english', content),
       metadata || jsonb_build_object('document_name', document_name, 'chunk_index', chunk_index)
FROM document_chunks
""",
    "llama": """
INSERT INTO data_llama_chunks (text, metadata_, node_id, embedding)
SELECT content, metadata || jsonb_build_object(
           'document_name', document_name, 'chunk_index', chunk_index,
           'ref_doc_id', document_name), id::text, embedding
FROM document_chunks
""",
}
_FINISH: dict[str, tuple[LiteralString, ...]] = {
    # What its documentation says to add for hybrid search.
    "langchain": (
        "CREATE INDEX ON langchain_chunks USING gin (words)",
        "VACUUM ANALYZE langchain_chunks",
    ),
    "llama": ("VACUUM ANALYZE data_llama_chunks",),
}
OWN_GRAPH, EF_SEARCH = HnswBuild(m=16, ef_construction=64), 100
"""pgvector's own graph, which the stores have, and the candidates of each search through it."""

TURNS, WARM_UP, TOP_K = 3, 10, 10
Contestant = Callable[[int], tuple[float, int]]
"""A question's number → seconds, and how many rows came."""


class Store:
    """A peer's vector store over the rows of `document_chunks`."""

    def __init__(self, process: Peer, peer: str, url: str, dimension: int) -> None:
        self._process, self._peer = process, peer
        opened = self._process.ask(url=url, dimension=dimension, peer=peer)
        self.name: str = opened["name"]

    def fill(self, conn: psycopg.Connection) -> None:
        """Copy the rows, and let the store build its index."""
        conn.execute(_FILL[self._peer])
        self._process.ask(index={**OWN_GRAPH._asdict(), "ef_search": EF_SEARCH})
        for statement in _FINISH[self._peer]:
            conn.execute(statement)

    def widen(self, ef_search: int) -> None:
        """Let it walk its graph with so many candidates from now on."""
        self._process.ask(ef_search=ef_search)

    def learn(self, questions: Sequence[Question]) -> None:
        """Tell the store the questions that it will be asked by their numbers."""
        self._process.ask(
            questions=[{"vector": one.vector.tolist(), "words": one.words} for one in questions]
        )

    def ask(self, at: int, *, hybrid: bool = False) -> tuple[float, list[str]]:
        """Return the seconds of a search within the peer's process, and the ids it found."""
        answer = self._process.ask(at=at, hybrid=hybrid, top_k=TOP_K)
        return answer["seconds"], answer["found"]

    def asking(self, *, hybrid: bool) -> Contestant:
        """Return who asks the questions that the store has learnt."""

        def ask(at: int) -> tuple[float, int]:
            seconds, found = self.ask(at, hybrid=hybrid)
            return seconds, len(found)

        return ask

    def words_found(self, conn: psycopg.Connection, questions: Sequence[Question]) -> int | None:
        """Return for how many questions its word search finds any row; None where any word does.

        LangChain's asks for rows that hold every word of the question, llama-index's for any.
        """
        if self._peer != "langchain":
            return None
        found = conn.execute(
            "SELECT count(*) FROM unnest(%s::text[]) AS asked (words) WHERE EXISTS (SELECT FROM "
            "langchain_chunks AS row WHERE row.words @@ "
            "plainto_tsquery('pg_catalog.english', asked.words))",
            [[question.words for question in questions]],
        ).fetchone()
        assert found is not None
        return int(found[0])


@contextmanager
def filled(
    chunks: Sequence[Chunk], vectors: Vectors, graph: HnswBuild = HNSW
) -> Iterator[tuple[psycopg.Connection, list[Store]]]:
    """Give one partition and each store the same rows, and an index over them."""
    with (
        fresh_database("bench") as database,
        connect(database.url, autocommit=True) as conn,
        ExitStack() as stack,
    ):
        create_schema(conn, vectors.shape[1])
        write_chunks(conn, chunks, vectors)
        conn.execute("ALTER ROLE CURRENT_USER SET maintenance_work_mem = '512MB'")
        build_vector_indexes(conn, graph)
        conn.execute("VACUUM ANALYZE document_chunks")
        stores = []
        for name in _FILL:
            process = stack.enter_context(Peer("search.py", VECTOR_STORES))
            stores.append(Store(process, name, database.url, vectors.shape[1]))
            with connect(database.url, autocommit=True) as own:
                stores[-1].fill(own)
        yield conn, stores


def searching(
    conn: psycopg.Connection,
    questions: Sequence[Question],
    *,
    hybrid: bool = False,
    ef_search: int | None = None,
) -> Contestant:
    """Return who asks the library."""

    def ask(at: int) -> tuple[float, int]:
        words = questions[at].words if hybrid else None
        begin = time.perf_counter()
        query = Query(words, top_k=TOP_K, threshold=-1, ef_search=ef_search)
        found = search(conn, questions[at].vector, query)
        return time.perf_counter() - begin, len(found)

    return ask


def compare(
    part: str,
    what: str,
    contestants: Mapping[str, Contestant],
    count: int,
    goals: Mapping[str, float],
    notes: Mapping[str, str],
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
    p50, p95 = (
        {
            name: float(np.percentile(np.median(times, axis=0) * 1000, share))
            for name, times in seconds.items()
        }
        for share in (50, 95)
    )
    rows = []
    for name in (name for name in contestants if name != "ours"):
        note = f"p50 {p50['ours']:.2f} against {p50[name]:.2f} ms"
        if short["ours"] or short[name]:
            note += f"; fewer than {TOP_K} rows: {short['ours']} against {short[name]} times"
        note = "; ".join(filter(None, (note, notes.get(name))))
        ratio = p95[name] / p95["ours"]
        rows.append(
            Row(part, what, name, p95["ours"], p95[name], "ms", ratio, goals.get(name), note)
        )
    return rows
