"""Bad requests for the API, over a real socket: paths, methods, headers, parameters and bodies."""

from __future__ import annotations

import contextlib
import json
import logging
import socket
from collections.abc import Iterator
from random import Random
from typing import Any
from unittest.mock import patch
from urllib.parse import quote, urlsplit

import httpx

from course_lib.service import ServiceConfig, create_app, new_key
from course_lib.service.config import key_digest
from tests.faults.bad_texts import (
    bad_json,
    bad_record,
    good_record,
    some_bytes,
    some_text,
    some_value,
)
from tests.faults.ground import PATIENCE, Hashed
from tests.service.running import running

BODIES: dict[str, dict[str, Any]] = {
    "/search": {
        **{"query": "Who turns the wings?", "top_k": 5, "similarity_threshold": 0.1},
        **{"partitions": ["documentation"], "repo": "mill", "branch": "b", "kind": "k"},
        **{"namespace": "n", "mode": "hybrid"},
    },
    "/embeddings": {"texts": ["a", "b"]},
    "/ingest/source-files": {
        **{"repo": "mill", "branch": "", "visibility": "private", "partition": "documentation"},
        "files": [{"sourcePath": "a.md", "content": "# A"}],
    },
    "/xray/scan": {"project": "p", "files": [{"path": "requirements.txt", "content": "a==1\n"}]},
    "/xray/suggest": {"project": "p", "language": "python", "instruction": "sing", "k": 5},
}
OTHERS = ("/", "/health", "/ready", "/metrics", "/documents/stats", "/openapi.json", "/nowhere")
METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "BREW")
BODY_LIMIT = 300_000
"""So small that a large request can be one of many."""


class BadRequests:
    """A service, and what is sent to it."""

    def __init__(self, url: str, key: str) -> None:
        self.url, self.key = url, key
        place = urlsplit(url)
        self.address = (str(place.hostname), int(place.port or 80))

    @classmethod
    @contextlib.contextmanager
    def open(cls, database_url: str) -> Iterator[BadRequests]:
        """Serve a database for as long as the context lasts."""
        key = new_key("local")
        config = ServiceConfig(
            database_url=database_url,
            keys={key_digest(key): "local"},
            max_body_bytes=BODY_LIMIT,
        )
        warnings = logging.getLogger("uvicorn.error")
        with patch.object(warnings, "disabled", True):  # it tells of every line that is not HTTP
            with running(create_app(config, embedder=Hashed())) as service:
                yield cls(service.url, key)

    def send_one(self, rng: Random) -> tuple[str, str]:
        """Send one bad request; return its kind, and the status."""
        kind, request = rng.choice((self._body, self._body, self._body, self._fields, self._line))(
            rng
        )
        is_whole = not kind.startswith("HTTP")
        status, head, body = self._send(request, is_whole=is_whole)
        assert status or not is_whole, (kind, "hung up")
        assert status < 500, (kind, status, body[:300])
        assert b"Traceback" not in body
        if status >= 400 and body:
            if b"application/problem+json" in head:
                problem = json.loads(body)
                assert problem["title"] and problem["detail"], problem
            elif b"text/html" in head:  # the page of a person's search says what is wrong
                assert status == 422 and b'role="alert"' in body, (status, body[-500:])
            else:  # uvicorn's own answer to what is not HTTP
                assert kind.startswith("HTTP") and status == 400 and len(body) < 100, body[:300]
        return kind, f"{status}" if status else "hung up on what is not a whole request"

    def still_answers(self) -> None:
        """Check that the service is as it was."""
        with httpx.Client(base_url=self.url, timeout=PATIENCE) as client:
            assert client.get("/ready").status_code == 200
            answer = client.post("/search", json={"query": "Who turns the wings?"})
            assert answer.status_code == 200, answer.text

    def _body(self, rng: Random) -> tuple[str, bytes]:
        path = rng.choice(list(BODIES))
        value = json.loads(json.dumps(BODIES[path]))
        way = rng.randrange(5)
        if way == 0:
            kind, raw = bad_json(rng, value)
            kind = f"body: JSON {kind}"
        elif way == 1:
            kind, raw = some_bytes(rng)
            kind = f"body: {kind}"
        elif way == 2 and path == "/ingest/source-files":
            kind, record = bad_record(rng)
            value["files"] = [record, some_value(rng), _bad_file(rng)]
            kind, raw = f"files: {kind}", json.dumps(value).encode()
        else:
            field = rng.choice([*value, "unknown"])
            if rng.random() < 0.2:
                value.pop(field, None)
                kind = "body: a field is missing"
            else:
                value[field] = some_value(rng)
                kind = "body: a field of another type or value"
            raw = json.dumps(value).encode()
        return kind, self._request(rng, "POST", path, raw)

    def _fields(self, rng: Random) -> tuple[str, bytes]:
        """Other headers than a client sends, over a good body."""
        path = rng.choice(list(BODIES))
        raw = json.dumps(BODIES[path]).encode()
        value = some_bytes(rng)[1][:200].replace(b"\r", b"").replace(b"\n", b"")
        name = rng.choice(
            [b"Authorization", b"X-API-Key", b"Content-Type", b"X-Request-ID", b"Accept", b"Cookie",
             b"Content-Encoding", b"Range", b"Origin", b"Host", b"Transfer-Encoding", b"Expect"]
        )  # fmt: skip
        return f"HTTP header {name.decode()}", self._request(
            rng, "POST", path, raw, name + b": " + value + b"\r\n"
        )

    def _line(self, rng: Random) -> tuple[str, bytes]:
        """Other methods, paths, parameters; or no HTTP at all."""
        way = rng.randrange(4)
        path = rng.choice([*BODIES, *OTHERS])
        if way == 0:
            return "HTTP method", self._request(rng, rng.choice(METHODS), path, b"")
        if way == 1:
            asked = quote(some_text(rng)[1][:500].encode("utf-8", "surrogatepass"))
            return "HTTP parameters", self._request(rng, "GET", f"{path}?q={asked}&top_k=x", b"")
        if way == 2:
            odd = quote(some_bytes(rng)[1][:300], safe="/%.")
            return "HTTP path", self._request(rng, "GET", f"/{odd}", b"")
        return "HTTP: none at all", some_bytes(rng)[1][:2_000] + b"\r\n\r\n"

    def _request(
        self, rng: Random, method: str, path: str, body: bytes, header: bytes = b""
    ) -> bytes:
        lines = [f"{method} {path} HTTP/1.1\r\nConnection: close\r\n".encode()]
        if not header.startswith(b"Host"):  # another host than the service's own ends in 400
            lines.append(b"Host: localhost\r\n")
        if not header.startswith(b"Content-Type"):
            lines.append(b"Content-Type: application/json\r\n")
        if not header.startswith((b"Authorization", b"X-API-Key")) and rng.random() < 0.8:
            lines.append(f"Authorization: Bearer {self.key}\r\n".encode())
        if not header.startswith(b"Transfer-Encoding"):
            lines.append(f"Content-Length: {len(body)}\r\n".encode())
        return b"".join([*lines, header, b"\r\n", body])

    def _send(self, request: bytes, *, is_whole: bool) -> tuple[int, bytes, bytes]:
        """Send bytes, and return status, head and body of the answer; status 0 is none at all.

        What is not a whole request may leave the service waiting for the rest: it is told at last
        that there is none, and hangs up.
        """
        parts: list[bytes] = []
        with socket.create_connection(self.address, PATIENCE) as connection:
            with contextlib.suppress(ConnectionError):
                connection.sendall(request)
                connection.settimeout(PATIENCE if is_whole else 1)
                try:
                    _receive(connection, parts)
                except TimeoutError:
                    assert not is_whole, "no answer"
                    connection.shutdown(socket.SHUT_WR)
                    connection.settimeout(PATIENCE)
                    _receive(connection, parts)
        head, _, body = b"".join(parts).partition(b"\r\n\r\n")
        return (int(head.split()[1]), head, body) if head else (0, b"", b"")


def _receive(connection: socket.socket, parts: list[bytes]) -> None:
    while part := connection.recv(65_536):
        parts.append(part)


def _bad_file(rng: Random) -> Any:
    path = rng.choice(["a.md", "b.yaml", "c.py", "d.go", "e.sh", "kustomization.yaml", "../x"])
    file = {"sourcePath": path, "content": some_text(rng)[1][:20_000]}
    if rng.random() < 0.2:
        file["parserId"] = rng.choice(["markdown", "go", "none"])
    if rng.random() < 0.2:
        return {"sourcePath": path, "parsedChunks": [good_record(rng), some_value(rng)]}
    return file
