"""A service on a real socket, for tests: uvicorn in a thread of theirs."""

import contextlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI

from course_lib.embedder import EmbeddingClient
from course_lib.service.run import listen, make_server
from tests.waiting import until


@dataclass
class Running:
    """A service that listens: its address, and a client that knows it."""

    url: str
    port: int
    client: httpx.Client
    app: FastAPI
    server: uvicorn.Server
    thread: threading.Thread


class Slow(EmbeddingClient):
    """A model that encodes nothing until it is let go."""

    def __init__(self, embedder: EmbeddingClient) -> None:
        super().__init__()
        self.embedder, self.asked, self.go = embedder, threading.Event(), threading.Event()
        self.batches: list[list[str]] = []

    def encode(self, texts: Any, batch_size: int = 32, progress: bool = False) -> Any:
        self.batches.append([text.split()[0] for text in texts])
        self.asked.set()
        assert self.go.wait(60)
        return self.embedder.encode(texts, batch_size)


@contextlib.contextmanager
def running(app: FastAPI, *, wait: bool = True, proxies: Sequence[str] = ()) -> Iterator[Running]:
    """Serve an app on a free port; with `wait`, until it is ready."""
    listener = listen("127.0.0.1", 0)
    port = listener.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    server = make_server(app, proxies)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    with httpx.Client(base_url=url, timeout=30) as client:
        try:
            until(lambda: client.get("/health").status_code == 200)
            if wait:
                until(lambda: client.get("/ready").status_code == 200)
            yield Running(url, port, client, app, server, thread)
        finally:
            server.should_exit = True
            thread.join(120)  # longer than the statements that it may wait for
            assert not thread.is_alive()
