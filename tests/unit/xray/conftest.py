"""What the tests of the X-Ray share: a database with its tables, and a model that counts."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import psycopg
import pytest

from course_lib.embedder import EmbeddingClient
from course_lib.xray import Package, create_tables
from course_lib.xray.descriptions import Descriptions
from tests.schemas import OwnSchema


class CountingClient(EmbeddingClient):
    """The real model, and a list of what it was given."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(cache=True)
        self.texts: list[str] = []
        if name:
            # The same weights under another name: vectors that the tables must keep apart.
            assert self.backend.dimension
            self.model_name = name

    def encode(
        self, texts: Sequence[str], batch_size: int = 32, progress: bool = False
    ) -> np.ndarray[Any, np.dtype[np.float32]]:
        self.texts.extend(texts)
        return super().encode(texts, batch_size, progress)


class Told:
    """A describer that knows what it is told, and remembers what it was asked."""

    def __init__(self, **descriptions: str) -> None:
        self.descriptions = descriptions
        self.asked: list[Package] = []

    def describe(self, packages: Sequence[Package]) -> Iterator[Descriptions]:
        self.asked.extend(packages)
        known = (one for one in packages if one.name in self.descriptions)
        yield {one: self.descriptions[one.name] for one in known}


@pytest.fixture
def bare(database: OwnSchema) -> Iterator[psycopg.Connection[Any]]:
    """A connection to a schema without the tables."""
    with database.connect() as connection:
        yield connection


@pytest.fixture
def conn(bare: psycopg.Connection[Any]) -> psycopg.Connection[Any]:
    """A connection to a database with the tables, empty."""
    create_tables(bare)
    return bare


@pytest.fixture
def client() -> CountingClient:
    return CountingClient()


@pytest.fixture
def other_model() -> CountingClient:
    return CountingClient("another model")


@pytest.fixture
def told() -> type[Told]:
    return Told


def catalogue(conn: psycopg.Connection[Any]) -> dict[str, tuple[str | None, str | None]]:
    """Return name → description and model of the shared catalogue."""
    rows = conn.execute("SELECT name, description, model FROM xray_packages ORDER BY 1").fetchall()
    return {name: (description, model) for name, description, model in rows}


def report(conn: psycopg.Connection[Any], project: str) -> dict[str, tuple[str, str | None]]:
    """Return name → version and description of a project's packages."""
    rows = conn.execute(
        "SELECT name, version, description FROM xray_report_packages WHERE project = %s ORDER BY 1",
        [project],
    ).fetchall()
    return {name: (version, description) for name, version, description in rows}


@pytest.fixture(name="catalogue")
def catalogue_fixture() -> Any:
    return catalogue


@pytest.fixture(name="report")
def report_fixture() -> Any:
    return report


Answer = Callable[[dict[str, Any]], tuple[int, dict[str, str], str]]


class ModelServer:
    """A server on loopback that speaks the protocol of chat completions.

    `script` holds what it answers to the next requests, the last one to all that follow: a function
    from the request's body to status, headers and body.
    """

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[Message] = []
        self.script: list[Answer] = [describing]
        self.hold = threading.Event()  # set when the test is over: ends answers that hang
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.requests.append(body)
                server.headers.append(self.headers)
                answer = server.script.pop(0) if len(server.script) > 1 else server.script[0]
                status, headers, text = answer(body)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                raw = text.encode("utf-8")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def close(self) -> None:
        self.hold.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


def asked_names(body: dict[str, Any]) -> list[str]:
    """Return the names of the packages that a request asks about."""
    return [line.split(" ")[0] for line in body["messages"][1]["content"].splitlines()[1:]]


def completion(text: str, tokens: int | None = 100) -> tuple[int, dict[str, str], str]:
    """Return a good answer with this text."""
    body: dict[str, Any] = {"choices": [{"message": {"role": "assistant", "content": text}}]}
    if tokens is not None:
        body["usage"] = {"total_tokens": tokens}
    return 200, {"Content-Type": "application/json"}, json.dumps(body)


def describing(body: dict[str, Any]) -> tuple[int, dict[str, str], str]:
    """Answer as a good model does: one line a package."""
    lines = [
        json.dumps({"name": name, "description": f"What {name} does"}) for name in asked_names(body)
    ]
    return completion("\n".join(lines))


@pytest.fixture
def server() -> Iterator[ModelServer]:
    made = ModelServer()
    yield made
    made.close()


@pytest.fixture(name="completion")
def completion_fixture() -> Any:
    return completion


@pytest.fixture(name="describing")
def describing_fixture() -> Any:
    return describing
