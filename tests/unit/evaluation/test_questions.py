"""Reading questions: what is right comes through, what is wrong is named by line and field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from course_lib.errors import InputError
from course_lib.evaluation import Corpus, Question, questions_about, read_questions
from course_lib.settings import project_root

GOOD: dict[str, Any] = {"question": "When?", "kind": "docs", "gold_paths": ["a.md"]}


def written(folder: Path, *records: object) -> Path:
    path = folder / "asked.jsonl"
    lines = [one if isinstance(one, str) else json.dumps(one) for one in records]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_every_question_of_the_course_is_read() -> None:
    for name in ("documents", "manifests", "code"):
        path = project_root() / "data" / "questions" / f"{name}.jsonl"
        questions = read_questions(path)
        assert len(questions) == len(path.read_text(encoding="utf-8").splitlines())
        assert all(question.answer_contains for question in questions)


def test_missing_fields_are_filled_and_others_left_alone(tmp_path: Path) -> None:
    path = written(tmp_path, "", GOOD | {"author": "me", "split": "tune"})
    [question] = read_questions(path)
    assert question == Question("q02", "When?", "docs", ("a.md",), split="tune")


def test_a_field_that_no_question_has_is_told_once(tmp_path: Path) -> None:
    odd = {"question": "When?", "kind": "docs", "gold_path": ["a.md"], "author": "me"}
    path = written(
        tmp_path, GOOD | {"author": "me", "Split": "tune"}, GOOD | {"author": "you"}, odd
    )
    told: list[str] = []
    with pytest.raises(InputError, match="line 3, gold_paths: it is missing"):
        read_questions(path, say=told.append)
    assert told == [
        "asked.jsonl, line 1: 'author' is no field of a question and has no effect",
        "asked.jsonl, line 1: 'Split' is no field of a question and has no effect; is split meant?",
        "asked.jsonl, line 3: 'gold_path' is no field of a question and has no effect; "
        "is gold_paths meant?",
    ]


def test_a_question_without_a_kind_is_about_the_only_corpus_or_a_mistake(tmp_path: Path) -> None:
    bare = {name: value for name, value in GOOD.items() if name != "kind"}
    path = written(tmp_path, GOOD, bare, bare)
    told: list[str] = []
    kinds = [one.kind for one in read_questions(path, kinds=["wiki"], say=told.append)]
    assert kinds == ["docs", "wiki", "wiki"]
    assert told == [
        "asked.jsonl: lines without a kind: 2, the first is line 2; taken to be about wiki"
    ]
    with pytest.raises(InputError) as caught:
        read_questions(path, kinds=["docs", "code"])
    assert (
        'asked.jsonl, line 2, kind: it is missing; write "kind": "docs" or "kind": "code"'
        in str(caught.value)
    )


def test_windows_line_ends_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    path = tmp_path / "asked.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(GOOD).encode() + b"\r\n")
    assert [question.question for question in read_questions(path)] == ["When?"]


@pytest.mark.parametrize(
    ("record", "told"),
    [
        ("{", "line 2 is no JSON"),
        ("[]", "line 2, question: a JSON object is expected, not a list"),
        ({}, "line 2, question: it is missing"),
        (GOOD | {"question": " "}, "line 2, question: it is empty"),
        (GOOD | {"question": 3}, "line 2, question: text is expected, not a number"),
        (GOOD | {"kind": None}, "line 2, kind: it is missing"),
        ({"question": "When?", "kind": "docs"}, "line 2, gold_paths: it is missing"),
        (GOOD | {"gold_paths": []}, "line 2, gold_paths: at least one"),
        (GOOD | {"gold_paths": "a.md"}, "line 2, gold_paths: a list is expected, not text"),
        (GOOD | {"gold_paths": [None]}, "line 2, gold_paths: it holds null"),
        (GOOD | {"gold_paths": ["/a.md"]}, "line 2, gold_paths: '/a.md' must be relative"),
        (GOOD | {"also_acceptable_paths": ["..\\a"]}, "line 2, also_acceptable_paths: "),
        (GOOD | {"gold_resources": {}}, "line 2, gold_resources: a list is expected"),
        (GOOD | {"gold_resources": [{"kind": "Job"}]}, "line 2, gold_resources: "),
        (GOOD | {"answer_contains": [""]}, "line 2, answer_contains: it holds"),
        (GOOD | {"id": "first"}, "line 2, id: 'first' is that of line 1 too"),
    ],
)
def test_a_mistake_is_named_by_line_and_field(tmp_path: Path, record: object, told: str) -> None:
    path = written(tmp_path, GOOD | {"id": "first"}, record)
    with pytest.raises(InputError) as caught:
        read_questions(path)
    assert f"asked.jsonl, {told}" in str(caught.value)


def test_a_file_that_is_missing_empty_or_not_utf_8_is_an_explained_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere.jsonl cannot be read"):
        read_questions(tmp_path / "nowhere.jsonl")
    with pytest.raises(InputError, match="holds no question"):
        read_questions(written(tmp_path, ""))
    (tmp_path / "old.jsonl").write_bytes(b"\n\xff\xfe")
    with pytest.raises(InputError, match=r"old\.jsonl, line 2 is not UTF-8"):
        read_questions(tmp_path / "old.jsonl")


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


@pytest.mark.parametrize("given", ["docs", "=.", "docs=", "docs=no/such/folder"])
def test_a_corpus_that_is_none_is_refused(given: str) -> None:
    with pytest.raises(InputError):
        Corpus.parse(given)
