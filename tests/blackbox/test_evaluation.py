"""`course eval`: the numbers for questions on data/, runs kept and compared, mistakes named."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.blackbox.course import Course
from tests.blackbox.golden import hold_golden

CORPORA = {"docs": "documents", "code": "code", "manifests": "manifests"}
METRICS = ["hit@1", "hit@5", "hit@10", "recall@10", "mrr@10", "ndcg@10", "n"]
HINT = (
    'A question is a line of JSON: {"question": "…", "kind": "docs", "gold_paths": ["FILE.md"]}; '
    "data/README.md describes all fields.\n"
)


@pytest.fixture(scope="module")
def course() -> Course:
    """`course` with the machine's server, in which an evaluation makes a database of its own."""
    return Course({})


@pytest.fixture(scope="module")
def all_questions(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The questions on documents, code and manifests, in one file."""
    path = tmp_path_factory.mktemp("asked") / "all.jsonl"
    files = [data / "questions" / f"{name}.jsonl" for name in CORPORA.values()]
    path.write_text("".join(file.read_text("utf-8") for file in files), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def corpora(data: Path) -> list[str]:
    return [
        word for kind, name in CORPORA.items() for word in ("--corpus", f"{kind}={data / name}")
    ]


@pytest.fixture(scope="module")
def kept(
    course: Course,
    all_questions: Path,
    corpora: list[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Path, str]]:
    """A hybrid run of all questions that was kept, and the tables that were printed."""
    path = tmp_path_factory.mktemp("kept") / "run.json"
    shown = course("eval", all_questions, *corpora, "--save", path).ok()
    yield path, shown


def rounded(numbers: dict[str, dict[str, float]]) -> list[dict[str, Any]]:
    """Return what --json gave, one record a kind, to three decimals."""
    return [
        {"kind": kind, **{name: round(value, 3) for name, value in values.items()}}
        for kind, values in numbers.items()
    ]


def table_lines(shown: str) -> list[str]:
    """Return printed lines without the room in tables."""
    return [re.sub(r"(?<=\S) {2,}(?=\S)", "  ", line.strip()) for line in shown.splitlines()]


def test_the_numbers_for_the_courses_questions_are_those_that_they_were(
    course: Course, all_questions: Path, corpora: list[str], kept: tuple[Path, str]
) -> None:
    """Tables with intervals by file and by resource, JSON, and what changes with other options."""
    run, shown = kept
    records: list[dict[str, Any]] = [{"shown": table_lines(shown)}]
    for options in ([], ["--own"], ["--mode", "dense"]):
        done = course(*("eval", all_questions, *corpora, "--json", "--against", run), *options)
        numbers = done.json()
        assert [list(values) for values in numbers.values()] == [METRICS] * 3
        records += [{"options": options} | record for record in rounded(numbers)]
        records.append({"options": options, "against": done.err.splitlines()})
    hold_golden("evaluation/data", records)


def test_a_kept_run_holds_each_question_and_what_it_found(
    kept: tuple[Path, str], all_questions: Path
) -> None:
    """course-run-v1: the questions as they were asked, ten files, ten resources, the place."""
    run = json.loads(kept[0].read_text(encoding="utf-8"))
    assert list(run) == ["format", "name", "answers"]
    assert (run["format"], run["name"]) == ("course-run-v1", "hybrid, joint index")
    asked = [json.loads(line) for line in all_questions.read_text("utf-8").splitlines()]
    assert len(run["answers"]) == len(asked)
    for answer, question in zip(run["answers"], asked, strict=True):
        assert list(answer) == ["question", "files", "resources", "seconds", "place"]
        assert answer["question"] == {**question, "split": question.get("split", "")}
        assert 0 < len(answer["files"]) <= 10 and len(set(answer["files"])) == len(answer["files"])
        right = {*question["gold_paths"], *question["also_acceptable_paths"]}
        places = [at for at, file in enumerate(answer["files"], 1) if file in right]
        assert answer["place"] == (places[0] if places else None)


@pytest.fixture
def small(tmp_path: Path) -> tuple[Path, Path, list[str]]:
    """Three questions on two pages and a manifest; their file, and how to name the corpora."""
    pages, manifests = tmp_path / "pages", tmp_path / "manifests"
    for folder, name, text in (
        (pages, "cats.md", "# Cats\n\nA cat purrs when it is stroked.\n"),
        (pages, "ships.md", "# Ships\n\nA frigate has three masts.\n"),
        (manifests, "a.yaml", "apiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: night\n"
                              "spec:\n  schedule: '0 3 * * *'\n"),
    ):  # fmt: skip
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    records: list[dict[str, Any]] = [
        {"id": "cat", "kind": "docs", "question": "What does a cat do?", "gold_paths": ["cats.md"]},
        {"kind": "docs", "question": "How many masts has a frigate?",
         "gold_paths": ["ships.md", "fleet.md"], "also_acceptable_paths": ["cats.md"]},
        {"id": "job", "kind": "manifests", "question": "What runs at night?",
         "gold_paths": ["a.yaml"], "gold_resources": [{"kind": "CronJob", "name": "night"}]},
    ]  # fmt: skip
    asked = tmp_path / "asked.jsonl"
    asked.write_text("".join(f"{json.dumps(record)}\n\n" for record in records), encoding="utf-8")
    return asked, pages, ["-c", f"docs={pages}", "-c", f"manifests={manifests}"]


def test_a_run_is_printed_kept_and_compared(
    course: Course, small: tuple[Path, Path, list[str]], tmp_path: Path
) -> None:
    """By default; --own; the questions, and a part of them, against a run."""
    asked, pages, corpora = small
    run = tmp_path / "run.json"
    records: list[dict[str, Any]] = []
    for options in (
        ["--save", run], ["--own"], ["--mode", "dense", "--against", run]
    ):  # fmt: skip
        done = course("eval", asked, *corpora, *options)
        lines = table_lines(done.ok())
        told = [line.replace(str(pages), "PAGES") for line in done.err.splitlines()]
        names = [word for word in options if word != run]
        records.append({"options": names, "lines": lines, "told": told})
    first = json.loads(asked.read_text("utf-8").split("\n")[0])
    del first["kind"]
    part = tmp_path / "part.jsonl"
    part.write_text(json.dumps(first | {"by": "me", "gold_path": 1}), encoding="utf-8")
    done = course("eval", part, "-c", f"docs={pages}", "--json", "--against", run)
    records.append({"part": rounded(done.json()), "told": done.err.splitlines()})
    hold_golden("evaluation/small", records)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "is not JSON: EOF while parsing an object"),
        ("[1]", ": record: Input should be an object"),
        ('"q"', ": record: Input should be an object"),
        ('{"gold_paths": ["a.md"]}', ": question: Field required"),
        ('{"question": " ", "gold_paths": ["a.md"]}', ": question: it is empty"),
        (r'{"question": "\ud800", "gold_paths": ["a.md"]}', "is not JSON: unexpected end of"),
        ('{"question": 3, "gold_paths": ["a.md"]}', ": question: Input should be a valid string"),
        ('{"question": "?"}', ": gold_paths: Field required"),
        ('{"question": "?", "gold_paths": []}', ": gold_paths: Value should have at least 1 item"),
        ('{"question": "?", "gold_paths": "a"}', ": gold_paths: Input should be a valid array"),
        ('{"question": "?", "gold_paths": ["a", 1]}',
         ": gold_paths.1: Input should be a valid string"),
        ('{"question": "?", "gold_paths": ["/a"]}', ": gold_paths.0: must be relative"),
        ('{"question": "?", "gold_paths": ["../a"]}', ": gold_paths.0: must be relative"),
        ('{"question": "?", "gold_paths": ["a"], "id": "cat"}',
         ": id: 'cat' is that of line 1 too"),
        ('{"question": "?", "gold_paths": ["a"], "gold_resources": [{"kind": "Role"}]}',
         ": gold_resources.0.name: Field required"),
        ('{"question": "?", "gold_paths": ["a"], "answer_contains": [""]}',
         ": answer_contains.0: it is empty"),
        ('{"question": "?", "gold_paths": ["a"], "kind": null}',
         ": kind: Input should be a valid string"),
    ],
)  # fmt: skip
def test_a_wrong_question_is_named_by_its_line_and_field(
    course: Course, tmp_path: Path, line: str, says: str
) -> None:
    """Nothing is measured with a file that has a mistake, and empty lines count."""
    asked = tmp_path / "asked.jsonl"
    right = '{"id": "cat", "question": "?", "gold_paths": ["a.md"]}'
    asked.write_text(f"{right}\n\n{line}\n", encoding="utf-8")
    (tmp_path / "a.md").write_text("A.\n", encoding="utf-8")
    said = course("eval", asked, "-c", f"docs={tmp_path}").error()
    assert f"asked.jsonl, line 3{says if says[0] == ':' else f' {says}'}" in said
    assert said.endswith(HINT)


def test_a_measurement_that_cannot_be_says_why(
    course: Course, small: tuple[Path, Path, list[str]], tmp_path: Path, data: Path
) -> None:
    """Files, folders, kinds and runs that do not fit: told before anything is indexed."""
    asked, pages, corpora = small
    before = asked.read_bytes()
    strange, empty, other = (tmp_path / name for name in ("strange", "empty.jsonl", "other.json"))
    strange.write_bytes(b'{"question": "\xff"}\n')
    empty.write_text("\n\n", encoding="utf-8")
    docs = ("-c", f"docs={pages}")
    run = {"format": "course-run-v1", "name": "old", "answers": []}
    other.write_text(json.dumps(run), encoding="utf-8")
    unanswerable = data / "questions" / "unanswerable.jsonl"
    for words, says in {
        (tmp_path / "none.jsonl", *docs): "none.jsonl",
        (empty, *docs): "empty.jsonl holds no question",
        (strange, *docs): "strange, line 1 is not JSON: invalid unicode",
        (unanswerable, *docs): "line 1: gold_paths: Value should have at least 1 item",
        (asked, "-c", "docs"): "'docs' is not a corpus",
        (asked, "-c", "docs=/no/such"): "/no/such is not a directory",
        (asked, *docs, *docs): "two corpora have the same kind",
        (asked, "-c", f"code={pages}"): "no question is about code",
        (asked, "-c", f"docs={data / 'code'}"): "holds none of the files that the docs questions",
        (asked, *docs, "--save", asked): "is the file of questions, which would be lost",
        (asked, *docs, "--against", asked): "asked.jsonl holds no run: record: Invalid JSON",
        (asked, *docs, "--against", other): "the kept run asked none of these questions",
        (asked, *docs, "--against", tmp_path / "no"): "cannot be read: No such file",
    }.items():
        assert says in course("eval", *words).error(), words
    assert asked.read_bytes() == before
    assert "--corpus" in course("eval", asked).error(2)
    # A line without a kind needs one where there are several corpora.
    record = {"question": "?", "gold_paths": ["cats.md"]}
    empty.write_text(json.dumps(record), encoding="utf-8")
    said = course("eval", empty, *corpora).error()
    assert 'line 1: kind: it is missing; write "kind": "docs" or "kind": "manifests"' in said
