"""A server that takes and shows runs as the API of Kubeflow Pipelines does."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

API = "/apis/v2beta1"


@dataclass
class Cluster:
    """Where it listens, what it was given, and what it says of a run.

    Attributes
    ----------
    runs
        The runs that it took.
    says
        What it answers about a run, one after the other, the last forever: a description, or an
        error's status. Where there is none, runs are not taken.
    asked
        Set as soon as somebody asks about a run.
    """

    url: str = ""
    runs: list[dict[str, Any]] = field(default_factory=list)
    says: list[dict[str, Any] | int] = field(default_factory=lambda: [{"state": "RUNNING"}])
    asked: threading.Event = field(default_factory=threading.Event)

    def answer(self, path: str, body: dict[str, Any] | None) -> tuple[int, dict[str, Any]]:
        """Return status and body of the answer to a GET (no body) or a POST."""
        kind = path.removeprefix(API).partition("?")[0].strip("/").split("/")
        if kind[0] == "healthz":
            return 200, {"multi_user": False}
        if kind[0] == "experiments":
            return 200, {"experiment_id": "e-1", **body} if body else {}
        if kind[0] == "runs" and body and self.says:
            self.runs.append(body)
            return 200, {"run_id": "r-1", "display_name": body["display_name"]}
        if kind == ["runs", "r-1"] and self.says:
            self.asked.set()
            now = self.says.pop(0) if len(self.says) > 1 else self.says[0]
            return (now, {}) if isinstance(now, int) else (200, {"run_id": "r-1", **now})
        return 400, {"error": "the pipeline spec is invalid"}


@contextmanager
def cluster() -> Iterator[Cluster]:
    """Run such a server on a free port."""
    state = Cluster()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(*state.answer(self.path, None))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self._send(*state.answer(self.path, body))

        def _send(self, status: int, value: object) -> None:
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        state.url = f"http://127.0.0.1:{server.server_port}"
        yield state
        server.shutdown()
