"""What is quoted is in the passages, word for word, and what is not in the index is not made up."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.answers import Passage, Prompt, Request, find_citations, retrieve_context
from course_lib.answers.generators.extractive import NOT_IN_INDEX, Extractive
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


def test_nothing_is_quoted_that_is_not_like_the_question(embedder: EmbeddingClient) -> None:
    page = make_passage(1, "Cats purr when they are stroked.", "cats.md")
    text, notes = quote(embedder, "Who made the first steam engine?", page)
    assert text == NOT_IN_INDEX and "from 0.39 on" in notes[0]
    request = Request(Prompt("", ""), "Who made the first steam engine?", (page,), 50, 0)
    assert "".join(Extractive(embedder, enough=-1).stream(request)).endswith("stroked.\n[1]")


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


@pytest.mark.long
def test_the_threshold_refuses_as_many_labelled_questions_as_it_says(
    conn: psycopg.Connection[Any], embedder: EmbeddingClient
) -> None:
    """It was chosen on questions whose ids have an even digest; the others were looked at once."""
    data = project_root() / "data"
    parts = {"documents": "documentation", "manifests": "code_manifests"}
    parts["code"] = "code_pipelines"
    for name, partition in parts.items():
        scope = Scope(repo=name, partition=partition)
        ingest(data / name, scope, conn=conn, embedder=embedder)

    def refused(name: str) -> list[tuple[int, int]]:
        """Return for each half how many questions are refused, and of how many."""
        halves: tuple[list[bool], list[bool]] = ([], [])
        for line in (data / "questions" / f"{name}.jsonl").read_text("utf-8").splitlines():
            one = json.loads(line)
            passages = retrieve_context(conn, embedder, Query(one["question"], top_k=6)).passages
            text, _ = quote(embedder, one["question"], *passages)
            half = int(sha256(one["id"].encode()).hexdigest(), 16) % 2
            halves[half].append(text == NOT_IN_INDEX)
        return [(sum(half), len(half)) for half in halves]

    assert {name: refused(name) for name in (*parts, "unanswerable")} == {
        "documents": [(3, 33), (6, 30)],
        "manifests": [(3, 30), (4, 28)],
        "code": [(1, 27), (1, 27)],
        "unanswerable": [(17, 21), (16, 23)],
    }


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
