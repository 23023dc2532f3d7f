"""A service through its life: without a database, with limits, cut off, back, and ended."""

from __future__ import annotations

import re
import shutil
import signal
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.blackbox.course import Course
from tests.blackbox.serving import serving, until

QUESTION = {"query": "How are zebras painted?", "top_k": 1}
FILE = {"sourcePath": "a.md", "content": "# Zebras\n\nZebras are painted in stripes.\n"}
READY = (200, {"status": "ready", "database": "ready", "model": "ready"})
AWAY = "the database is busy or away; try again soon"


def keys(*tenants: str) -> tuple[str, list[dict[str, str]]]:
    """Return RAG_API_KEYS with a key of each tenant, and the header that each key is sent in."""
    made = [Course({})("api-key", tenant, "--json").json() for tenant in tenants]
    headers = [{"Authorization": f"Bearer {one['key']}"} for one in made]
    return ",".join(one["entry"] for one in made), headers


def test_without_a_database_a_service_lives_says_so_and_keeps_its_limits() -> None:
    """Keys are required here, and a body has 100 kB."""
    entries, (acme, crowd) = keys("acme", "crowd")
    environment = {
        "DATABASE_URL": "postgresql://ada:hush-hush@127.0.0.1:1/none",
        "RAG_API_KEYS": entries,
        "RAG_API_KEY_REQUIRED": "1",
        "RAG_API_MAX_BODY_BYTES": "100000",
    }
    with serving(Course(environment), ready=False) as service:
        client = service.client
        early = {"status": "not ready", "model": "ready"}
        missing = {**early, "database": "the database cannot be reached"}
        until(lambda: client.get("/ready").json() == missing)
        assert client.get("/ready").status_code == 503
        assert client.get("/health").json() == {"status": "ok"}
        asked = [client.head(path) for path in ("/ready", "/health")]
        assert [(one.status_code, one.content) for one in asked] == [(503, b""), (200, b"")]
        answer = client.post("/search", json=QUESTION, headers=acme)
        assert _refused(answer, 503) == "the database cannot be reached"
        assert answer.headers["retry-after"] == "2"
        page = client.get("/", params={"q": "zebra"}, headers=acme)
        assert page.status_code == 503 and "the database cannot be reached" in page.text
        # What needs no database is answered all the same.
        texts = {"texts": ["zebra"]}
        assert client.post("/embeddings", json=texts, headers=acme).status_code == 200
        # Nothing is read without a key, and the cluster's own questions need none.
        assert client.get("/", params={"q": "zebra"}).status_code == 401
        for asked in (client.get("/documents/stats"), client.post("/search", json=QUESTION)):
            assert _refused(asked, 401) == "this service needs an API key"
        large = client.post("/embeddings", json={"texts": ["x" * 100_000]}, headers=acme)
        assert _refused(large, 413) == "the request is larger than 100000 bytes; send it in parts"
        assert client.get("/nowhere", headers=crowd).status_code == 404
        # What is asked is told by no header.
        misleading = {**crowd, "Host": "localhost/health?"}
        assert client.get("/nowhere", headers=misleading).status_code == 400
        stranger = client.get("/health", headers={"Host": "evil.example"})
        assert (stranger.status_code, stranger.text) == (400, "Invalid host header")
        assert client.post("/embeddings", json=texts, headers=acme).status_code == 200
        assert client.get("/health").status_code == 200
        service.process.send_signal(signal.SIGTERM)
        service.end()
    said = "\n".join([service.first, *service.lines, *service.errors])
    assert "Traceback" not in said and "hush-hush" not in said


@pytest.fixture
def own() -> Iterator[Course]:
    """`course` with a PostgreSQL of its own, which the test may stop."""
    # Every account must be able to enter it: under root, another one runs the server.
    folder = Path(tempfile.mkdtemp(prefix="course-blackbox-"))
    folder.chmod(0o755)
    # With one engine named, none is tried out against the others in the new folder.
    course = Course({"COURSE_STATE": str(folder / "state")})
    try:
        yield course
    finally:
        course("db", "stop").ok()
        shutil.rmtree(folder)


def test_a_database_that_goes_away_is_found_again_and_what_is_under_way_is_answered(
    own: Course,
) -> None:
    """Searches fail quickly while it is away, and never after it is back; SIGTERM ends in order."""
    entries, (acme, beta) = keys("acme", "beta")
    own("db", "start").ok()
    with serving(own, RAG_API_KEYS=entries) as service:
        client = service.client

        def ready() -> tuple[int, dict[str, str]]:
            answer = client.get("/ready")
            return answer.status_code, answer.json()

        def search(headers: dict[str, str]) -> list[str]:
            answer = client.post("/search", json=QUESTION, headers=headers)
            return [one["document_name"] for one in answer.json()["results"]]

        assert ready() == READY
        pushed = {"repo": "animals", "files": [FILE]}
        assert client.post("/ingest/source-files", json=pushed, headers=acme).status_code == 200
        assert (search(acme), search(beta)) == (["a.md"], [])
        own("db", "stop").ok()
        until(lambda: ready()[0] == 503)
        # Every question is answered as long as it is away, the first as the later ones.
        for _ in range(3):
            answer = client.post("/search", json=QUESTION, headers=acme)
            assert _refused(answer, 503) == AWAY and answer.headers["retry-after"] == "2"
            status, told = ready()
            assert (status, told["status"], told["model"]) == (503, "not ready", "ready")
            assert told["database"] == AWAY
        assert client.get("/health").status_code == 200
        own("db", "start").ok()
        until(lambda: ready() == READY)
        assert (search(acme), search(beta)) == (["a.md"], [])
        answers: list[int] = []
        texts = {"texts": [f"a longer text, number {n} " * 40 for n in range(24)]}

        def ask() -> None:
            answers.append(client.post("/embeddings", json=texts, headers=beta).status_code)

        asking = threading.Thread(target=ask)
        asking.start()
        idle = "course_waiting_texts 0.0"
        until(lambda: bool(answers) or idle not in client.get("/metrics").text)
        service.process.send_signal(signal.SIGTERM)
        asking.join()
        assert answers == [200]
        # uvicorn ends in order, and then as the signal would have ended it.
        assert service.end() == -signal.SIGTERM
    said = "\n".join([*service.lines, *service.errors])
    logged = set(re.findall(r'INFO uvicorn.access: 127.0.0.1:\d+ - "(.+) HTTP/1.1" (\d+)', said))
    assert logged >= {
        ("POST /embeddings", "200"),
        ("POST /ingest/source-files", "200"),
        ("POST /search", "200"),
        ("POST /search", "503"),
    }
    assert "Traceback" not in said and "zebra" not in said.lower()
    assert acme["Authorization"].removeprefix("Bearer ") not in said


def _refused(answer: httpx.Response, status: int) -> str:
    assert (answer.status_code, answer.headers["content-type"]) == (
        status,
        "application/problem+json",
    )
    problem = answer.json()
    assert problem["status"] == status and set(problem) == {"type", "title", "status", "detail"}
    detail: str = problem["detail"]
    return detail


@pytest.mark.parametrize(
    ("words", "environment", "message"),
    [
        (("--host", "nowhere"), {}, "'nowhere' is not an address to listen on"),
        ((), {"RAG_API_KEYS": "acme"}, "entry 1 of RAG_API_KEYS is not tenant:digest"),
        (
            (),
            {"RAG_API_KEYS": f"acme:{'0' * 64},acme:sk-secret"},
            "entry 2 of RAG_API_KEYS is not tenant:digest",
        ),
        ((), {"RAG_API_HOSTS": "a*.org"}, "'a*.org' cannot be a name of the service"),
    ],
)
def test_a_service_that_cannot_start_as_it_was_told_says_why(
    course: Course, words: tuple[str, ...], environment: dict[str, str], message: str
) -> None:
    """A wrong address, key or limit is told at the start, without the key."""
    said = course("serve", "--port", "0", *words, **environment).error()
    assert said.startswith(f"error: {message}\n") and "secret" not in said
    assert len(said.splitlines()) == 2


def test_a_taken_port_is_named(course: Course) -> None:
    """The way out is another port."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = course.in_a_process("serve", "--port", str(port)).error()
    assert said == (f"error: port {port} on 127.0.0.1 is taken\nGive another one with --port.\n")


def test_a_key_is_shown_once_and_its_entry_is_the_digest(course: Course) -> None:
    """`course api-key` gives the key for the client and the entry for the service."""
    done = course("api-key", "acme")
    key, entry = (line.split(":", 1)[1].strip() for line in done.ok().splitlines())
    assert key.startswith("course_acme_") and len(key) > 50
    assert entry.startswith("RAG_API_KEYS=acme:") and key not in entry
    assert done.err == "Separate several entries by commas.\n"
    made = course("api-key", "acme", "--json").json()
    assert list(made) == ["tenant", "key", "entry"] and made["key"] != key
    assert course("api-key", "Not Kebab").error() == (
        "error: 'Not Kebab' cannot name a tenant\nLowercase letters, digits and single dashes.\n"
    )
