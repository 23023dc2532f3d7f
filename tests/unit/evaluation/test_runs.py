"""Runs: what counts as the same file or resource, what is compared, what a file keeps."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from course_lib.errors import InputError
from course_lib.evaluation import (
    Question,
    Run,
    compare,
    evaluate,
    read_questions,
    read_run,
    write_run,
)


@dataclass(frozen=True)
class Passage:
    document_name: str
    repo_slug: str = "manifests"
    kind: str = "Job"
    name: str = "a"


ROLE = Question(
    "m1", "Who may read?", "manifests", ("a.yaml",), ({"kind": "Role", "name": "reader"},)
)
PAGE = Question("d1", "What is it?", "docs", ("a.yaml",), also_acceptable_paths=("b.md",))


def run_of(found: dict[str, list[Passage]], *questions: Question, name: str = "") -> Run:
    return evaluate(lambda question: found[question.id], questions, name=name)


def test_a_path_of_another_corpus_is_another_file() -> None:
    found = [Passage("a.yaml"), Passage("a.yaml", "docs")]
    run = run_of({"m1": found, "d1": found}, ROLE, PAGE)
    assert run.answers[0].files == ("a.yaml", "docs:a.yaml")
    assert [answer.place for answer in run.answers] == [1, 2]
    assert run.by_kind()["docs"]["mrr@10"] == 0.5


def test_a_resource_of_that_name_in_another_file_is_another_resource() -> None:
    found = [
        Passage("b.yaml", kind="Role", name="reader"),
        Passage("a.yaml", kind="Role", name="writer"),
        Passage("a.yaml", kind="Role", name="reader"),
    ]
    run = run_of({"m1": found}, ROLE)
    assert run.means("file")["mrr@10"] == 1 / 2
    assert run.means("resource")["mrr@10"] == pytest.approx(1 / 3)


def test_an_accent_of_two_characters_is_the_accent_of_one(tmp_path: Path) -> None:
    """macOS may write a file's name so, and a person the label, or the other way round."""
    one, two = "caf\u00e9.md", "cafe\u0301.md"
    file = tmp_path / "questions.jsonl"
    line = {
        "id": "d1",
        "question": "?",
        "kind": "docs",
        "gold_paths": [two],
        "answer_contains": ["x"],
    }
    file.write_text(json.dumps(line), encoding="utf-8")
    for asked in (
        Question("d1", "?", "docs", (one,), answer_contains=("x",)),
        *read_questions(file),
    ):
        for name in (one, two):
            run = run_of({"d1": [Passage(name, "docs")]}, asked)
            assert run.answers[0].place == 1
            assert asked.is_answered_by(name, "x")


def test_only_ten_different_files_count() -> None:
    files = [Passage(f"{n}.yaml") for n in range(10) for _ in range(3)]
    run = run_of({"m1": [*files, Passage("a.yaml")]}, ROLE)
    assert len(run.answers[0].files) == 10 and run.answers[0].place is None
    run = run_of({"m1": [*files[:27], Passage("a.yaml")]}, ROLE)
    assert run.answers[0].place == 10


ANSWER = {"question": {"question": "?", "kind": "docs", "gold_paths": ["a.md"]},
          "files": [], "resources": [], "seconds": 0}  # fmt: skip


def test_a_file_that_holds_no_run_is_refused(tmp_path: Path) -> None:
    broken: tuple[Any, ...] = (
        1, {}, ANSWER | {"question": "text"}, ANSWER | {"files": "abc"}, ANSWER | {"files": [1]},
        ANSWER | {"seconds": None},
        ANSWER | {"question": {"question": "?", "kind": "docs", "gold_paths": 5}},
    )  # fmt: skip
    head = {"format": "course-run-v1", "name": "a"}
    texts = [json.dumps(head | {"answers": [one]}) for one in broken]
    for text in ("", "{}", '{"format": "other"}', "[1]", "[" * 100_000, *texts):
        (tmp_path / "run.json").write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match="holds no run") as caught:
            read_run(tmp_path / "run.json")
        assert "Error(" not in str(caught.value)


def test_a_run_that_cannot_be_written_leaves_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    write_run(run_of({"m1": []}, ROLE), path)
    folder = tmp_path / "there"
    folder.mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        write_run(run_of({"m1": []}, ROLE), folder)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["run.json", "there"]


def test_runs_are_compared_question_by_question_and_only_if_they_are_the_same() -> None:
    questions = [Question(f"q{n}", f"{n}?", "docs", ("a.md",)) for n in range(20)]
    here, there = Passage("a.md", "docs"), Passage("b.md", "docs")

    def run(first: int) -> Run:
        """Answer the first questions at place 1 and the others at place 2."""
        found = {q.id: [here] if n < first else [there, here] for n, q in enumerate(questions)}
        return run_of(found, *questions)

    better = compare(run(5), run(15))
    assert better.verdict == "better" and len(better.better) == 10 and better.worse == ()
    assert better.difference.mean == pytest.approx(0.25)
    assert compare(run(15), run(5)).verdict == "worse"
    assert compare(run(5), run(6)).verdict == "undecided"
    other = run_of({"m1": []}, ROLE)
    with pytest.raises(InputError, match="did not ask the same questions"):
        compare(run(5), other)
    with pytest.raises(InputError, match="no metric 'map'"):
        other.values("map")
    with pytest.raises(InputError, match="no questions"):
        evaluate(lambda question: [], [])
