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


def test_windows_line_ends_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    path = tmp_path / "asked.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(GOOD).encode() + b"\r\n")
    assert [question.question for question in read_questions(path)] == ["When?"]


def test_a_line_that_is_nested_without_end_is_an_explained_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 1 is not JSON: recursion limit"):
        read_questions(written(tmp_path, "[" * 100_000))


def test_questions_without_their_corpus_are_left_out_and_told(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("At night.", encoding="utf-8")
    here = Question("a", "?", "docs", ("a.md",))
    told: list[str] = []
    asked = questions_about([here, Question("c", "?", "code", ("c.py",))],
                            [Corpus("docs", tmp_path)], told.append)  # fmt: skip
    assert asked == [here]
    assert told == ["1 questions are left out, whose corpus was not given: code"]
