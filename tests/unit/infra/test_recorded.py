"""What a language model said once: each record is whole, and the page's tables are made of them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from course_lib.answers.context import ContextOptions, retrieve_context
from course_lib.answers.faithfulness import claims_of
from course_lib.embedder import EmbeddingClient
from course_lib.evaluation.corpora import indexed
from course_lib.records import Query
from course_lib.settings import project_root
from infra.course import judged
from infra.course.recording import (
    CONDITIONS,
    CORPORA,
    QUESTIONS,
    QUOTING,
    answers,
    half_of,
    read_lines,
    record,
)
from tests.unit.answers.test_local import with_a_model

RECORDS = [one for name in (*CONDITIONS, QUOTING) for one in answers(name)]
PAGE = (project_root() / "infra" / "site" / "using.md").read_text("utf-8")


def test_a_record_holds_what_the_model_was_told_and_with_what_it_was_made() -> None:
    assert len(RECORDS) > 300
    assert len({(one["condition"], one["set"], one["id"]) for one in RECORDS}) == len(RECORDS)
    asked = [one for one in RECORDS if one["condition"] != QUOTING]
    for one in asked:
        assert one["half"] == half_of(one["id"])
        assert all(passage["text"].rstrip() in one["prompt"]["user"] for passage in one["passages"])
        assert f"Question: {one['question']}" in one["prompt"]["user"]
        assert one["tokens"]["answer"] > 0 and one["made"]["temperature"] == 0
    assert {one["made"]["model"]["name"] for one in asked} == {"Qwen2.5 Coder 1.5B Instruct GGUF"}
    assert len({one["made"]["model"]["sha256"] for one in asked}) == 1


def test_only_the_held_out_half_was_judged_and_each_answer_by_two_readers() -> None:
    read = [one for one in RECORDS if one.get("judgements")]
    assert {one["half"] for one in read} == {"held out"}
    for one in read:
        assert [said["reader"] for said in one["judgements"]] == ["first", "second"]
        claims = [] if one["condition"] == QUOTING else claims_of(one["answer"])
        for said in one["judgements"]:
            assert said["verdict"] in ("right", "partly", "wrong", "refused")
            assert [sentence["text"] for sentence in said["sentences"]] == claims


def test_kappa_is_what_readers_agree_on_beyond_chance() -> None:
    same = [("right", "right"), ("wrong", "wrong")]
    assert judged.kappa(same) == 1
    assert judged.kappa([*same, ("right", "wrong"), ("wrong", "right")]) == 0


def test_half_of_the_answers_to_the_older_prompt_are_citations_alone() -> None:
    read = [one for one in answers("before") if one.get("judgements")]
    alone = [one for one in read if not re.sub(r"\[[^]]*\]|[\s.]", "", one["answer"])]
    assert f"{len(alone)} of its {len(read)} answers were citations without a sentence" in PAGE


@pytest.mark.long
def test_the_tables_of_the_page_are_those_of_the_records(embedder: EmbeddingClient) -> None:
    assert judged.tuning_table(judged.TUNED) in PAGE
    assert judged.judged_table(embedder) in PAGE
    assert judged.agreement() in PAGE


@pytest.mark.long
def test_the_answer_is_among_the_passages_as_often_as_the_page_says(
    embedder: EmbeddingClient,
) -> None:
    asked = read_lines(QUESTIONS / "documents.jsonl")
    tuning = [one for one in asked if half_of(one["id"]) == "tuning"]
    with indexed([CORPORA["documents"]], embedder) as conn:

        def is_there(one: dict[str, Any], top_k: int, diversity: float) -> bool:
            query = Query(one["question"], top_k=top_k)
            options = ContextOptions(diversity=diversity)
            passages = retrieve_context(conn, embedder, query, options).passages
            texts = [" ".join(passage.text.lower().split()) for passage in passages]
            return any(each.lower() in text for each in one["answer_contains"] for text in texts)

        for top_k in (3, 6):
            counts = [sum(is_there(one, top_k, how) for one in tuning) for how in (0, 0.3, 0.5)]
            assert "for {}, {} and {}".format(*counts) in PAGE


class TestWithAModel:
    pytestmark = with_a_model

    def test_a_question_is_asked_and_recorded_as_it_was_before(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
    ) -> None:
        monkeypatch.setattr("infra.course.recording.ANSWERS", tmp_path)
        before = next(one for one in RECORDS if one["condition"] == "numbered 3")
        record("documents", ["numbered 3"], half="tuning", most=1)
        [after] = answers("numbered 3")
        assert {**after, "answer": "", "seconds": 0, "made": {}, "tokens": {}} == {
            **before, "answer": "", "seconds": 0, "made": {}, "tokens": {}
        }  # fmt: skip
        assert after["answer"] and after["made"]["model"] == before["made"]["model"]
