"""Clients that hold connections, with half a request or waiting; requests that are dear to read."""

import logging
import socket
from collections.abc import Iterator
from contextlib import suppress

import httpx
import pytest

from course_lib.embedder import EmbeddingClient
from course_lib.service import connections, create_app
from tests.service.conftest import Index
from tests.service.running import Running, Slow, running, until

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


def sent_and_answered(service: Running, sent: bytes) -> bytes:
    """Send bytes and return all that comes back; a service that hung up may not have read all."""
    answer = b""
    with half_open(service, b"") as opened, suppress(ConnectionError):
        opened.sendall(sent)
        while part := opened.recv(1000):
            answer += part
    return answer


POST = b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n"
SECOND = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
GET = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.parametrize(
    "sent",
    [
        CHUNKED + b"\r\n" + b"1\r\n \r\n" * 2000 + b"0\r\n\r\n",
        CHUNKED + b"Content-Length: 5\r\n\r\n0\r\n\r\n" + SECOND,
        GET + b"a:\r\n" * 200 + b"\r\n",
        GET + b"a: " + b"a" * 80_000 + b"\r\n\r\n",
    ],
    ids=["chunks of a byte", "two lengths", "200 headers", "a long header"],
)
def test_what_is_dear_to_read_or_can_be_read_twice_is_refused(short: Running, sent: bytes) -> None:
    answer = sent_and_answered(short, sent)
    assert answer.count(b"HTTP/1.1") == 1 and answer.startswith(b"HTTP/1.1 400 ")


def test_a_body_in_chunks_that_are_not_tiny_is_read(short: Running) -> None:
    body = b'{"query": "zebra"' + b" " * 600_000 + b"}"
    parts = [body[start : start + 300] for start in range(0, len(body), 300)]
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
    answer = sent_and_answered(short, CHUNKED + b"Connection: close\r\n\r\n" + chunks)
    assert answer.startswith(b"HTTP/1.1 200 ")


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


def test_where_all_wait_for_answers_the_address_with_most_connections_loses_one(
    index: Index, embedder: EmbeddingClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Slow(embedder)
    model.go.set()
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", MOST)
    body = b'{"query": "zebra"}'
    question = POST + b"Content-Length: %d\r\n\r\n" % len(body) + body
    with running(create_app(index.config(), embedder=model)) as service:
        model.go.clear()
        crowd = [socket.socket() for _ in range(MOST)]
        try:
            for one in crowd:
                one.bind(("127.0.0.2", 0))
                one.connect(("127.0.0.1", service.port))
                one.sendall(question)
            open_now = service.server.server_state.connections
            until(lambda: [one._part for one in set(open_now)] == [""] * MOST)
            assert httpx.get(f"{service.url}/health").status_code == 200
        finally:
            model.go.set()
            for one in crowd:
                one.close()
