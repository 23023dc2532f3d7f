"""Servers on loopback that speak Ollama's and OpenAI's protocols, as a test tells them to."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

PATIENCE = 60.0
"""Seconds after which a server that was not stopped gives up."""

CHAT, SHOW, TAGS = "/api/chat", "/api/show", "/api/tags"
COMPLETIONS = "/v1/chat/completions"

End = Literal["whole", "cut", "hangs"]


@dataclass(frozen=True)
class Reply:
    """A status, headers, the pieces of a body, and what comes after them.

    `cut` closes the connection in the middle of the body, `hangs` keeps it and sends nothing more.
    """

    pieces: Sequence[bytes] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    end: End = "whole"


Answer = Reply | Callable[[Any], Reply]
"""What is answered, or what makes it of a request's body."""


@dataclass
class Models:
    """A running server, and each request that it got: path, headers in lower case, body.

    A path has one answer or several; of several, each comes once and the last one stays.
    """

    url: str
    replies: dict[str, list[Answer]]
    asked: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)
    stopped: threading.Event = field(default_factory=threading.Event)

    @property
    def ollama(self) -> dict[str, str]:
        """The environment in which `course` asks this server as Ollama."""
        return {"RAG_GENERATOR": "ollama", "OLLAMA_URL": self.url, "RAG_OLLAMA_MODEL": "tiny"}

    @property
    def openai(self) -> dict[str, str]:
        """The environment in which `course` asks this server as OpenAI's."""
        return {"RAG_GENERATOR": "openai", "OPENAI_BASE_URL": f"{self.url}/v1",
                "OPENAI_API_KEY": "sk-not-a-key", "RAG_OPENAI_MODEL": "tiny"}  # fmt: skip

    def environment(self, backend: str) -> dict[str, str]:
        """Return the environment for a backend."""
        return self.ollama if backend == "ollama" else self.openai

    def bodies(self, path: str) -> list[Any]:
        """Return what was sent to a path."""
        return [body for asked, _, body in self.asked if asked == path]


@contextlib.contextmanager
def models(
    replies: dict[str, Reply | list[Answer]], certificate: Path | None = None
) -> Iterator[Models]:
    """Run a server with these replies by path, with a certificate over HTTPS."""
    server = _Server(("127.0.0.1", 0), _Handler)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    scheme = "https" if certificate else "http"
    listed = {path: [one] if isinstance(one, Reply) else [*one] for path, one in replies.items()}
    running = Models(f"{scheme}://127.0.0.1:{server.server_address[1]}", listed)
    server.models = running
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield running
    finally:
        running.stopped.set()
        server.shutdown()
        server.server_close()
        thread.join(PATIENCE)


def model_that_says(
    *pieces: str, reason: str = "stop", end: End = "whole"
) -> contextlib.AbstractContextManager[Models]:
    """Run a server that says the same in either protocol, and whose model takes 8,192 tokens."""
    return models(
        {
            CHAT: ollama(*pieces, reason=reason, end=end),
            COMPLETIONS: openai(*pieces, reason=reason, end=end),
            SHOW: window(8192),
        }
    )


def ollama(*pieces: str, reason: str = "stop", end: End = "whole", thinking: str = "") -> Reply:
    """Return an answer in Ollama's way: a JSON object a line; the last says why it ends.

    A thinking model's lines have its thinking beside an empty content.
    """
    messages = [{"content": piece} for piece in pieces]
    if thinking:
        messages.insert(0, {"content": "", "thinking": thinking})
    events: list[dict[str, Any]] = [
        {"model": "tiny", "message": {"role": "assistant", **message}, "done": False}
        for message in messages
    ]
    if end == "whole":
        last = {"role": "assistant", "content": ""}
        events.append({"model": "tiny", "message": last, "done": True, "done_reason": reason})
    return Reply([json.dumps(event).encode() + b"\n" for event in events], end=end)


def window(tokens: int) -> Reply:
    """Return what Ollama says about a model that takes so many tokens."""
    info = {"general.architecture": "llama", "llama.context_length": tokens}
    return Reply([json.dumps({"model_info": info}).encode()])


def openai(
    *pieces: str | list[dict[str, str]], reason: str = "stop", end: End = "whole", **thinking: str
) -> Reply:
    """Return an answer in OpenAI's way: server-sent events, and a mark that ends them.

    A piece can be a list of parts. `thinking` comes first, in a field with a name of the server's.
    """
    deltas = [{"content": piece} for piece in pieces]
    choices: list[dict[str, Any]] = [
        {"index": 0, "delta": delta, "finish_reason": None}
        for delta in ([thinking, *deltas] if thinking else deltas)
    ]
    if end == "whole":
        choices.append({"index": 0, "delta": {}, "finish_reason": reason})
    whole = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "tiny"}
    events = [json.dumps(whole | {"choices": [choice]}) for choice in choices]
    events += ["[DONE]"] if end == "whole" else []
    headers = {"Content-Type": "text/event-stream"}
    return Reply([f"data: {event}\n\n".encode() for event in events], headers=headers, end=end)


def openai_at_once(text: str) -> Reply:
    """Return an answer of a server that does not stream: one JSON body."""
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    whole = {"id": "x", "object": "chat.completion", "created": 0, "model": "tiny"}
    return Reply([json.dumps(whole | {"choices": [choice]}).encode()])


def refusal(status: int, code: str = "", message: str = "", **headers: str) -> Reply:
    """Return a refusal that is OpenAI's as well as Ollama's, apart from what stands in `error`."""
    # A client that asks again need not wait for it.
    named = {"retry-after-ms": "1"} | {name.replace("_", "-"): it for name, it in headers.items()}
    error: Any = {"message": message, "type": "some_error", "code": code} if code else message
    if "param" in named:
        error["param"] = named.pop("param")
    return Reply([json.dumps({"error": error}).encode()], status, named)


def nobody() -> str:
    """Return an address at which there is no server."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    models: Models

    def handle_error(self, *about: object) -> None:
        """Say nothing of clients that went away: their test reads what is said."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        assert isinstance(self.server, _Server)
        running = self.server.models
        length = int(self.headers.get("content-length", 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = json.loads(self.rfile.read(length) or b"null")
        running.asked.append((self.path, headers, body))
        replies = running.replies.get(self.path, [Reply([b"{}"], 404)])
        reply = replies.pop(0) if len(replies) > 1 else replies[0]
        with contextlib.suppress(OSError):  # a client that gave up
            self._send(reply(body) if callable(reply) else reply, running)

    do_GET = do_POST

    def _send(self, reply: Reply, running: Models) -> None:
        self.send_response(reply.status)
        for name, value in ({"Content-Type": "application/json"} | reply.headers).items():
            self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in reply.pieces:
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            self.wfile.flush()
        if reply.end == "whole":
            self.wfile.write(b"0\r\n\r\n")
            return
        if reply.end == "hangs":
            running.stopped.wait(PATIENCE)
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *arguments: object) -> None:
        pass
