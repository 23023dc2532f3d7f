"""Descriptions from a model: in batches, within a budget, and whatever the model writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from course_lib.xray import LockFiles, Package, sync_project
from course_lib.xray.descriptions import DescriberStoppedError, Descriptions, InstalledDescriber
from course_lib.xray.endpoint import ModelDescriber

PACKAGES = [Package("python", f"p{number}", "1.0") for number in range(5)]
Answer = Callable[[str], str]


class Run:
    """A describer, what it was asked, what it gave before it stopped, and why it stopped."""

    def __init__(self, *answers: Answer, token_budget: int = 50_000) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.describer = ModelDescriber(self._ask, token_budget)
        self.batches: list[Descriptions] = []
        self.stopped = ""

    def _ask(self, system: str, question: str, most: int) -> str:
        self.asked.append(question)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer(question)

    def describe(self, packages: list[Package]) -> Run:
        try:
            for found in self.describer.describe(packages):
                self.batches.append(found)
        except DescriberStoppedError as error:
            self.stopped = str(error)
        return self


def well(question: str) -> str:
    """Answer as a good model does: one line a package."""
    names = [line.split(" ")[0] for line in question.splitlines()[1:]]
    rows = [{"name": name, "description": f"What {name} does"} for name in names]
    return "\n".join(map(json.dumps, rows))


@pytest.fixture(autouse=True)
def two_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("course_lib.xray.endpoint.BATCH", 2)


def test_packages_are_asked_for_in_batches_of_one_language() -> None:
    packages = [*PACKAGES[:3], Package("go", "g", "v1"), Package("go", "h")]
    run = Run(well).describe(packages)
    assert [sorted(one.name for one in found) for found in run.batches] == [
        ["p0", "p1"],
        ["p2"],
        ["g", "h"],
    ]
    assert run.batches[0][PACKAGES[0]] == "What p0 does"
    assert run.stopped == "" and run.describer.spent > 0
    assert run.asked[-1] == "Packages for go:\ng v1\nh"


def test_what_models_like_to_write_around_an_answer_does_no_harm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = """Sure! Here you are:
```json
[
  {"name": "p0", "description": "One\\n  line"},
  {"name": "p1", "description": ""},
  {"name": "stranger", "description": "Not asked for"},
  {"name": ["p1"], "description": "No name"},
  {"name": "p2", "description": {"no": "text"}},
  {"name": "p3", "description": "%s"},
  {"name": "p4", "descr""" % ("long " * 200)
    monkeypatch.setattr("course_lib.xray.endpoint.BATCH", 5)
    run = Run(lambda question: text).describe(PACKAGES)
    [found] = run.batches
    assert {one.name: text[:8] for one, text in found.items()} == {
        "p0": "One line",
        "p3": "long lon",
    }
    assert max(map(len, found.values())) <= 300


def test_an_answer_that_is_none_costs_no_more_than_its_batch() -> None:
    run = Run(lambda question: "no JSON", lambda question: "", well).describe(PACKAGES)
    assert [package.name for found in run.batches for package in found] == ["p4"]
    assert run.stopped == ""


def test_a_run_keeps_within_its_budget_and_the_next_one_resumes(
    conn: psycopg.Connection[Any], client: Any, catalogue: Any
) -> None:
    lock = LockFiles({"requirements.txt": "".join(f"p{n}==1\n" for n in range(5))})
    first = Run(well, token_budget=450)
    done = sync_project(conn, "app", lock, embedder=client, describer=first.describer)
    # One request may cost up to 120 tokens for its answer and some for its question.
    assert 0 < first.describer.spent <= 450
    assert 0 < done.filled.described < 5
    assert done.filled.waiting == 5 - done.filled.described
    assert "of 450 tokens are used" in done.filled.stopped
    assert {model for _, model in catalogue(conn).values()} == {client.model_name}
    second = Run(well)
    filled = sync_project(conn, "app", lock, embedder=client, describer=second.describer).filled
    assert filled.described == 5 - done.filled.described
    assert (filled.waiting, filled.stopped) == (0, "")
    assert all(text == f"What {name} does" for name, (text, _) in catalogue(conn).items())


def test_installed_packages_describe_themselves() -> None:
    asked = [Package("python", "pydantic-settings", "0"), Package("python", "not-here", "0")]
    [found] = InstalledDescriber().describe(asked)
    assert set(found) == {asked[0]} and "\n" not in found[asked[0]]
    assert list(InstalledDescriber().describe([Package("ruby", "pydantic")])) == []
