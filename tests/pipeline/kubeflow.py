"""A server that speaks as much of Kubeflow Pipelines' API as giving and watching a run takes."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PREFIX = "/apis/v2beta1"


@dataclass
class Kubeflow:
    """Where it listens, which runs it was given, and what it says of them.

    Attributes
    ----------
    refuses
        Whether it takes no runs.
    states
        What it answers to a question about a run, one answer after the other, the last for ever: a
        run's description, or the status of an error.
    asked
        How often it was asked.
    """

    url: str = ""
    runs: list[dict[str, Any]] = field(default_factory=list)
    refuses: bool = False
    states: list[dict[str, Any] | int] = field(default_factory=list)
    asked: int = 0


@contextmanager
def kubeflow() -> Iterator[Kubeflow]:
    """Run the server on a free port."""
    state = Kubeflow()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == f"{PREFIX}/healthz":
                self._answer(200, {"multi_user": False})
            elif self.path.startswith(f"{PREFIX}/experiments"):
                self._answer(200, {})
            elif self.path == f"{PREFIX}/runs/r-1" and state.states:
                now = state.states[min(state.asked, len(state.states) - 1)]
                state.asked += 1
                if isinstance(now, int):
                    self._answer(now, {"error": "not now"})
                else:
                    self._answer(200, {"run_id": "r-1", **now})
            else:
                self._answer(404, {})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == f"{PREFIX}/experiments":
                self._answer(200, {"experiment_id": "e-1", **body})
            elif self.path.startswith(f"{PREFIX}/runs") and not state.refuses:
                state.runs.append(body)
                self._answer(200, {"run_id": "r-1", "display_name": body["display_name"]})
            else:
                self._answer(400, {"error": "the pipeline spec is invalid"})

        def _answer(self, status: int, value: object) -> None:
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        state.url = f"http://127.0.0.1:{server.server_port}"
        yield state
        server.shutdown()
