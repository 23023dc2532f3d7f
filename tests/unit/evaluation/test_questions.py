"""Reading questions: what is right comes through; what is wrong is in tests/blackbox."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from course_lib.errors import InputError
from course_lib.evaluation import Corpus, Question, questions_about, read_questions

GOOD: dict[str, Any] = {"question": "When?", "kind": "docs", "gold_paths": ["a.md"]}


def written(folder: Path, *records: object) -> Path:
    path = folder / "asked.jsonl"
    lines = [one if isinstance(one, str) else json.dumps(one) for one in records]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_missing_fields_are_filled_and_others_left_alone(tmp_path: Path) -> None:
    path = written(tmp_path, "", GOOD | {"author": "me", "split": "tune"})
    [question] = read_questions(path)
    assert question == Question("q02", "When?", "docs", ("a.md",), split="tune")


def test_fields_that_no_question_has_are_told_once(tmp_path: Path) -> None:
    told: list[str] = []
    path = written(tmp_path, GOOD | {"author": "me", "Split": "tune"}, GOOD | {"author": "you"})
    read_questions(path, say=told.append)
    assert told == ["asked.jsonl: fields that have no effect: Split, author"]


def test_windows_line_ends_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    path = tmp_path / "asked.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(GOOD).encode() + b"\r\n")
    assert [question.question for question in read_questions(path)] == ["When?"]


def test_a_line_that_is_nested_without_end_is_an_explained_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 1 is nested too deep"):
        read_questions(written(tmp_path, "[" * 100_000))


def test_questions_without_their_corpus_or_their_files_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("At night.", encoding="utf-8")
    docs = Corpus("docs", tmp_path)
    here, gone = (Question(name, "?", "docs", (f"{name}.md",)) for name in "ab")
    other = Question("c", "?", "code", ("c.py",))
    told: list[str] = []
    assert questions_about([here, gone, other], [docs], told.append) == [here, gone]
    assert len(told) == 2 and "left out" in told[0] and "b.md of question b" in told[1]
    with pytest.raises(InputError, match="no question is about docs"):
        questions_about([other], [docs])
    with pytest.raises(InputError, match="holds none of the files"):
        questions_about([gone], [docs])
    with pytest.raises(InputError, match="same kind"):
        questions_about([here], [docs, docs])
