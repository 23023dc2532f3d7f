"""A service over an index that another model filled, and over one with several branches."""

import re
from collections.abc import Iterator
from typing import Any

import httpx
import psycopg
import pytest

from course_lib.embedder import EmbeddingClient
from course_lib.indexing import ingest
from course_lib.records import Scope
from course_lib.service import ServiceConfig, create_app
from course_lib.settings import settings
from course_lib.store import connect, fresh_database
from tests.service.running import Running, running
from tests.waiting import until

CAT: dict[str, Any] = {"query": "Which animal purrs?", "top_k": 2}


@pytest.fixture(scope="module")
def conn(
    embedder: EmbeddingClient, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[psycopg.Connection]:
    """Three branches of two documents, and a repository of its own beside them."""
    folder = tmp_path_factory.mktemp("docs")
    (folder / "cats.md").write_text("# Cats\n\nA cat <b>purrs.\n", encoding="utf-8")
    (folder / "ships.md").write_text("# Ships\n\nA frigate sails.\n", encoding="utf-8")
    with fresh_database("service") as fresh, connect(fresh.url, autocommit=True) as found:
        for branch in ("v1.9", "v1.10", "v2"):
            ingest(folder, Scope(repo="docs", branch=branch), conn=found, embedder=embedder)
        ingest(folder / "ships.md", Scope(repo="harbour"), conn=found, embedder=embedder)
        yield found


@pytest.fixture
def service(conn: psycopg.Connection, embedder: EmbeddingClient) -> Iterator[Running]:
    url = f"{conn.info.dsn} password={conn.info.password}"
    with running(create_app(ServiceConfig(database_url=url), embedder=embedder), wait=False) as new:
        until(lambda: new.client.get("/ready").json()["model"] == "ready")
        # Where the database is still looked for, whoever asks is told to come again.
        until(lambda: "retry-after" not in search(new.client).headers)
        yield new


@pytest.fixture
def other_model(conn: psycopg.Connection) -> Iterator[None]:
    """Let the documents of one repository be another model's."""
    conn.execute("UPDATE documents SET model = 'other-model' WHERE repo_slug = 'docs'")
    yield
    correct(conn)


def correct(conn: psycopg.Connection) -> None:
    conn.execute(
        "UPDATE documents SET model = (SELECT model FROM documents WHERE repo_slug = 'harbour')"
    )


def search(client: httpx.Client, **asked: str | int | None) -> httpx.Response:
    return client.post("/search", json={**CAT, **asked})


def test_a_passage_comes_once_on_the_page_and_names_its_other_branches(service: Running) -> None:
    page = service.client.get("/", params={"q": CAT["query"], "repo": "docs"}).text
    shown = re.sub("<[^>]+>", "", page)
    assert "docs @ v1.10 · the same in v1.9, v2" in shown and page.count("<article") == 2


def test_an_index_of_another_model_is_refused_by_its_name(
    other_model: None, service: Running, conn: psycopg.Connection
) -> None:
    answer = search(service.client)
    assert answer.status_code == 503 and "retry-after" not in answer.headers
    detail = answer.json()["detail"]
    assert "filled by other-model (6 documents)" in detail
    assert "RAG_EMBED_MODEL=other-model" in detail
    page = service.client.get("/", params={"q": "cats"})
    assert page.status_code == 503 and "other-model" in page.text
    # What /ready says is kept for a moment.
    until(lambda: "other-model" in service.client.get("/ready").json()["database"])
    assert service.client.get("/ready").status_code == 503
    assert service.client.get("/health").status_code == 200
    # What this model filled itself is searched.
    assert search(service.client, repo="harbour").json()["total_results"] == 1
    assert search(service.client, repo="docs").status_code == 503
    # And all of it as soon as all of it is this model's.
    correct(conn)
    until(lambda: search(service.client).status_code == 200)
    until(lambda: service.client.get("/ready").status_code == 200)


@pytest.fixture
def seven_dimensions(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the settings name another dimension than the tables have."""
    monkeypatch.setenv("RAG_VECTOR_DIM", "7")
    settings.cache_clear()
    yield
    monkeypatch.undo()
    settings.cache_clear()


@pytest.mark.usefixtures("seven_dimensions")
def test_an_index_of_another_dimension_is_told_from_the_start(
    conn: psycopg.Connection, embedder: EmbeddingClient
) -> None:
    url = f"{conn.info.dsn} password={conn.info.password}"
    app = create_app(ServiceConfig(database_url=url), embedder=embedder)
    with running(app, wait=False) as service:

        def database() -> str:
            said: str = service.client.get("/ready").json()["database"]
            return said

        until(lambda: "vectors of 384 dimensions, the model gives 7" in database())
        assert "RAG_COLLECTION" in database()
