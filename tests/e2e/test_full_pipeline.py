"""The whole way: the compiled pipeline runs over data/, and a search over HTTP finds it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from course_lib.pipeline.compiling import compiled_folder
from course_lib.pipeline.local import run_locally
from course_lib.service import create_app
from course_lib.service.config import ServiceConfig
from course_lib.settings import project_root, settings
from tests.schemas import OwnSchema
from tests.service.running import running

if TYPE_CHECKING:
    from course_lib.teaching.github_server import GitHubServer

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not shutil.which("sh"), reason="kfp starts steps by sh"),
]

QUESTIONS = {
    "What does the abbreviation CACE stand for?": ("documentation", "what-is-mlops.md"),
    "Where are environment variables and the INI file combined into the settings?": (
        "code_manifests",
        "code/heron/config.py",
    ),
    "Why are features old at night?": ("issues", "issues/11.issue.md"),
}


def test_the_compiled_pipeline_fills_the_database_and_search_finds_it(
    tmp_path: Path,
    database: OwnSchema,
    conn: psycopg.Connection,
    github: GitHubServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from kfp import components

    from course_lib.teaching.github_server import sample_repository

    github.add(sample_repository())
    questions = tmp_path / "questions.jsonl"
    all_questions = (project_root() / "data/questions/documents.jsonl").read_text(encoding="utf-8")
    questions.write_text("\n".join(all_questions.splitlines()[:5]), encoding="utf-8")

    compiled = components.load_component_from_file(
        str(compiled_folder() / "ingest_everything.yaml")
    )
    arguments = {
        "repo": "heron/platform",
        "ref": "main",
        "extensions": [".py"],
        "paths": ["code/heron/config.py", "code/heron/drift.py"],
        "shards": 1,
        "questions": str(questions),
    }
    run = run_locally(compiled, arguments, root=tmp_path / "runs", url=database.url)
    assert {one.outcome for one in run.attempts} == {"succeeded"}
    (figures,) = run.metadata("evaluate", "metrics")
    assert figures["n"] == 5 and figures["recall@10"] >= 0.8

    partitions = dict(
        conn.execute("SELECT partition, count(*) FROM document_chunks GROUP BY 1").fetchall()
    )
    assert set(partitions) == {"documentation", "issues", "code_manifests"}
    (metrics,) = run.metadata("build-index", "metrics")
    assert metrics["chunks"] == metrics["inserted"] == sum(partitions.values())
    (report,) = run.artifacts("report", "text")
    text = report.read_text(encoding="utf-8")
    assert all(f"chunks {count}," in text for count in partitions.values())

    with running(create_app(ServiceConfig(database_url=database.url))) as service:
        for question, (partition, document) in QUESTIONS.items():
            answer = service.client.post(
                "/search", json={"query": question, "top_k": 5, "partitions": [partition]}
            )
            assert answer.status_code == 200, answer.text
            found = [one["document_name"] for one in answer.json()["results"]]
            assert any(name.startswith(document) for name in found), (question, found)
    settings.cache_clear()
