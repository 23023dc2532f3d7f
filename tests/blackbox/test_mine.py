"""`course mine`: the system with a learner's functions, in an index of its own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.blackbox.course import Course
from tests.blackbox.places import Place
from tests.blackbox.serving import serving

ROOT = Path(__file__).parents[2]
STATE = Path(os.environ.get("COURSE_STATE", ROOT / ".course"))
SPLITTER = """
# %% 1.3 split_text · lab 01 · 2026-11-25
# in the place of course_lib.loader.recursive.split_text

from course_lib.records import Span


def split_text(text, chunk_size=512, chunk_overlap=64, separators=(), *, snap_to_words=False):
    return [Span(at, at + {size}, text[at:at + {size}]) for at in range(0, len(text), {size})]
"""


FORGETFUL = """
# %% 7.2 find_nearest · lab 07 · 2026-11-25
# in the place of course_lib.retriever.query.find_nearest

from psycopg.rows import namedtuple_row

from course_lib.retriever.statements import NEAREST


def find_nearest(conn, values, distance="embedding <=> %(query)s"):
    with conn.cursor(row_factory=namedtuple_row) as cursor:
        rows = NEAREST.format(distance=distance)
        return cursor.execute(rows, values | {"repo_slug": None}, prepare=False).fetchall()
"""
"""A search that forgets one of its filters."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A checkout with the course's labs, in which a learner's functions are kept."""
    for name in ("pyproject.toml", "labs", "data"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "my" / "system").mkdir(parents=True)
    return tmp_path


@pytest.fixture
def course(place: Place, home: Path) -> Course:
    return place.course.with_(COURSE_ROOT=str(home), COURSE_STATE=str(STATE))


def test_a_changed_splitter_indexes_anew_in_an_index_of_its_own(
    place: Place, course: Course, home: Path
) -> None:
    page = home / "pages" / "mill.txt"
    page.parent.mkdir()
    page.write_text("The sail turns into the wind.\n" * 8, encoding="utf-8")
    kept = home / "my" / "system" / "loader.py"
    ingest = ("mine", "ingest", page.parent, "--repo", "mill")
    assert "holds no function of yours" in course(*ingest).error()

    def chunks() -> int:
        course.in_a_process(*ingest).ok()
        schema = f'"{place.schema}-mine"'
        return int(place.one(f"SELECT count(*) FROM {schema}.document_chunks"))

    kept.write_text(SPLITTER.format(size=120), encoding="utf-8")
    assert chunks() == 2
    split = course.in_a_process("mine", "split", page)
    assert split.code == 0
    assert ": split_text\n" in split.err.partition("Yours, where ")[2]
    kept.write_text(SPLITTER.format(size=60), encoding="utf-8")
    assert chunks() == 4
    kept.write_text(SPLITTER.format(size="(1 / 0)"), encoding="utf-8")
    failed = course.in_a_process(*ingest)
    assert failed.code == 1
    assert f'File "{kept}", line 9, in split_text\n' in failed.err
    assert failed.err.endswith("ZeroDivisionError: division by zero\n")


def test_a_wrong_search_gives_the_same_wrong_answers_by_a_command_and_over_http(
    course: Course, home: Path
) -> None:
    (home / "my/system/retriever.py").write_text(FORGETFUL, encoding="utf-8")
    for name in ("mill", "barn"):
        page = home / name / f"{name}.md"
        page.parent.mkdir()
        page.write_text(f"# The {name}\n\nThe {name} is red.\n", encoding="utf-8")
        course.in_a_process("mine", "ingest", page.parent, "--repo", name).ok()
    asked = ("search", "What is red?", "--repo", "mill", "--mode", "dense", "--json")
    found = json.loads(course.in_a_process("mine", *asked).ok())
    assert {one["document_name"] for one in found} == {"mill.md", "barn.md"}
    request = {"query": "What is red?", "repo": "mill", "mode": "dense"}
    with serving(course, "mine") as service:
        served = service.client.post("/search", json=request).json()["results"]
    names = [[one["document_name"] for one in answer] for answer in (found, served)]
    assert names[0] == names[1]


def test_the_map_shows_whose_each_function_is_and_how_it_differs(
    course: Course, home: Path
) -> None:
    kept = home / "my" / "system" / "loader.py"
    kept.write_text(SPLITTER.format(size="chunk_size"), encoding="utf-8")
    shown = course("mine", "--no-eval").ok()
    assert "1 of 52 functions are yours\n" in shown
    assert "split_text differs: split_text(" in shown
    assert "find_cut" in shown and "│ evaluation │" in shown


@pytest.fixture
def measuring(home: Path) -> Course:
    """`course` with a server on which it may make databases."""
    return Course({"COURSE_ROOT": str(home), "COURSE_STATE": str(STATE)})


def test_both_systems_are_measured_on_questions_of_ones_own(measuring: Course, home: Path) -> None:
    kept = home / "my" / "system" / "loader.py"
    kept.write_text(SPLITTER.format(size=40), encoding="utf-8")
    (home / "pages").mkdir()
    (home / "pages" / "mill.txt").write_text("The sail turns into the wind.\n", encoding="utf-8")
    questions = home / "questions.jsonl"
    questions.write_text('{"question": "What turns?", "gold_paths": ["mill.txt"]}\n', "utf-8")
    given = ("--questions", questions, "-c", f"docs={home / 'pages'}")
    shown = measuring("mine", *given).ok()
    assert "│ docs (1)  │ MRR       │ 1.000 │ 1.000" in shown
    assert "--questions and --corpus go together" in measuring("mine", *given[:2]).error()


def test_a_report_is_begun_and_then_examined(measuring: Course, home: Path) -> None:
    assert measuring("capstone").ok().startswith("my/capstone/report.ipynb is ready.")
    incomplete = measuring("capstone")
    assert incomplete.code == 1
    assert "✗ questions and runs: " in incomplete.out
    assert "✗ nothing is left to write: lines with TODO: 5\n" in incomplete.out
    assert "✗ every cell runs: InputError: questions.jsonl cannot be read" in incomplete.out
    (home / "pages").mkdir()
    (home / "pages" / "mill.txt").write_text("The sail turns into the wind.\n", encoding="utf-8")
    questions = home / "my" / "capstone" / "questions.jsonl"
    lines = [f'{{"question": "What turns {at}?", "gold_paths": ["mill.txt"]}}' for at in range(20)]
    questions.write_text("\n".join(lines), encoding="utf-8")
    for name in ("before", "after"):
        saved = ("--save", questions.with_name(f"{name}.json"))
        measuring("eval", questions, "-c", f"docs={home / 'pages'}", *saved).ok()
    report = questions.with_name("report.ipynb")
    report.write_text(report.read_text(encoding="utf-8").replace("TODO", "We"), encoding="utf-8")
    complete = measuring("capstone").ok()
    assert "✗" not in complete and complete.count("✓") == 5
    assert "at least 20 questions in questions.jsonl: there are 20\n" in complete
