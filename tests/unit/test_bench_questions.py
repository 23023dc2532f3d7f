"""The questions over the real corpora, and the program that checks them."""

from __future__ import annotations

import copy
import importlib.util
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FIELDS = {
    "id": str,
    "question": str,
    "kind": str,
    "gold_paths": list,
    "gold_resources": list,
    "also_acceptable_paths": list,
    "answer_contains": list,
}


def read(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


@pytest.fixture(scope="module")
def checker() -> Any:
    """The script beside the benches, which is no part of a package."""
    path = ROOT / "tests" / "bench" / "check_questions.py"
    spec = importlib.util.spec_from_file_location("check_questions", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_questions_over_the_real_corpora_are_well_formed(checker: Any) -> None:
    asked = checker.read_questions()
    assert checker.structural_problems(asked) == []
    assert Counter(question["kind"] for question in asked) == {"docs": 60, "manifests": 60}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"split": "test"}, "belongs to tune"),
        ({"id": "kd02"}, "id used twice"),
        ({"id": "q1"}, "not of the form"),
        ({"kind": "code"}, "neither docs nor manifests"),
        ({"question": "No question."}, "does not end in"),
        ({"gold_paths": []}, "no gold path"),
        ({"gold_paths": ["a.txt"]}, "is no .md"),
        ({"also_acceptable_paths": None}, "also_acceptable_paths"),
        ({"gold_resources": [{"kind": "Job", "name": "a"}]}, "docs have none"),
        ({"answer": ""}, "answer"),
    ],
)
def test_the_checker_notices_what_is_wrong_with_a_question(
    checker: Any, change: dict[str, Any], problem: str
) -> None:
    asked = copy.deepcopy(checker.read_questions())
    asked[0].update(change)
    assert any(problem in found for found in checker.structural_problems(asked))


def test_the_checker_notices_missing_files_missing_resources_and_copies(
    checker: Any, tmp_path: Path
) -> None:
    job = "kind: Job\nmetadata:\n  name: a\n"
    (tmp_path / "one.yaml").write_text(job, encoding="utf-8")
    (tmp_path / "two.yaml").write_text(f"# A copy.\n---\n{job}", encoding="utf-8")
    question: dict[str, Any] = {
        "id": "km01",
        "question": "Which?",
        "kind": "manifests",
        "gold_paths": ["one.yaml"],
        "gold_resources": [{"kind": "Job", "name": "a"}],
        "also_acceptable_paths": ["two.yaml"],
        "split": "tune",
    }
    wrong: dict[str, dict[str, Any]] = {
        "there is no three.yaml": {"also_acceptable_paths": ["two.yaml", "three.yaml"]},
        "no gold path has": {"gold_resources": [{"kind": "Job", "name": "b"}]},
        "two.yaml holds a copy": {"also_acceptable_paths": []},
    }
    assert checker.corpus_problems([question], tmp_path, tmp_path) == []
    for problem, change in wrong.items():
        (found,) = checker.corpus_problems([{**question, **change}], tmp_path, tmp_path)
        assert problem in found
