"""Through PgBouncer in session mode: the right collection and role, and nothing left over."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import psycopg
import pytest

from course_lib.embedder import EmbeddingClient
from course_lib.errors import CourseError, DatabaseError
from course_lib.indexing import ingest
from course_lib.records import Scope
from course_lib.service import ServiceConfig, create_app, new_key
from course_lib.service.config import key_digest
from course_lib.settings import settings
from course_lib.store import as_tenant, connect, create_schema, service_url, write_chunks
from course_lib.store.collection import in_collection
from course_lib.store.databases import FreshDatabase
from course_lib.teaching.doctor import database_finding
from tests.needs import needs
from tests.pooler import pgbouncer
from tests.service.running import running
from tests.unit.chunks import make_chunk

pytestmark = [pytest.mark.long, pytest.mark.timeout(300), needs("pgbouncer")]

IGNORED = {"ignore_startup_parameters": "options"}
TRANSACTION = {"pool_mode": "transaction"}
MODES = {"defaults": {}, "options are ignored": IGNORED}
IN_MODE = pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
LEFT = """
SELECT current_setting('search_path') IN ('"$user", public', 'course, public, extensions')
    AND current_user = session_user
    AND coalesce(current_setting('course.tenant', true), '') = ''
    AND current_setting('transaction_read_only') = 'off'
    AND current_setting('statement_timeout') = '0'
    AND NOT EXISTS (SELECT FROM pg_prepared_statements)
    AND NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid())
"""
"""Whether a session of the server is as it was made. (The second path is the role's own.)"""


@pytest.fixture
def pooled(own_database: FreshDatabase, mode: dict[str, str]) -> Iterator[str]:
    with pgbouncer(own_database.url, **mode) as url:
        yield url


def nothing_is_left(pooled: str) -> bool:
    """Return whether another client finds all sessions of the server as they were made."""
    with ExitStack() as stack:
        clients = [
            stack.enter_context(psycopg.connect(pooled, prepare_threshold=None)) for _ in range(12)
        ]  # each holds a session, in its transaction
        return [client.execute(LEFT).fetchone() for client in clients] == [(True,)] * 12


def write(conn: psycopg.Connection, text: str, tenant: str = "local") -> int:
    chunks = [make_chunk(text, tenant_id=tenant, source_path=f"{text}.md")]
    return write_chunks(conn, chunks, np.ones((1, 3), np.float32)).inserted


@IN_MODE
def test_each_collection_gets_what_is_written_to_it(
    pooled: str, own_database: FreshDatabase
) -> None:
    for name in ("course", "large", "with-hyphen"):
        with connect(in_collection(pooled, name), autocommit=name != "large") as conn:
            create_schema(conn, 3)
            assert write(conn, f"in {name}") == 1
            conn.commit()
    with psycopg.connect(own_database.url) as direct:
        for name in ("course", "large", "with-hyphen"):
            rows = direct.execute(f'SELECT content FROM "{name}".document_chunks')  # type: ignore[call-overload]
            assert rows.fetchall() == [(f"in {name}",)]
    assert nothing_is_left(pooled)


@IN_MODE
def test_a_reader_sees_its_tenants_rows_only_and_no_other_client_becomes_one(pooled: str) -> None:
    url = in_collection(pooled, "shared")
    with connect(url, autocommit=True) as conn:
        create_schema(conn, 3)
        for tenant in ("acme", "beta"):
            write(conn, f"{tenant}'s", tenant)
        with connect(service_url("reader", url=url), autocommit=True) as reader:
            for tenant in ("acme", "beta"):
                with as_tenant(reader, tenant):
                    rows = reader.execute("SELECT content, current_user FROM document_chunks")
                    assert rows.fetchall() == [(f"{tenant}'s", "course_reader")]
            assert reader.execute("SELECT FROM document_chunks").fetchall() == []
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                reader.execute("DELETE FROM document_chunks")
        # The owner, on the sessions that the reader had, is the owner.
        owned = conn.execute("SELECT count(*), current_user = session_user FROM document_chunks")
        assert owned.fetchall() == [(2, True)]
    assert nothing_is_left(pooled)


@IN_MODE
def test_a_service_answers_many_searches_at_once_each_tenant_its_own(
    pooled: str, embedder: EmbeddingClient, tmp_path: Path
) -> None:
    url, keys = in_collection(pooled, "served"), {}
    with connect(url, autocommit=True) as conn:
        for tenant in ("acme", "beta"):
            page = tmp_path / tenant / "page.md"
            page.parent.mkdir()
            page.write_text(f"# Pumps\n\nThe pump of {tenant} is red.\n", encoding="utf-8")
            ingest(page.parent, Scope(tenant=tenant, repo="docs"), conn=conn, embedder=embedder)
            keys[tenant] = new_key(tenant)
    config = ServiceConfig(
        database_url=url, keys={key_digest(key): tenant for tenant, key in keys.items()}
    )
    with running(create_app(config, embedder=embedder)) as service:

        def ask(number: int) -> tuple[str, int, Any]:
            tenant = ("acme", "beta")[number % 2]
            answer = service.client.post(
                "/search",
                json={"query": f"Which pump is red, {number}?", "top_k": 5},
                headers={"X-API-Key": keys[tenant]},
            )
            return tenant, answer.status_code, answer.json()

        with ThreadPoolExecutor(8) as crowd:
            answers = list(crowd.map(ask, range(96)))
        written = service.client.post(
            "/ingest/source-files",
            json={
                "files": [{"sourcePath": "new.md", "content": "# New\n\nA pump."}],
                "repo": "own",
            },
            headers={"X-API-Key": keys["acme"]},
        )
    for tenant, status, body in answers:
        assert status == 200, body
        found = [one["content"].split("\n\n")[1].strip() for one in body["results"]]
        assert found == [f"The pump of {tenant} is red."]
    assert written.json()["inserted"] == 1
    assert nothing_is_left(pooled)


@IN_MODE
def test_two_ingests_of_a_source_take_turns_and_leave_no_lock(
    pooled: str, embedder: EmbeddingClient, tmp_path: Path
) -> None:
    for number in range(40):
        (tmp_path / f"{number}.md").write_text(f"# {number}\n\nPage {number}.\n", encoding="utf-8")

    def run(_: int) -> int:
        with connect(in_collection(pooled, "crowd"), autocommit=True) as conn:
            return ingest(tmp_path, conn=conn, embedder=embedder).inserted

    with ThreadPoolExecutor(3) as crowd:
        assert sorted(crowd.map(run, range(3))) == [0, 0, 40]
    assert nothing_is_left(pooled)


@IN_MODE
def test_commands_and_doctor_say_the_same(
    pooled: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "page.md").write_text("# Pumps\n\nThe pump is red.\n", encoding="utf-8")
    monkeypatch.setenv("DATABASE_URL", pooled)
    monkeypatch.setenv("RAG_COLLECTION", "mine")
    settings.cache_clear()
    try:
        assert database_finding(pooled).state == "ok"
    finally:
        settings.cache_clear()
    for command in (["ingest", str(tmp_path)], ["search", "pump"], ["db", "status"]):
        done = subprocess.run(
            [Path(sys.executable).with_name("course"), *command],
            capture_output=True, encoding="utf-8", timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    asked = "SET search_path = mine; SELECT content FROM document_chunks;"
    done = subprocess.run(
        [Path(sys.executable).with_name("course"), "db", "psql"],
        input=asked, capture_output=True, encoding="utf-8", timeout=120,
    )  # fmt: skip
    assert "The pump is red." in done.stdout and "pooler" in done.stderr, done.stderr
    with connect(in_collection(pooled, "mine")) as conn:
        assert conn.execute("SELECT count(*) FROM document_chunks").fetchone() == (1,)


@pytest.mark.parametrize(
    ("mode", "options", "said"),
    [
        ({}, "?options=-cjit%3Doff", "cannot be reached with these settings"),
        ({"pool_mode": "statement"}, "", "is a pooler that shares its sessions"),
        (TRANSACTION, "", "is a pooler that shares its sessions"),
        (TRANSACTION | IGNORED, "", "is a pooler that shares its sessions"),
        # Each transaction gets another session than the one before.
        (TRANSACTION | {"server_round_robin": "1"}, "", "is a pooler that shares its sessions"),
    ],
)
def test_a_pooler_that_cannot_be_used_is_told_in_one_sentence(
    pooled: str, options: str, said: str
) -> None:
    for use in (connect, database_finding):
        with pytest.raises(DatabaseError, match=said) as caught:
            use(pooled + options)
        assert isinstance(caught.value, CourseError) and caught.value.hint


@pytest.mark.parametrize("mode", [TRANSACTION, TRANSACTION | {"server_round_robin": "1"}])
def test_a_pooler_that_shares_its_sessions_is_seen_among_other_clients(pooled: str) -> None:
    ended = Event()

    def ask_on() -> None:
        with psycopg.connect(pooled, prepare_threshold=None, autocommit=True) as conn:
            while not ended.is_set():
                conn.execute("SELECT pg_sleep(0.001)")

    with ThreadPoolExecutor(6) as crowd:
        others = [crowd.submit(ask_on) for _ in range(6)]
        try:
            for _ in range(5):
                with pytest.raises(DatabaseError, match="shares its sessions"):
                    connect(pooled)
        finally:
            ended.set()
    assert [other.result() for other in others] == [None] * 6
