"""Pipelines that run on this machine: once, twice, with a shard that fails, and to a bad end."""

from __future__ import annotations

import builtins
import logging
import shutil
import sys
from pathlib import Path

import psycopg
import pytest

from course_lib.pipeline.catalogue import PipelineError
from course_lib.pipeline.local import Event, LocalRun, run_locally
from course_lib.store import create_schema
from course_lib.store.databases import FreshDatabase
from tests.pipeline.conftest import stored

pytestmark = pytest.mark.skipif(not shutil.which("sh"), reason="kfp starts steps by sh")

FAIL_ONCE = """
CREATE SEQUENCE tries;
CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    -- What a sequence has counted, no roll-back takes back.
    IF NEW.document_name = 'millstone.md' AND nextval('tries') = 1 THEN
        RAISE EXCEPTION 'the disk is full';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER fail BEFORE INSERT ON document_chunks FOR EACH ROW EXECUTE FUNCTION fail();
"""


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    file = tmp_path / "questions.jsonl"
    file.write_text(
        '{"question": "What does the hopper do?", "kind": "docs", "gold_paths": ["hopper.md"]}\n',
        encoding="utf-8",
    )
    return file


def test_a_shard_that_fails_is_tried_again_and_a_second_run_changes_nothing(
    folder: Path,
    questions: Path,
    tmp_path: Path,
    database: FreshDatabase,
    conn: psycopg.Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_hushhush")
    create_schema(conn)
    conn.execute(FAIL_ONCE)
    arguments = {"source": str(folder), "repo": "mill", "questions": str(questions)}
    root = logging.getLogger()
    before = (builtins.print, sys.stdout, root.level, root.handlers[:], root.filters[:])
    told: list[Event] = []

    def run_once() -> LocalRun:
        return run_locally(
            "docs_pipeline",
            arguments,
            root=tmp_path / "runs",
            url=database.url,
            on_event=told.append,
        )

    first = run_once()
    assert first.count("retried") == 1 and first.count("failed") == 1
    assert "the disk is full" in first.log.read_text(encoding="utf-8")
    rows = stored(conn)
    assert len({row[3] for row in rows}) == 6, "nothing is lost"
    assert len({row[3:5] for row in rows}) == len(rows), "and nothing is there twice"

    second = run_once()
    assert stored(conn) == rows, "not even the time of the last change"
    cached = [event.task for event in second.events if event.what == "cached"]
    assert cached == ["load-documents", "chunk-documents", "chunk-documents"]
    # Two shards may tell at the same time.
    assert sorted(told, key=str) == sorted([*first.events, *second.events], key=str)
    # kfp's threads leave another `print` behind, and handlers that write to a closed file.
    assert (builtins.print, sys.stdout, root.level, root.handlers, root.filters) == before

    for run in (first, second):
        (metrics,) = run.metadata("build-index", "metrics")
        assert metrics["documents"] == 6 and metrics["chunks"] == len(rows)
        (figures,) = run.metadata("evaluate", "metrics")
        assert figures["n"] == 1 and figures["recall@10"] == 1
        (page,) = run.artifacts("report", "page")
        assert "<h1>Index is up to date</h1>" in page.read_text(encoding="utf-8")
    (table,) = second.artifacts("evaluate", "answers")
    assert "What does the hopper do?" in table.read_text(encoding="utf-8")

    password = psycopg.conninfo.conninfo_to_dict(database.url)["password"]
    files = [file for file in (tmp_path / "runs").rglob("*") if file.is_file()]
    assert len(files) > 20
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert str(password) not in text and "ghp_hush" not in text, file


@pytest.mark.long
def test_a_document_that_changed_is_noticed_although_no_parameter_did(
    folder: Path,
    questions: Path,
    tmp_path: Path,
    database: FreshDatabase,
    conn: psycopg.Connection,
) -> None:
    arguments = {"source": str(folder), "repo": "mill", "questions": str(questions), "shards": 3}
    run_locally("docs_pipeline", arguments, root=tmp_path / "runs", url=database.url)
    before = stored(conn)
    (folder / "sail.md").write_text("# sail\n\nFour of them.\n", encoding="utf-8")
    run = run_locally("docs_pipeline", arguments, root=tmp_path / "runs", url=database.url)
    assert run.count("cached") == 0
    now = stored(conn)
    assert [row for row in now if row[3] != "sail.md"] == [
        row for row in before if row[3] != "sail.md"
    ]
    assert any("Four of them." in str(row[5]) for row in now)


def test_a_pipeline_that_fails_says_which_step_and_why_and_reports_all_the_same(
    tmp_path: Path, database: FreshDatabase
) -> None:
    with pytest.raises(PipelineError, match=r"fingerprint-documents failed: .*nowhere") as caught:
        run_locally(
            "docs_pipeline", {"source": "nowhere"}, root=tmp_path / "runs", url=database.url
        )
    assert "log.txt" in caught.value.hint
    (page,) = (tmp_path / "runs").rglob("report/page")
    text = page.read_text(encoding="utf-8")
    assert "The run ended as FAILED" in text and "The index holds nothing of it." in text
