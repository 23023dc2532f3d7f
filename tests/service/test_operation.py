"""What happens around a service: limits, keys, a database that goes away, a signal, a crowd."""

import asyncio
import json
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from course_lib.embedder import EmbeddingClient
from course_lib.errors import InputError
from course_lib.indexing import ingest
from course_lib.service import ServiceConfig, create_app, new_key
from course_lib.service.config import key_digest, read_keys
from course_lib.settings import project_root
from course_lib.store import connect, ensure_server, stop_server
from course_lib.store.server import remove_server
from tests.service.conftest import Index
from tests.service.running import command, running, until

QUESTION = {"query": "How is drift measured?", "top_k": 3}


@pytest.fixture
def state() -> Iterator[Path]:
    """A server of the test's own, that it may stop, in a folder that every account can enter."""
    folder = Path(tempfile.mkdtemp(prefix="course-test-"))
    folder.chmod(0o755)
    yield folder / "state"
    remove_server(folder / "state")
    shutil.rmtree(folder)


def test_a_client_that_asks_too_often_is_told_when_to_come_back(
    index: Index, embedder: EmbeddingClient
) -> None:
    app = create_app(index.config(rate_limit="3/minute"), embedder=embedder)
    with running(app) as service:
        statuses = [service.client.post("/search", json=QUESTION).status_code for _ in range(4)]
        assert statuses == [200, 200, 200, 429]
        answer = service.client.post("/search", json=QUESTION)
        assert answer.headers["content-type"] == "application/problem+json"
        assert 0 < int(answer.headers["retry-after"]) <= 61
        # A key is a client of its own, and a made-up one is none.
        mine, forged = {"X-API-Key": index.acme}, {"X-API-Key": "made-up"}
        assert service.client.post("/search", json=QUESTION, headers=mine).status_code == 200
        assert service.client.post("/search", json=QUESTION, headers=forged).status_code == 429
        assert service.client.get("/health").status_code == 200


def test_reading_can_be_made_to_need_a_key(index: Index, embedder: EmbeddingClient) -> None:
    with running(create_app(index.config(key_required=True), embedder=embedder)) as service:
        assert service.client.post("/search", json=QUESTION).status_code == 401
        assert service.client.get("/documents/stats").status_code == 401
        assert service.client.get("/", params={"q": "drift"}).status_code == 401
        assert service.client.get("/ready").status_code == 200
        key = {"Authorization": f"Bearer {index.acme}"}
        assert service.client.post("/search", json=QUESTION, headers=key).status_code == 200


def test_keys_are_kept_as_digests() -> None:
    key = new_key("acme")
    keys = read_keys((f"acme:{key_digest(key)}",))
    config = ServiceConfig(keys=keys)
    assert config.tenant_of(key) == "acme" and config.tenant_of(key + "x") is None
    assert key not in repr(config)
    for wrong in ("acme", f"Acme:{key_digest(key)}", f"acme:{key}", ":" + 64 * "0"):
        with pytest.raises(InputError) as caught:
            read_keys((wrong,))
        assert key not in str(caught.value)


@pytest.mark.parametrize("limit", ["many", "0", "-1/minute", "5/fortnight"])
def test_a_rate_limit_that_cannot_be_read_is_told_at_the_start(limit: str) -> None:
    with pytest.raises(InputError, match="rate limit"):
        ServiceConfig(rate_limit=limit)


def test_it_starts_without_a_database_and_finds_it_when_it_comes(
    state: Path, embedder: EmbeddingClient
) -> None:
    server = ensure_server(state)
    with connect_superuser(server.url()) as conn:
        conn.execute("CREATE EXTENSION IF NOT EXISTS vector")
    stop_server(state)
    app = create_app(ServiceConfig(database_url=server.url()), embedder=embedder)
    with running(app, wait=False) as service:
        until(lambda: service.client.get("/ready").json()["model"] == "ready")
        answer = service.client.get("/ready")
        assert answer.status_code == 503 and answer.json()["database"] != "ready"
        refused = service.client.post("/search", json=QUESTION)
        assert refused.status_code == 503 and refused.headers["retry-after"]
        assert "password" not in refused.text and str(server.port) not in refused.text
        assert service.client.get("/health").status_code == 200
        ensure_server(state)
        until(lambda: service.client.get("/ready").status_code == 200)
        assert service.client.post("/search", json=QUESTION).json()["results"] == []


def connect_superuser(url: str) -> psycopg.Connection[Any]:
    return psycopg.connect(url, autocommit=True)


def test_a_restart_under_load_costs_errors_only_while_it_is_away(
    state: Path, embedder: EmbeddingClient
) -> None:
    server = ensure_server(state)
    with connect_superuser(server.url()) as conn:
        conn.execute("CREATE EXTENSION IF NOT EXISTS vector")
    with connect(server.url(), autocommit=True) as conn:
        source = project_root() / "data" / "documents"
        ingest(source, conn=conn, embedder=embedder, repo="documents", tenant="local")
    app = create_app(ServiceConfig(database_url=server.url()), embedder=embedder)
    answers: list[tuple[float, int]] = []
    stop = threading.Event()

    def load(url: str) -> None:
        with httpx.Client(base_url=url, timeout=30) as client:
            while not stop.is_set():
                asked = time.monotonic()
                answers.append((asked, client.post("/search", json=QUESTION).status_code))

    with running(app) as service:
        threads = [threading.Thread(target=load, args=(service.url,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        until(lambda: len(answers) > 20)
        away = time.monotonic()
        stop_server(state)
        until(lambda: service.client.get("/ready").status_code == 503)
        ensure_server(state)
        until(lambda: service.client.get("/ready").status_code == 200)
        back = time.monotonic()
        so_far = len(answers)
        until(lambda: len(answers) > so_far + 40)
        stop.set()
        for thread in threads:
            thread.join()
    assert {status for _, status in answers} == {200, 503}
    # By when it was asked; what is under way when the database goes may be lost.
    early = {status for asked, status in answers[:20] if asked < away}
    late = [status for asked, status in answers if asked > back]
    assert early == {200} and late and set(late) == {200}


def test_the_command_serves_and_ends_what_is_under_way(index: Index) -> None:
    with command(index.url) as service, httpx.Client(base_url=service.url, timeout=60) as client:
        answers: list[int] = []

        def ask() -> None:
            texts = {"texts": [f"a longer text, number {n} " * 60 for n in range(32)]}
            answers.append(client.post("/embeddings", json=texts).status_code)

        asking = threading.Thread(target=ask)
        asking.start()
        # The one for the metrics is under way itself.
        both = "course_requests_in_flight 2.0"
        until(lambda: bool(answers) or both in httpx.get(f"{service.url}/metrics").text)
        service.process.send_signal(signal.SIGTERM)
        asking.join()
        assert answers == [200]
        assert service.process.wait(60) in (0, -signal.SIGTERM)
        service.reader.join(60)
        lines = [json.loads(line) for line in service.lines if line.startswith("{")]
        [line] = [line for line in lines if line["path"] == "/embeddings"]
        assert line["status"] == 200 and line["tenant"] == "local" and line["ms"] > 0


def test_a_taken_port_is_named(index: Index) -> None:
    from course_lib.service.run import listen

    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port} .* is taken"):
            listen("127.0.0.1", port)


def test_accepted_connections_send_at_once() -> None:
    from course_lib.service.run import listen

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


def test_questions_that_arrive_together_are_encoded_together(
    index: Index, embedder: EmbeddingClient
) -> None:
    app = create_app(index.config(), embedder=EmbeddingClient())
    with running(app) as service:

        def ask(number: int) -> None:
            for turn in range(5):
                query = {"query": f"What is drift, number {number} and {turn}?"}
                assert (
                    httpx.post(f"{service.url}/search", json=query, timeout=60).status_code == 200
                )

        crowd = [threading.Thread(target=ask, args=(number,)) for number in range(20)]
        for thread in crowd:
            thread.start()
        for thread in crowd:
            thread.join()
        encoder = app.state.context.encoder
        assert encoder.texts == 100 and encoder.batches < 100
