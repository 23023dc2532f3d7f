"""`course eval` as a person calls it: tables, JSON, a run that is kept, mistakes that are named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from course_lib.evaluation.metrics import NAMES
from tests.unit.command_line import Course


@pytest.fixture
def command() -> Course:
    """The command line with the machine's own server: `eval` makes a database of its own there."""
    return Course({})


@pytest.fixture
def asked(folder: Path, tmp_path: Path) -> Path:
    records = [
        {"id": "cat", "question": "What does a stroked cat do?", "gold_paths": ["cats.md"]},
        {"id": "ship", "question": "How many masts has a frigate?", "gold_paths": ["ships.md"]},
        {"id": "job", "question": "What runs at night?", "gold_paths": ["a.yaml"]},
    ]
    records[2]["kind"] = "manifests"
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    (manifests / "a.yaml").write_text(
        "apiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: night\nspec:\n"
        "  schedule: '0 3 * * *'\n",
        encoding="utf-8",
    )
    path = tmp_path / "asked.jsonl"
    lines = [json.dumps({"kind": "docs"} | record) for record in records]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_a_run_is_never_kept_over_the_questions(command: Course, asked: Path, folder: Path) -> None:
    before = asked.read_bytes()
    done = command("eval", asked, "--corpus", f"docs={folder}", "--save", asked)
    assert done.returncode == 1 and "is the file of questions" in done.stderr
    assert asked.read_bytes() == before


def test_json_has_a_line_of_metrics_for_each_kind_and_a_kept_run_is_compared(
    command: Course, asked: Path, folder: Path, tmp_path: Path
) -> None:
    corpora = ["--corpus", f"docs={folder}", "--corpus", f"manifests={tmp_path / 'manifests'}"]
    kept = tmp_path / "run.json"
    done = command("eval", asked, *corpora, "--json", "--each", "--rerank", "none", "--save", kept)
    assert "ship  place 1" in done.stderr
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [(kind, list(means)) for kind, means in found.items()] == [
        ("docs", [*NAMES, "n"]), ("manifests", [*NAMES, "n"])
    ]  # fmt: skip
    assert found["docs"]["mrr@10"] == found["docs"]["hit@1"] == 1 and found["docs"]["n"] == 2
    again = command(
        "eval", asked, *corpora, "--own", "--mode", "dense", "--each", "--against", kept
    )
    assert again.returncode == 0, again.stderr
    assert "dense + maxsim, own corpus, by file" in again.stdout
    assert "ship  place 1  How many masts has a frigate?" in again.stdout
    assert "docs: mrr@10 1.000 → 1.000: +0.000 (n is too small for an interval)" in again.stdout
    assert "1.000 (n too small)" in again.stdout
    # A part of the questions, whose kind is that of the only corpus.
    first = json.loads(asked.read_text(encoding="utf-8").splitlines()[0])
    del first["kind"]
    part = tmp_path / "part.jsonl"
    part.write_text(json.dumps(first | {"by": "me"}), encoding="utf-8")
    docs = ("-c", f"docs={folder}", "--rerank", "none")
    again = command("eval", part, *docs, "--json", "--against", kept)
    assert json.loads(again.stdout)["docs"]["n"] == 1, again.stderr
    assert "lines without a kind: 1, the first is line 1; taken to be about docs" in again.stderr
    assert "line 1: 'by' is no field of a question and has no effect" in again.stderr
    assert "only the kept run asked them: docs (1), manifests (1)" in again.stderr


def test_mistakes_are_told_before_anything_is_ingested(
    command: Course, asked: Path, folder: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"question": "When?", "kind": "docs", "gold_path": ["a"]}', encoding="utf-8")
    said = command.fails("eval", broken, "--corpus", f"docs={folder}")
    assert "broken.jsonl, line 1, gold_paths: it is missing" in said
    assert "'gold_path' is no field of a question and has no effect; is gold_paths meant?" in said
    broken.write_text('{"question": "When?", "gold_paths": ["a"]}', encoding="utf-8")
    said = command.fails("eval", broken, "-c", f"docs={folder}", "-c", f"code={tmp_path}")
    assert 'broken.jsonl, line 1, kind: it is missing; write "kind": "docs" or' in said
    assert "is not a directory" in command.fails("eval", asked, "--corpus", "docs=nowhere")
    assert "no question is about code" in command.fails("eval", asked, "-c", f"code={folder}")
    assert "holds no run" in command.fails(
        "eval", asked, "-c", f"docs={folder}", "--against", broken
    )
