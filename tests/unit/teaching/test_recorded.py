"""Lab 15 reads what a language model once said, and asks a model only where a reader sits."""

from __future__ import annotations

from pathlib import Path

import pytest

from course_lib.answers.citations import check_citations
from course_lib.answers.generators.base import GenerationError
from course_lib.settings import Settings, project_root
from course_lib.teaching.lab import recorded
from course_lib.teaching.lab.recorded import answer_of, judged_sentences, written_sentences

CONDITION = "numbered 3"


def test_each_held_out_answer_was_judged_by_two_readers_sentence_by_sentence() -> None:
    records = recorded.recorded(CONDITION)
    assert len(records) == len({one["id"] for one in records}) == 80
    for one in records:
        first, second = one["judgements"]
        assert (first["reader"], second["reader"]) == ("first", "second")
        for judgement in (first, second):
            assert judgement["verdict"] in ("right", "partly", "wrong", "refused")
        assert [one["text"] for one in first["sentences"]] == [
            one["text"] for one in second["sentences"]
        ]
    table = judged_sentences(records, check_citations)
    assert {*table.supported, *table.second} == {True, False} and len(table) > 80
    # What a reader calls supported has a citation; one answer says "Passage 3" in its place.
    assert (~table.evidence[table.supported].map(bool)).sum() == 1


def test_the_halves_have_no_question_in_common_and_all_44_without_an_answer_are_there() -> None:
    halves = [recorded.recorded(CONDITION, half) for half in ("tuning", "held out")]
    ids = [one["id"] for half in halves for one in half]
    assert len(ids) == len({*ids})
    assert sum(one["set"] == "unanswerable" for half in halves for one in half) == 44


def test_a_written_sentence_has_the_lines_of_its_section_and_of_those_below_it() -> None:
    folder = project_root() / "data" / "documents"
    pages = {page.name: page.read_text("utf-8") for page in folder.glob("*.md")}
    table = written_sentences(pages)
    assert len(table) == 180 and table.supported.sum() == 90
    evidence = table.evidence[table.heading == "Comparing vectors"].iloc[0]
    assert any("length 1" in line for line in evidence)
    assert not any("IVFFlat" in line for line in evidence)


def test_only_a_notebook_that_somebody_reads_asks_the_model(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = recorded.recorded(CONDITION, "tuning")[0]
    named = Settings(RAG_MODEL_FILE=str(tmp_path / "none.gguf"))
    monkeypatch.setattr(recorded, "settings", lambda: named)
    assert answer_of(record) == record["answer"] and not capsys.readouterr().out
    assert answer_of(record, live=True) == record["answer"]
    assert "only in JupyterLab" in capsys.readouterr().out
    monkeypatch.setattr(recorded, "has_widgets", lambda: True)
    with pytest.raises(GenerationError, match=r"no model at .*none\.gguf"):
        answer_of(record, live=True)
