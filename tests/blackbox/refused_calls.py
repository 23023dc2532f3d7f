"""Requests that the service refuses, one of each kind."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx

FILE = {"sourcePath": "a.md", "content": "# Zebras\n\nA zebra crossing is painted in stripes.\n"}
GO = {"path": "go.sum", "content": ""}
MANY = {"path": "requirements.txt", "content": "".join(f"p{n}==1\n" for n in range(20_001))}


@dataclass(frozen=True)
class Call:
    """A request that is refused, and the names by which it is told."""

    name: str
    method: str
    path: str
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)

    def send(self, client: httpx.Client) -> httpx.Response:
        """Send it: bytes and streams as they are, all else as JSON."""
        if self.body is None:
            return client.request(self.method, self.path, headers=self.headers)
        content = self.body() if callable(self.body) else self.body
        if isinstance(content, (bytes, Iterator)):
            headers = {"content-type": "application/json", **self.headers}
            return client.request(self.method, self.path, content=content, headers=headers)
        return client.request(self.method, self.path, json=content, headers=self.headers)


def _parts() -> Iterator[bytes]:
    for _ in range(9):
        yield b"x" * 1_000_000


def _wrong(path: str, right: dict[str, Any], *wrong: dict[str, Any]) -> list[Call]:
    return [Call(json.dumps(one)[:60], "POST", path, {**right, **one}, KEYED) for one in wrong]


MADE_UP = {"X-API-Key": "made-up-key"}
BEARER = {"Authorization": "Bearer x"}
FORM = {"content-type": "application/x-www-form-urlencoded"}
PACKED = gzip.compress(b'{"query": "x"}', mtime=0)
KEYED = {"X-API-Key": "acme"}
"""Takes the place of the key of acme."""

REFUSED = [
    Call("no such path", "GET", "/nowhere"),
    Call("no pages from elsewhere", "GET", "/docs"),
    Call("no other pages either", "GET", "/redoc"),
    Call("a path out of it", "GET", "/../../etc/passwd"),
    Call("a method that is none of it", "GET", "/search"),
    Call("nothing is deleted", "DELETE", "/ingest/source-files"),
    Call("a key that is nobody's", "POST", "/search", {"query": "x"}, MADE_UP),
    Call("a bearer that is nobody's", "GET", "/documents/stats", None, BEARER),
    Call("the page with a wrong key", "POST", "/embeddings", {"texts": ["x"]}, MADE_UP),
    Call("writing without a key", "POST", "/ingest/source-files", {"repo": "a", "files": [FILE]}),
    Call("scanning without a key", "POST", "/xray/scan", {"project": "a", "files": []}),
    Call("no body", "POST", "/search", b""),
    Call("half a body", "POST", "/search", b'{"query": '),
    Call("a list", "POST", "/search", b"[]"),
    Call("a text", "POST", "/search", b'"x"'),
    Call("no UTF-8", "POST", "/search", b"\xff"),
    Call("half a character", "POST", "/search", b'{"query": "\\ud800"}'),
    Call("no number", "POST", "/search", b'{"query": "x", "similarity_threshold": NaN}'),
    Call("plain text", "POST", "/search", b'{"query": "x"}', {"content-type": "text/plain"}),
    Call("a form", "POST", "/search", b"query=x", FORM),
    Call("gzip", "POST", "/search", PACKED, {"content-encoding": "gzip"}),
    Call("too large", "POST", "/search", b" " * 8_000_001),
    Call("too large, in parts", "POST", "/search", _parts),
    *_wrong(
        "/search", {"query": "x"},
        {"query": ""}, {"query": "   "}, {"query": "x" * 1001}, {"query": "a\0b"}, {"query": 7},
        {"query": None}, {"top_k": 0}, {"top_k": 51}, {"top_k": "5"}, {"top_k": 2.5},
        {"top_k": True},
        {"similarity_threshold": -0.1}, {"similarity_threshold": 1.1}, {"partitions": []},
        {"partitions": "documentation"}, {"partitions": [""]}, {"repo": ""}, {"repo": "a\0"},
        {"branch": "x" * 501}, {"kind": 1}, {"namespace": []}, {"mode": "magic"},
        {"rerank": "magic"}, {"tenant": "acme"}, {"top_k": 0, "mode": "magic", "kind": ""},
    ),
    *_wrong(
        "/embeddings", {},
        {"texts": []}, {"texts": ["x"] * 257}, {"texts": "x"}, {"texts": [1]}, {"texts": ["a\0"]},
        {"texts": ["x" * 100_001]}, {"text": ["x"]},
    ),
    *_wrong(
        "/xray/suggest", {"project": "app", "language": "python", "instruction": "x"},
        {"k": 0}, {"k": 51}, {"language": "cobol"}, {"instruction": " "}, {"project": "a\0"},
        {"top_k": 3}, {"instruction": "x" * 1001}, {"project": "x" * 501},
    ),
    *_wrong(
        "/ingest/source-files", {"repo": "a", "files": [FILE]},
        {"files": []}, {"files": ["x"]}, {"files": [FILE] * 1001}, {"repo": ""},
        {"visibility": "all"}, {"partition": ""}, {"tenant": "beta"},
        dict.fromkeys(("repo", "branch", "partition"), "x" * 501),
    ),
    *_wrong(
        "/xray/scan", {"project": "a", "files": [GO]},
        {"project": ""}, {"files": []}, {"files": [{"path": "README.md", "content": "x"}]},
        {"files": [{"path": "", "content": ""}]}, {"project": "x" * 501},
        {"files": [GO, GO]}, {"files": [{"path": "go.sum"}]}, {"files": [MANY]},
    ),
]  # fmt: skip
