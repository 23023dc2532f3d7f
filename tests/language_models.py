"""A server on loopback that speaks what Ollama and OpenAI speak, as a test tells it to."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

PATIENCE = 60.0


@dataclass
class Reply:
    """What the server answers: a status, pieces of a body, and how it goes on after those."""

    pieces: Sequence[bytes] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    then: Literal["end", "cut", "hang"] = "end"


@dataclass
class Asked:
    """A request as it came; names of headers are in lower case."""

    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class LanguageModel:
    """A running server: where it is, what it was asked, and what it will answer.

    `replies` holds, for a path, what comes one after the other; the last one stays.
    """

    url: str
    replies: dict[str, list[Reply]]
    asked: list[Asked] = field(default_factory=list)
    stopped: threading.Event = field(default_factory=threading.Event)


@contextlib.contextmanager
def language_model(**replies: Reply | list[Reply]) -> Iterator[LanguageModel]:
    """Run a server; `chat`, `show` and `completions` are what it answers to each."""
    paths = {"chat": "/api/chat", "show": "/api/show", "completions": "/v1/chat/completions"}
    given = {
        paths[name]: reply if isinstance(reply, list) else [reply]
        for name, reply in replies.items()
    }
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    model = LanguageModel(f"http://127.0.0.1:{server.server_address[1]}", given)
    server.model = model  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield model
    finally:
        model.stopped.set()
        server.shutdown()
        server.server_close()
        thread.join(PATIENCE)


def refused_url() -> str:
    """Return an address at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


def ollama(*pieces: str, reason: str = "stop", **how: Any) -> Reply:
    """Return an answer in Ollama's way: one JSON object a line, the last one says why it ends."""
    events: list[dict[str, Any]] = [
        {"model": "m", "message": {"role": "assistant", "content": piece}, "done": False}
        for piece in pieces
    ]
    if how.get("then", "end") == "end":
        end = {"role": "assistant", "content": ""}
        events.append({"model": "m", "message": end, "done": True, "done_reason": reason})
    return Reply([json.dumps(event).encode() + b"\n" for event in events], **how)


def ollama_window(length: int) -> Reply:
    """Return what Ollama says about a model."""
    info = {"general.architecture": "llama", "llama.context_length": length}
    return Reply([json.dumps({"model_info": info}).encode()])


def openai(*pieces: str, reason: str = "stop", **how: Any) -> Reply:
    """Return an answer in OpenAI's way: server-sent events, and a mark that ends them."""
    deltas: list[tuple[dict[str, str], str | None]] = [
        ({"content": piece}, None) for piece in pieces
    ]
    is_whole = how.get("then", "end") == "end"
    events = [
        {
            "id": "x",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        }
        for delta, finish in [*deltas, *([({}, reason)] if is_whole else [])]
    ]
    lines = [f"data: {json.dumps(event)}\n\n".encode() for event in events]
    return Reply([*lines, *([b"data: [DONE]\n\n"] if is_whole else [])], **how)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        model: LanguageModel = self.server.model  # type: ignore[attr-defined]
        length = int(self.headers.get("content-length", 0))
        body = json.loads(self.rfile.read(length) or b"null")
        headers = {name.lower(): value for name, value in self.headers.items()}
        model.asked.append(Asked(self.path, headers, body))
        replies = model.replies.get(self.path, [Reply([b"{}"], 404)])
        self._answer(replies.pop(0) if len(replies) > 1 else replies[0], model)

    def _answer(self, reply: Reply, model: LanguageModel) -> None:
        is_events = b"data:" in b"".join(reply.pieces)
        kind = "text/event-stream" if is_events else "application/json"
        with contextlib.suppress(OSError):  # a client that gave up
            self.send_response(reply.status)
            for name, value in {"Content-Type": kind, **reply.headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for piece in reply.pieces:
                self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                self.wfile.flush()
            if reply.then == "end":
                self.wfile.write(b"0\r\n\r\n")
            elif reply.then == "hang":
                model.stopped.wait(PATIENCE)
            if reply.then != "end":
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *arguments: object) -> None:
        pass
