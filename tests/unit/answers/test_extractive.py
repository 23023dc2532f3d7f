"""What is quoted is in the passages, word for word, and what is not in the index is not made up."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.answers import Passage, Prompt, Request, find_citations, retrieve_context
from course_lib.answers.generators.extractive import ENOUGH, Extractive
from course_lib.answers.units import split_sentences, units_of
from course_lib.embedder import EmbeddingClient
from course_lib.indexing import ingest
from course_lib.records import Query, Scope
from course_lib.settings import project_root
from tests.unit.answers.made import make_passage


def quote(embedder: EmbeddingClient, question: str, *passages: Passage) -> tuple[str, list[str]]:
    request = Request(Prompt("", ""), question, passages, 50, 0)
    return "".join(Extractive(embedder).stream(request)), request.notes


def test_a_quotation_of_ticks_stays_in_its_ticks(embedder: EmbeddingClient) -> None:
    code = "def show():\n    return '````'\n"
    text, _ = quote(embedder, "What does show return?", make_passage(1, code, "a.py", name="show"))
    assert text.startswith("`````\n")
    assert find_citations(text, [make_passage(1, code, "a.py")]).cited == (1,)


# --- units ---


def shown(passage: Passage) -> list[str]:
    return [unit.text for unit in units_of(passage)]


def test_prose_is_cut_into_sentences_items_and_rows() -> None:
    text = (
        "# Title\n\nOne sentence. Another, e.g. This one!\nIt goes\non here.\n\n- an item\n"
        "- another one\n\n| a | b |\n|---|---|\n| c | d |\n\n```\ncode = 1\n```\n"
    )
    assert shown(make_passage(1, text, "a.md")) == [
        "One sentence.", "Another, e.g. This one!", "It goes on here.", "- an item",
        "- another one", "| a | b |", "| c | d |", "code = 1",
    ]  # fmt: skip


def test_halves_at_the_ends_of_a_passage_are_left_out() -> None:
    text = "vidence is gone. A whole sentence stands here. Then it was cut off in the"
    assert shown(make_passage(1, text, "a.md")) == ["A whole sentence stands here."]
    assert shown(make_passage(1, "only a half", "a.md")) == ["only a half"]


def test_a_line_is_read_under_what_it_belongs_to() -> None:
    text = "spec:\n  limits:\n    # Enough.\n    memory: 3Gi\n  cpu: 1\n"
    units = units_of(make_passage(1, text, "a.yaml", kind="Deployment", name="api",
                                  metadata={"header": "kind: Deployment\nname: api"}))  # fmt: skip
    memory = next(unit for unit in units if "memory" in unit.text)
    assert memory.text == "    # Enough.\n    memory: 3Gi"
    assert memory.read_as == (
        "Deployment api kind: Deployment name: api spec: limits: # Enough. memory: 3Gi"
    )
    assert (memory.line, memory.is_code) == (2, True)
    assert "limits" not in next(unit.read_as for unit in units if "cpu" in unit.text)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", []),
        ("One", ["One"]),
        ("Is it? Yes! So…  There.", ["Is it?", "Yes!", "So…", "There."]),
        ('He said "no." Then left.', ['He said "no."', "Then left."]),
        ("Version 1.2 runs. J. Doe knows Dr. No.", ["Version 1.2 runs.", "J. Doe knows Dr. No."]),
    ],
)
def test_sentences_end_where_they_end(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


@given(st.text(alphabet="aB. \n#-|`:'é"), st.sampled_from(["a.md", "a.yaml", "a.py", "a"]))
def test_every_unit_is_in_its_passage(text: str, path: str) -> None:
    words = " ".join(text.split())
    for unit in units_of(make_passage(1, text, path)):
        assert unit.text.strip()
        assert " ".join(unit.text.split()) in words


# --- whether there is an answer ---


def test_the_threshold_answers_and_refuses_as_many_labelled_questions_as_it_says(
    conn: psycopg.Connection[Any], embedder: EmbeddingClient
) -> None:
    """Balanced accuracy 0.81; the threshold with the best one refuses far more answers."""
    data = project_root() / "data"
    parts = {"documents": "documentation", "manifests": "code_manifests"}
    parts["code"] = "code_pipelines"
    for name, partition in parts.items():
        scope = Scope(repo=name, partition=partition)
        ingest(data / name, scope, conn=conn, embedder=embedder)

    def similarities(name: str) -> np.ndarray[Any, Any]:
        lines = (data / "questions" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        asked = [Query(json.loads(line)["question"], top_k=6) for line in lines]
        found = [retrieve_context(conn, embedder, one).passages for one in asked]
        return np.array([max(one.result.similarity_score for one in some) for some in found])

    answerable = np.concatenate([similarities(name) for name in parts])
    others = similarities("unanswerable")
    assert (len(answerable), len(others)) == (175, 44)

    def rates(threshold: float) -> tuple[float, float]:
        return float((answerable >= threshold).mean()), float((others < threshold).mean())

    assert [round(rate, 2) for rate in rates(ENOUGH)] == [0.87, 0.75]
    assert round(sum(rates(ENOUGH)) / 2, 2) == 0.81
    best = max((place / 100 for place in range(100)), key=lambda one: sum(rates(one)))
    assert (best, round(sum(rates(best)) / 2, 2), round(rates(best)[0], 2)) == (0.41, 0.83, 0.71)


def test_the_unanswerable_questions_are_like_the_others_and_have_no_answer() -> None:
    folder = project_root() / "data" / "questions"

    def read(name: str) -> list[dict[str, Any]]:
        lines = (folder / name).read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]

    asked = read("unanswerable.jsonl")
    assert len(asked) >= 40
    assert len({one["question"].casefold() for one in asked}) == len(asked)
    assert [one["id"] for one in asked] == [f"u{n:02}" for n in range(1, len(asked) + 1)]
    assert {one["kind"] for one in asked} == {"near", "far"}
    for one in asked:
        assert one.keys() == read("documents.jsonl")[0].keys()
        assert one["gold_paths"] == one["answer_contains"] == []
