"""`course xray …` and `course sync` as they are called."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from course_lib.settings import project_root, state_dir
from course_lib.store import connect, drop_schema, fresh_database
from course_lib.store.databases import FreshDatabase
from course_lib.teaching.github_server import GitHubServer, Repository
from course_lib.xray import drop_tables
from course_lib.xray.migration import OLD_TABLE
from tests.language_models import language_model, ollama, ollama_window

RIDER = project_root() / "data" / "lockfiles" / "rider-app" / "api"


@pytest.fixture(scope="module")
def database() -> Iterator[FreshDatabase]:
    with fresh_database("clixray") as fresh:
        yield fresh


@pytest.fixture(autouse=True)
def empty(database: FreshDatabase) -> None:
    with connect(database.url, autocommit=True) as conn:
        drop_tables(conn)
        drop_schema(conn)


@pytest.fixture
def course(database: FreshDatabase) -> Any:
    def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-c", "from course_lib.cli import main; main()", *map(str, arguments)],
            env=os.environ
            | {"COLUMNS": "120", "PYTHONIOENCODING": "utf-8", "DATABASE_URL": database.url}
            | environment,
            capture_output=True,
            encoding="utf-8",
            timeout=240,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    return run


def test_a_project_is_scanned_asked_and_forgotten(course: Any) -> None:
    early = course("xray", "suggest", "anything", "-p", "rider-app", "-l", "python")
    assert early.returncode == 1 and "the database holds no packages yet" in early.stderr
    scanned = course("xray", "scan", RIDER, "-p", "rider-app")
    assert scanned.returncode == 0, scanned.stderr
    assert scanned.stdout.splitlines() == [
        "python: 0 skipped, 111 added, 0 changed, 0 removed",
        "111 packages described, 111 embedded",
    ]
    again = course("xray", "scan", RIDER, "-p", "rider-app", "--json")
    assert {one["unchanged"] for one in json.loads(again.stdout)["languages"]} == {True}
    ask = ("xray", "suggest", "fetch top charts from Spotify", "-p", "rider-app", "-l", "python")
    asked = course(*ask, "-k", "2")
    assert len(asked.stdout.splitlines()) == 2
    assert "spotipy 2.25.1  Client for Spotify's Web API" in asked.stdout.splitlines()[0]
    found = json.loads(course(*ask, "--json").stdout)
    assert (len(found["packages"]), found["fallback"]) == (5, "")
    fallback = course(*ask, RAG_EMBED_MODEL="/nowhere/model")
    assert len(fallback.stdout.splitlines()) == 50
    assert "only the first packages by name: there is no model" in fallback.stderr
    nothing = course(*ask[:-1], "rust")
    assert "no rust packages of rider-app are stored" in nothing.stderr
    forgotten = course("xray", "forget", "-p", "rider-app", "--json")
    assert json.loads(forgotten.stdout) == {"project": "rider-app", "removed": 111, "orphans": 111}


def test_the_comment_above_a_line_becomes_a_prompt(course: Any, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("spotipy==2.25.1\n", encoding="utf-8")
    course("xray", "scan", tmp_path, "-p", "app")
    file = tmp_path / "charts.py"
    file.write_text("# Fetch the top charts from Spotify\n", encoding="utf-8")
    made = course("xray", "prompt", file, "2", "-p", "app")
    assert "- spotipy 2.25.1: Client for Spotify's Web API" in made.stdout
    reply = ollama("import spotipy\n", "charts = spotipy.Spotify()\n")
    with language_model(chat=reply, show=ollama_window(5_000)) as server:
        options = ("-p", "app", "--backend", "ollama", "--model", "m")
        code = course("xray", "prompt", file, "2", *options, OLLAMA_URL=server.url)
    assert code.stdout == "import spotipy\ncharts = spotipy.Spotify()\n\n", code.stderr
    sent = [asked.body for asked in server.asked if asked.path == "/api/chat"]
    assert sent[0]["messages"][-1]["content"] == made.stdout
    assert course("xray", "prompt", file, "2", "-p", "app", "--model", "m").returncode == 1
    refused = course("xray", "prompt", tmp_path / "requirements.txt", "1", "-p", "app")
    assert refused.returncode == 1 and "the language of requirements.txt" in refused.stderr


def test_a_broken_lock_file_ends_with_1(course: Any, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("rich==14.1.0\n", encoding="utf-8")
    (tmp_path / "go.mod").write_text("<<<<<<< HEAD\n", encoding="utf-8")
    done = course("xray", "scan", tmp_path, "-p", "app")
    assert done.returncode == 1
    assert "python: 0 skipped, 1 added" in done.stdout
    assert "go: nothing changed: go.mod is no go.mod that can be read" in done.stderr


def test_without_a_model_a_scan_succeeds_and_backfill_follows(course: Any, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("rich==14.1.0\n", encoding="utf-8")
    done = course("xray", "scan", tmp_path, "-p", "app", RAG_EMBED_MODEL="/nowhere/model")
    assert done.returncode == 0 and "no vectors: " in done.stderr
    filled = json.loads(course("xray", "backfill", "--json").stdout)
    assert filled == {"described": 0, "embedded": 1, "waiting": 0, "stopped": ""}


def test_an_endpoint_that_is_not_there_leaves_the_rest_to_backfill(
    course: Any, tmp_path: Path
) -> None:
    (tmp_path / "requirements.txt").write_text("rich==1\nnobody-knows==1\n", encoding="utf-8")
    secret = {"OPENAI_API_KEY": "sk-\u00e4-secret"}
    url = "http://127.0.0.1:1/v1"
    done = course("xray", "scan", tmp_path, "-p", "app", "--endpoint", url, **secret)
    assert done.returncode == 0
    assert "without a description yet: 1 package" in done.stderr
    assert "127.0.0.1" in done.stderr and "secret" not in done.stderr + done.stdout


def test_old_reports_are_rehearsed_and_then_moved(course: Any, database: FreshDatabase) -> None:
    with connect(database.url, autocommit=True) as conn:
        conn.execute(OLD_TABLE)
        conn.execute(
            "INSERT INTO xray_reports (project, language, payload, file_checksum) "
            "VALUES ('app', 'python', %s, 'x')",
            [Jsonb({"libs": [{"name": "rich", "version": "1"}]})],
        )
    rehearsed = course("xray", "migrate", "--dry-run")
    assert "1 old report with 1 package of 1 project would be moved" in rehearsed.stdout
    moved = json.loads(course("xray", "migrate", "--json").stdout)
    assert (moved["reports"], moved["packages"], moved["is_rehearsal"]) == (1, 1, False)


def test_sync_brings_documents_and_packages_up_to_date(course: Any, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n\nA feature store.\n", encoding="utf-8")
    first = course("sync", tmp_path, "--name", "app")
    assert first.returncode == 0, first.stderr
    assert "1 document, 1 chunk: 1 inserted" in first.stdout
    assert "there is no lock file" in first.stderr
    (tmp_path / "Cargo.lock").write_text(
        '[[package]]\nname = "serde"\nversion = "1.0.219"\nsource = "registry+x"\n',
        encoding="utf-8",
    )
    second = course("sync", tmp_path, "--name", "app")
    assert "1 unchanged" in second.stdout and "rust: 0 skipped, 1 added" in second.stdout
    third = course("sync", tmp_path, "--name", "app")
    assert "1 unchanged" in third.stdout and "rust: unchanged" in third.stdout


def test_sync_brings_a_repository_up_to_date(course: Any) -> None:
    # A name of its own, because the downloads are kept where this machine keeps all of them.
    name = f"heron/app-{secrets.token_hex(4)}"
    repository = Repository(name)
    lock = b"spotipy==2.25.1\n"
    repository.commit({"notes.md": b"# Notes\n\nA feature store.\n", "api/requirements.txt": lock})
    ask = ("sync", name, "--ref", "main")
    try:
        with GitHubServer([repository]) as github:
            where = {"GITHUB_API_URL": github.url, "GITHUB_RAW_URL": github.raw_url}
            first = course(*ask, **where)
            repository.commit({"notes.md": b"# Notes\n\nAnother store.\n"})
            second = course(*ask, **where)
    finally:
        for kind in ("github", "lockfiles"):
            shutil.rmtree(state_dir().joinpath(kind, *name.split("/")), ignore_errors=True)
    assert first.returncode == 0, first.stderr
    assert "documentation: 2 documents" in first.stdout
    assert "python: 0 skipped, 1 added" in first.stdout
    assert second.returncode == 0, second.stderr
    assert "documentation: 1 document, 1 chunk: 0 inserted, 1 updated" in second.stdout
    assert f"no file of {name}" in second.stderr
    assert course(*ask, "--name", "x").returncode == 1
