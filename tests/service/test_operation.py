"""What happens inside a service: a database that goes away, a crowd, a model that is slow."""

import asyncio
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from course_lib.embedder import EmbeddingClient
from course_lib.retriever import search
from course_lib.service import ServiceConfig, create_app
from course_lib.service.database import Database, ReadConnection
from course_lib.service.encoding import Encoder
from course_lib.service.run import listen
from course_lib.store import ensure_server, service_url, stop_server
from course_lib.store.server import remove_server
from tests.faults.ground import server_processes
from tests.service.conftest import Index
from tests.service.running import Slow, running
from tests.waiting import until

QUESTION = {"query": "How is drift measured?", "top_k": 3}


def test_all_statements_of_a_search_see_the_same_rows(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def noted(conn: psycopg.Connection[Any], *others: Any) -> Any:
        seen.append(conn.execute("SHOW transaction_isolation").fetchone())
        return search(conn, *others)

    monkeypatch.setattr("course_lib.retriever.question.search", noted)
    assert client.post("/search", json=QUESTION).status_code == 200
    assert set(seen) == {("repeatable read",)}


@pytest.fixture
def state() -> Iterator[Path]:
    """A server of the test's own, that it may stop, in a folder that every account can enter."""
    folder = Path(tempfile.mkdtemp(prefix="course-test-"))
    folder.chmod(0o755)
    yield folder / "state"
    remove_server(folder / "state")
    shutil.rmtree(folder)


def test_a_service_finds_its_database_late(state: Path, embedder: EmbeddingClient) -> None:
    server = ensure_server(state)
    with psycopg.connect(server.url(), autocommit=True) as conn:
        conn.execute("CREATE EXTENSION IF NOT EXISTS vector")
    stop_server(state)
    app = create_app(ServiceConfig(database_url=server.url()), embedder=embedder)
    with running(app, wait=False) as service:
        until(lambda: service.client.get("/ready").json()["model"] == "ready")
        refused = service.client.post("/search", json=QUESTION)
        assert (refused.status_code, service.client.get("/ready").status_code) == (503, 503)
        assert "password" not in refused.text and str(server.port) not in refused.text
        ensure_server(state)
        until(lambda: service.client.get("/ready").status_code == 200)


def test_a_database_that_is_silent_is_told_of_and_no_search_waits_for_it(
    state: Path, embedder: EmbeddingClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its connections stay open, and nothing comes back: as of a machine that is swapping."""
    monkeypatch.setattr("course_lib.service.database.READ_SECONDS", 1.0)
    server = ensure_server(state)
    with psycopg.connect(server.url(), autocommit=True) as conn:
        conn.execute("CREATE EXTENSION IF NOT EXISTS vector")
    app = create_app(ServiceConfig(database_url=server.url()), embedder=embedder)
    with running(app) as service:
        assert service.client.post("/search", json=QUESTION).status_code == 200
        stopped = server_processes(server)
        try:
            for process in stopped:
                process.suspend()
            # A cluster waits for 5 seconds; without the limit it takes 13.
            assert service.client.get("/ready", timeout=10).status_code == 503
            assert service.client.post("/search", json=QUESTION).status_code == 503
            assert service.client.get("/health").status_code == 200
        finally:
            for process in stopped:
                process.resume()
        until(lambda: service.client.get("/ready").status_code == 200)
        assert service.client.post("/search", json=QUESTION).status_code == 200


def test_a_request_that_finds_no_connection_in_time_is_refused_and_the_next_is_answered(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("course_lib.service.database.CONNECTION_TIMEOUT", 0.5)

    def sleep(conn: psycopg.Connection[Any]) -> str:
        conn.execute("SELECT pg_sleep(2)")
        return "slept"

    async def ask() -> tuple[list[Any], int, str, str]:
        database = Database(lambda: service_url("reader", url=index.url), 2)
        database.start()
        while await database.state() != "ready":
            await asyncio.sleep(0.05)
        sleeping = [asyncio.create_task(database.read("acme", sleep)) for _ in range(2)]
        await asyncio.sleep(0.2)
        refused = asyncio.create_task(database.state())
        await asyncio.sleep(0.1)
        waiting = database.waiting
        said = await refused
        done = [one.done() for one in sleeping]
        slept = await asyncio.gather(*sleeping)
        after = await database.state()
        await database.stop()
        return [*done, *slept], waiting, said, after

    found = asyncio.run(ask())
    busy = "the database is busy or away; try again soon"
    assert found == ([False, False, "slept", "slept"], 1, busy, "ready")


def test_a_connection_waits_no_longer_than_it_is_allowed(index: Index) -> None:
    """Not even for a server that does not end its statements."""
    with ReadConnection.connect(index.url) as conn:
        conn.allow(0.3)
        begun = time.monotonic()
        with pytest.raises(psycopg.OperationalError):
            conn.execute("SELECT pg_sleep(20)")
        assert time.monotonic() - begun < 10
        conn.close()


def test_questions_that_arrive_together_are_encoded_together_and_others_are_answered_meanwhile(
    index: Index, embedder: EmbeddingClient
) -> None:
    model = Slow(embedder)
    model.go.set()
    app = create_app(index.config(), embedder=model)
    with running(app) as service, ThreadPoolExecutor(10) as crowd:
        encoder = app.state.context.encoder
        before = encoder.batches, encoder.texts
        model.go.clear()
        model.asked.clear()

        def ask(number: int) -> int:
            asked = {"query": f"question {number}"}
            return httpx.post(f"{service.url}/search", json=asked, timeout=60).status_code

        try:
            asked = [crowd.submit(ask, 0)]
            until(model.asked.is_set)
            asked += [crowd.submit(ask, number) for number in range(1, 10)]
            until(lambda: encoder.waiting == 10)
            assert service.client.get("/health").status_code == 200
        finally:
            model.go.set()
        assert [one.result(60) for one in asked] == [200] * 10
        assert (encoder.batches - before[0], encoder.texts - before[1]) == (2, 10)


def test_texts_join_the_line_again_for_each_group_so_that_a_question_waits_for_one(
    index: Index, embedder: EmbeddingClient
) -> None:
    model = Slow(embedder)
    model.go.set()
    app = create_app(index.config(), embedder=model)
    with running(app) as service, ThreadPoolExecutor(3) as crowd:
        encoder = app.state.context.encoder
        model.go.clear()
        model.asked.clear()
        model.batches.clear()

        def post(path: str, asked: dict[str, Any], key: str = "") -> int:
            headers = {"Authorization": f"Bearer {key}"} if key else {}
            url = f"{service.url}{path}"
            return httpx.post(url, json=asked, headers=headers, timeout=60).status_code

        try:
            asked = [crowd.submit(post, "/embeddings", {"texts": ["first"] * 20})]
            until(model.asked.is_set)
            asked.append(crowd.submit(post, "/embeddings", {"texts": ["other"] * 4}, index.acme))
            until(lambda: encoder.waiting == 24)
            asked.append(crowd.submit(post, "/search", {"query": "question"}))
            until(lambda: encoder.waiting == 25)
        finally:
            model.go.set()
        assert [one.result(60) for one in asked] == [200] * 3
    assert model.batches == [
        ["first"] * 8,
        ["other"] * 4,
        ["question"],
        ["first"] * 8,
        ["first"] * 4,
    ]


def test_who_goes_away_takes_nobody_else_s_vector_along(embedder: EmbeddingClient) -> None:
    """The one whose turn it was is cancelled while the model works for all that wait."""
    model = Slow(embedder)
    model.go.set()

    async def ask() -> tuple[bool, list[tuple[int, ...]], int]:
        encoder = Encoder(model)
        encoder.start()
        while encoder.is_loading:
            await asyncio.sleep(0.01)
        model.go.clear()
        model.asked.clear()
        first, *others = [
            asyncio.create_task(encoder.encode_question(f"q {number}")) for number in range(3)
        ]
        while not model.asked.is_set():
            await asyncio.sleep(0.01)
        first.cancel()
        model.go.set()
        vectors = await asyncio.gather(*others)
        left = encoder.waiting
        await encoder.stop()
        return first.cancelled(), [one.shape for one in vectors], left

    assert asyncio.run(ask()) == (True, [(384,), (384,)], 0)


def test_health_answers_beside_a_thousand_idle_connections(
    index: Index, embedder: EmbeddingClient
) -> None:
    with running(create_app(index.config(), embedder=embedder)) as service:
        idle = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(1000)]
        try:
            assert httpx.get(f"{service.url}/health", timeout=30).json() == {"status": "ok"}
            until(lambda: len(service.server.server_state.connections) >= 1000)
        finally:
            for one in idle:
                one.close()


def test_accepted_connections_send_at_once() -> None:
    async def accepted() -> int:
        ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            found = writer.get_extra_info("socket")
            ready.set_result(found.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        with listen("127.0.0.1", 0) as listener:
            async with await asyncio.start_server(answer, sock=listener):
                _, writer = await asyncio.open_connection(*listener.getsockname())
                try:
                    return await asyncio.wait_for(ready, 60)
                finally:
                    writer.close()

    assert asyncio.run(accepted()) != 0
