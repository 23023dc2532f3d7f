"""`/search` over HTTP against what it cannot do without: one encode and one prepared query."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable

import numpy as np
from pgvector import Vector
from psycopg_pool import ConnectionPool

from course_lib.embedder import EmbeddingClient
from course_lib.indexing import ingest
from course_lib.settings import project_root
from course_lib.store import connect, fresh_database
from tests.bench.measure import Row
from tests.blackbox.course import Course
from tests.blackbox.serving import serving
from tests.service.crowd import Crowd, ask_all

CLIENTS, SECONDS, ROUNDS, CONNECTIONS = 50, 10.0, 3, 10
_QUERY = (
    "SELECT id, document_name, content, 1 - (embedding <=> %(q)s) FROM document_chunks "
    "ORDER BY embedding <=> %(q)s LIMIT 5"
)


def measure() -> list[Row]:
    """Let the same crowd ask the service, and do without it, in turn."""
    data = project_root() / "data"
    lines = (data / "questions" / "documents.jsonl").read_text(encoding="utf-8")
    questions = [json.loads(line)["question"] for line in lines.splitlines()]
    embedder = EmbeddingClient()
    with fresh_database("bench") as database:
        with connect(database.url, autocommit=True) as conn:
            ingest(data / "documents", conn=conn, embedder=embedder)
        started = serving(Course({"DATABASE_URL": database.url}))
        with started as service, Plain(database.url, embedder) as plain:
            url, rows = str(service.client.base_url), []
            for clients in (1, CLIENTS):
                ours, theirs = Crowd([], []), Crowd([], [])
                for _ in range(ROUNDS):
                    _add(ours, ask_all(url, questions, clients, SECONDS))
                    _add(theirs, plain_crowd(plain.ask, questions, clients, SECONDS))
                rows.append(_row(clients, ours, theirs))
    return rows


def _row(clients: int, ours: Crowd, theirs: Crowd) -> Row:
    (p50, p95), (plain50, plain95) = (
        np.percentile(crowd.seconds, (50, 95)) * 1000 for crowd in (ours, theirs)
    )
    who = "one client" if clients == 1 else f"{clients} clients at once"
    goal = None if clients == 1 else 1 / 2
    note = f"p50 {p50:.1f} against {plain50:.1f} ms; {len(ours.seconds)} answers, "
    note += f"{len(ours.failures)} errors"
    return Row("service", f"p95 of /search (hybrid), {who}", "one encode and one prepared query",
               float(p95), float(plain95), "ms", float(plain95 / p95), goal, note)  # fmt: skip


def _add(crowd: Crowd, more: Crowd) -> None:
    crowd.seconds.extend(more.seconds)
    crowd.failures.extend(more.failures)


class Plain:
    """The least that answers a question: the model behind a lock, and a pool of connections."""

    def __init__(self, url: str, embedder: EmbeddingClient) -> None:
        self._embedder, self._model = embedder, threading.Lock()
        self._pool = ConnectionPool(
            url, min_size=CONNECTIONS, max_size=CONNECTIONS, configure=_prepare, open=False
        )

    def __enter__(self) -> Plain:
        self._pool.open(wait=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.close()

    def ask(self, question: str) -> None:
        """Encode a question and find the rows nearest to it."""
        with self._model:
            [vector] = self._embedder.encode([question])
        with self._pool.connection() as conn:
            conn.execute(_QUERY, {"q": Vector(vector)}, prepare=True, binary=True).fetchall()


def _prepare(conn: object) -> None:
    from pgvector.psycopg import register_vector

    register_vector(conn)


def plain_crowd(
    ask: Callable[[str], None], questions: list[str], clients: int, seconds: float
) -> Crowd:
    """Let threads of this process ask, as `ask_all` lets clients of a service."""
    crowd, end = Crowd([], []), time.monotonic() + seconds

    def client(number: int) -> None:
        turn = number
        while time.monotonic() < end:
            begin = time.perf_counter()
            ask(questions[turn % len(questions)])
            crowd.seconds.append(time.perf_counter() - begin)
            turn += 1

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return crowd
