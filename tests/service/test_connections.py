"""Clients that hold connections: half a request, half a body, an answer that nobody reads."""

import logging
import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest

from course_lib.embedder import EmbeddingClient
from course_lib.service import connections, create_app
from tests.service.conftest import Index
from tests.service.running import Running, running, until

HALF = b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
BODY = b'Content-Type: application/json\r\n\r\n{"query": "'
MOST = 20


@pytest.fixture(scope="module")
def short(index: Index, embedder: EmbeddingClient) -> Iterator[Running]:
    """A service that waits a second, and keeps 20 connections."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HEAD_SECONDS", "BODY_SECONDS", "ANSWER_SECONDS"):
            patch.setattr(connections, name, 1.0)
        patch.setattr(connections, "MOST_CONNECTIONS", MOST)
        with running(create_app(index.config(), embedder=embedder)) as service:
            yield service


def half_open(service: Running, sent: bytes) -> socket.socket:
    opened = socket.create_connection(("127.0.0.1", service.port), timeout=60)
    opened.sendall(sent)
    return opened


@pytest.mark.parametrize("sent", [b"", HALF, HALF + BODY], ids=["nothing", "head", "body"])
def test_half_a_request_is_given_up(short: Running, sent: bytes) -> None:
    with half_open(short, sent) as opened:
        answer = b"".join(iter(lambda: opened.recv(1000), b""))
    assert answer.startswith(b"HTTP/1.1 408 ")


def test_the_second_request_of_a_connection_has_the_same_limits(short: Running) -> None:
    whole = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with half_open(short, whole + HALF) as opened:
        answer = b"".join(iter(lambda: opened.recv(1000), b""))
    assert answer.startswith(b"HTTP/1.1 200 ") and answer.count(b"HTTP/1.1") == 1


def test_an_answer_that_is_not_read_is_given_up(short: Running) -> None:
    body = b'{"texts": [' + b", ".join([b'"zebra"'] * 256) + b"]}"
    head = b"POST /embeddings HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += b"Content-Length: %d\r\n\r\n" % len(body)
    # What the kernel would take of an answer is as much as ours has.
    short.server.servers[0].sockets[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)
    with socket.socket() as opened:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        opened.connect(("127.0.0.1", short.port))
        opened.sendall(head + body)
        open_now = short.server.server_state.connections
        until(lambda: "answer" in {one._part for one in set(open_now)})
        until(lambda: "answer" not in {one._part for one in set(open_now)})
        assert opened.getsockname() not in {one.client for one in set(open_now)}


def test_a_crowd_of_half_requests_keeps_nobody_out(
    short: Running, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever has waited longest is closed, and the log says so once a second."""
    with caplog.at_level(logging.WARNING, logger="course.service"):
        opened = [half_open(short, HALF) for _ in range(5 * MOST)]
        try:
            assert short.client.get("/health").status_code == 200
            assert len(short.server.server_state.connections) <= MOST
            with suppress(ConnectionError):  # not all it sent may have been read
                assert opened[0].recv(1) == b""
        finally:
            for one in opened:
                one.close()
    said = [record.message for record in caplog.records]
    assert set(said) == {f"{MOST} connections are open; those without a request are closed"}
    assert len(said) < MOST
