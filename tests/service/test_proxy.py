"""The API with nginx in front, in the configuration that Compose and the cluster run.

Most tests take the proxy's address alone, so that they hold for one in a container as well.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from course_lib.embedder import EmbeddingClient
from course_lib.service import ServiceConfig, create_app
from course_lib.settings import project_root
from tests.needs import needs
from tests.service.conftest import Index
from tests.service.running import Running, running
from tests.waiting import until

CONFIGURATION = project_root() / "infra" / "k8s" / "overlays" / "public" / "nginx.conf"
HALF = b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
HALF_OPEN, SLOW = 500, 100
RATE, BURST = 10, 50
GIVEN_UP = {b"", b"HTTP/1.1 408 Request Time-out"}
TOO_MANY = b"HTTP/1.1 429 Too Many Requests"

Address = tuple[str, int]

pytestmark = needs("nginx")


@pytest.fixture(scope="module")
def api(index: Index, embedder: EmbeddingClient) -> Iterator[Running]:
    """What is behind the proxy: it believes what that says of the clients."""
    with running(create_app(index.config(), embedder=embedder), proxies=["127.0.0.1"]) as service:
        yield service


@pytest.fixture(scope="module")
def proxy(api: Running, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    """Nginx with the configuration of the containers, but for its ports and folders."""
    folder = tmp_path_factory.mktemp("nginx")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    text = CONFIGURATION.read_text(encoding="utf-8")
    for old, new in (
        ("listen 8080;", f"listen 127.0.0.1:{port};"),
        ("retriever:8000", f"127.0.0.1:{api.port}"),
        ("/tmp/", f"{folder}/"),
        ("/dev/stdout", f"{folder}/access.log"),
    ):
        assert old in text
        text = text.replace(old, new)
    file = folder / "nginx.conf"
    file.write_text(text, encoding="utf-8")
    # As root, nginx takes an account that may not enter the tests' folders.
    account = "user root; " if os.geteuid() == 0 else ""
    command = [str(shutil.which("nginx")), "-c", str(file), "-g", f"{account}daemon off;"]
    with (folder / "errors").open("w") as errors:
        process = subprocess.Popen(command, stdout=errors, stderr=errors)
    try:
        until(lambda: httpx.get(f"http://127.0.0.1:{port}/health").status_code == 200)
        yield "127.0.0.1", port
    finally:
        process.terminate()
        process.wait(30)


def status(proxy: Address, path: str, method: str = "GET", content: bytes = b"") -> int:
    """The status of one request over a connection of its own."""
    url = f"http://{proxy[0]}:{proxy[1]}{path}"
    return httpx.request(method, url, content=content, timeout=30).status_code


@contextlib.contextmanager
def opened(proxy: Address, count: int, sent: bytes) -> Iterator[list[socket.socket]]:
    """That many connections, each of which has sent the beginning of a request."""
    with contextlib.ExitStack() as stack:
        made = []
        for _ in range(count):
            made.append(stack.enter_context(socket.create_connection(proxy, timeout=60)))
            made[-1].sendall(sent)
        yield made


def answer(connection: socket.socket) -> bytes:
    """What a connection brings until it is closed."""
    said = b""
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(1000):
            said += part
    return said


def test_half_open_connections_and_slow_bodies_leave_the_service_answering(proxy: Address) -> None:
    slow = HALF + b'Content-Length: 100000\r\n\r\n{"query": "'
    with opened(proxy, HALF_OPEN, HALF) as half, opened(proxy, SLOW, slow) as bodies:
        statuses = []
        for _ in range(10):
            for one in bodies:
                with contextlib.suppress(ConnectionError):  # a refused one is closed
                    one.sendall(b"a")
            statuses.append(status(proxy, "/health"))
            time.sleep(0.3)
        assert statuses == [200] * 10
        # No answer of the API's is among what they get: it was never asked.
        assert {answer(one).partition(b"\r\n")[0] for one in half} <= GIVEN_UP
        assert {answer(one).partition(b"\r\n")[0] for one in bodies} <= GIVEN_UP | {TOO_MANY}


def test_a_body_over_the_limit_does_not_reach_the_api(proxy: Address) -> None:
    url = f"http://{proxy[0]}:{proxy[1]}/embeddings"
    found = []
    for size in (900_000, 7_900_000, 8_000_001):
        body = b'{"texts": ["a"]}'.ljust(size)
        headers = {"Content-Type": "application/json"}
        until(lambda: status(proxy, "/ready") == 200)  # what came before may count against us
        told = httpx.post(url, content=body, headers=headers, timeout=30)
        found.append((told.status_code, told.headers["content-type"].partition(";")[0]))
    ours = "application/problem+json"  # without a key, the API takes a megabyte
    assert found == [(200, "application/json"), (413, ours), (413, "text/html")]
    assert f"client_max_body_size {ServiceConfig().max_body_bytes};" in CONFIGURATION.read_text(
        encoding="utf-8"
    )


def asked_quickly(proxy: Address, count: int) -> Counter[int]:
    """The statuses of so many requests, each of which claims another address."""
    with (
        httpx.Client(base_url=f"http://{proxy[0]}:{proxy[1]}", timeout=30) as client,
        ThreadPoolExecutor(8) as pool,
    ):

        def ask(number: int) -> int:
            return client.get("/", headers={"X-Forwarded-For": f"10.0.0.{number}"}).status_code

        return Counter(pool.map(ask, range(count)))


def test_a_client_that_asks_too_often_is_refused_whatever_it_says_of_its_address(
    proxy: Address,
) -> None:
    begin = time.monotonic()
    found = asked_quickly(proxy, 200)
    most = 1 + BURST + RATE * (time.monotonic() - begin)
    assert found.keys() == {200, 429} and found[200] <= most
    assert status(proxy, "/health") == 200


def test_another_client_is_served_meanwhile(proxy: Address) -> None:
    assert asked_quickly(proxy, 200)[429] > 0
    other = httpx.HTTPTransport(local_address="127.0.0.2")
    with httpx.Client(transport=other, base_url=f"http://{proxy[0]}:{proxy[1]}") as client:
        assert client.get("/").status_code == 200


def test_what_is_for_the_operator_is_not_for_everybody(proxy: Address) -> None:
    assert status(proxy, "/metrics") == 404
    assert status(proxy, "/health", "POST", b"{}") == 403
