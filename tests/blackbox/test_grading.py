"""What an instructor sees of `course grade` and `course release`: a class that hands in lab 01."""

from __future__ import annotations

import csv
import html
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from tests.blackbox.classroom import LABS, RIGHT, hand_in, written
from tests.blackbox.course import Course, Done
from tests.blackbox.golden import hold_golden
from tests.needs import needs

HIDDEN = "assert lossless.__name__ == 'lossless', 'what the hidden check says'"
LIMITS = ("--cell-timeout", "8", "--budget", "40")
NO_LEARNERS = Course({})

_TIMES = [
    (re.compile(r"\b\d+\.\d+ s\b"), "… s"),
    (re.compile(r"(?<=graded \| |person \| )\d+\.\d"), "…"),
    (re.compile(r"<ipython-input-[\w-]+>"), "<cell>"),
]


@dataclass(frozen=True)
class Class:
    """A class that was graded: what the command said, and where its files are."""

    folder: Path
    done: Done

    @property
    def out(self) -> Path:
        return self.folder / "gradebook"

    def grades(self) -> dict[str, dict[str, Any]]:
        told: dict[str, dict[str, Any]] = json.loads(self.text("grades.json"))
        return told

    def text(self, name: str) -> str:
        return (self.out / name).read_text(encoding="utf-8")

    def page(self, name: str) -> list[str]:
        """Return what a page says, line by line, cells of a row apart, without times."""
        text = re.sub(r"<(style|title)\b.*?</\1>", "", self.text(name), flags=re.DOTALL)
        text = re.sub(r"</t[dh]>\s*<t[dh][^>]*>", " | ", text)
        return without_times(html.unescape(re.sub(r"<[^>]+>", "", text)))

    def slugs(self) -> dict[str, str]:
        """Return the name of each learner's files."""
        pages = sorted((self.out / "feedback").iterdir())
        title = re.compile(r"<title>Where to cut: (.*)</title>")
        found = {path.stem: title.search(path.read_text(encoding="utf-8")) for path in pages}
        return {html.unescape(match[1]): stem for stem, match in found.items() if match}


def without_times(text: str) -> list[str]:
    for pattern, instead in _TIMES:
        text = pattern.sub(instead, text)
    return [line.strip() for line in text.splitlines() if line.strip()]


def grade(folder: Path, *words: str) -> Done:
    place = ("--hidden", folder / "hidden", "--out", folder / "gradebook")
    return Course({}).in_a_process(
        "grade", folder / "handed-in", "--lab", "01", *place, *LIMITS, *words
    )


@pytest.fixture(scope="module")
def fence() -> None:
    """Skip where bubblewrap is there and cannot do its work, as in many containers."""
    said = NO_LEARNERS("grade", "nowhere").err
    if "--no-sandbox" in said:
        pytest.skip(f"submissions cannot be fenced in here: {said.splitlines()[0]}")


@pytest.fixture(scope="module")
def graded(fence: None, tmp_path_factory: pytest.TempPathFactory) -> Class:
    """The class, graded by one run of the command."""
    folder = tmp_path_factory.mktemp("class")
    hand_in(folder / "handed-in")
    (folder / "hidden").mkdir()
    (folder / "hidden" / "check-1-4.py").write_text(HIDDEN, encoding="utf-8")
    return Class(folder, grade(folder))


@needs("bwrap")
class TestTheClass:
    """A class of twenty-four, handed in as learners do and graded within the fence."""

    def test_the_command_ends_well_and_says_who_needs_a_person(self, graded: Class) -> None:
        said = without_times(graded.done.ok().replace(str(graded.out), "…"))
        hold_golden("grading/command", [{"code": graded.done.code, "said": said}])
        assert graded.done.err == ""

    def test_each_gets_the_points_that_are_due_with_flags_and_reasons(self, graded: Class) -> None:
        grades = graded.grades()
        seconds = [one.pop("seconds") for one in grades.values()]
        assert all(one >= 0 for one in seconds)
        slugs = graded.slugs()
        assert grades.keys() == slugs.keys() and len(grades) == 24
        hold_golden(
            "grading/grades",
            [
                {"learner": name, **one, "page": graded.page(f"feedback/{slugs[name]}.html")}
                for name, one in grades.items()
            ],
        )

    def test_a_right_answer_has_all_points_whatever_was_done_to_the_notebook(
        self, graded: Class
    ) -> None:
        grades = graded.grades()
        right = ("anna right", "tina late", "kim prints", "lea deletes checks", "otto older format")
        assert [(grades[one]["score"], grades[one]["flags"]) for one in right] == [(10, [])] * 5
        none = ("ben untouched", "max wants points")
        assert [grades[one]["score"] for one in none] == [0, 0]

    def test_no_answer_that_cheats_has_the_points_of_its_check(self, graded: Class) -> None:
        grades = graded.grades()
        for name in ("hugo imports", "ida reads solutions", "jan patches the check"):
            assert grades[name]["checks"]["check-1-1"] == 0 and grades[name]["flags"], name
        assert grades["xeno by another name"]["checks"]["check-1-4"] == 0
        pages = [path.read_text(encoding="utf-8") for path in graded.out.rglob("*.html")]
        assert not any("what the hidden check says" in page or "<script" in page for page in pages)

    def test_the_instructors_page_and_the_tables_for_programs(self, graded: Class) -> None:
        tables = {name: graded.text(name).splitlines() for name in ("canvas.csv", "moodle.csv")}
        (head, *rows) = csv.reader(graded.text("grades.csv").splitlines())
        seconds = head.index("seconds")
        for row in rows:
            row[seconds] = "…"
        said = [{"file": "index.html", "says": graded.page("index.html")}]
        said += [{"file": name, "says": lines} for name, lines in tables.items()]
        said += [{"file": "grades.csv", "says": [" | ".join(row) for row in (head, *rows)]}]
        hold_golden("grading/gradebook", said)

    def test_the_gradebook_holds_its_files_and_nothing_else(self, graded: Class) -> None:
        assert sorted(path.name for path in graded.out.iterdir() if path.name[0] != ".") == [
            *("canvas.csv", "feedback", "grades.csv", "grades.json", "index.html", "junit"),
            "moodle.csv",
        ]
        ran = {one["score"] is not None and name for name, one in graded.grades().items()}
        stems = {path.stem for path in (graded.out / "junit").iterdir()}
        unread = {"paul picture", "quinn another lab", "rosa empty", "sam nothing", "uwe"}
        assert stems == {stem for name, stem in graded.slugs().items() if name in ran - unread}

    def test_nbvals_report_names_the_cells_that_failed(self, graded: Class) -> None:
        slug = graded.slugs()["finn endless"]
        (suite,) = ElementTree.parse(graded.out / "junit" / f"{slug}.xml").getroot()
        failed = [case for case in suite if case.find("failure") is not None]
        assert len(failed) == 1 and "1.4 lossless did not come to an end" in (
            failed[0].findtext("failure") or ""
        )

    def test_grading_goes_on_with_what_has_changed_only(self, graded: Class) -> None:
        before = graded.grades()
        changed = graded.folder / "handed-in" / "ben untouched.ipynb"
        text = changed.read_text(encoding="utf-8")
        only_cut = {"exercise-1-1": RIGHT["exercise-1-1"]}
        try:
            changed.write_text(json.dumps(written(only_cut)), encoding="utf-8")
            grade(graded.folder, "--resume").ok()
            after = graded.grades()
        finally:
            changed.write_text(text, encoding="utf-8")
        assert after.pop("ben untouched")["score"] == 3
        del before["ben untouched"]
        assert after == before  # with the seconds that they took the first time


def test_without_a_fence_nothing_is_graded_unless_one_says_so(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    said = NO_LEARNERS("grade", tmp_path / "in", "--lab", "01", PATH=str(tmp_path)).error()
    assert "bubblewrap" in said and "--no-sandbox" in said


@needs("bwrap")
@pytest.mark.usefixtures("fence")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "say what to grade with"),
        (("--lab", "01", "--master", "own.ipynb"), "say what to grade with"),
        (("--lab", "99"), "no lab '99'"),
        (("--master", "nowhere.ipynb"), "nowhere.ipynb"),
        (("--lab", "01", "--hidden", "nowhere"), "nowhere"),
        (("--lab", "01", "--out", "in/book"), "the gradebook would lie among the submissions"),
    ],
)
def test_what_cannot_be_graded_is_refused_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "ada.ipynb").write_text(json.dumps(written({})), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert said in NO_LEARNERS("grade", "in", *words).error()


def test_a_release_of_a_lab_is_what_learners_have(tmp_path: Path) -> None:
    said = NO_LEARNERS("release", "01", "--out", tmp_path / "out").ok()
    (path,) = (tmp_path / "out").iterdir()
    assert said.strip() == str(path)
    (lab,) = LABS.glob("01_*.ipynb")
    ours, theirs = (nbformat.read(one, as_version=4) for one in (lab, path))
    assert path.name == lab.name
    assert [cell.source for cell in theirs.cells] == [cell.source for cell in ours.cells]
    assert not any(cell.get("outputs") for cell in theirs.cells)


PARTLY = "2.0 if double('a') == 'aa' else 1.5"


def own_cell(source: str, grade_id: str, **metadata: Any) -> Any:
    about = {"grade": False, "solution": False, "locked": True, "task": False, **metadata}
    nbgrader = {**about, "schema_version": 3, "grade_id": grade_id}
    return new_code_cell(source, id=grade_id, metadata={"nbgrader": nbgrader})


def own_master() -> Any:
    answer = "def double(x):\n    ### BEGIN SOLUTION\n    return 2 * x\n    ### END SOLUTION"
    check = "assert double(1) == 2\n### BEGIN HIDDEN TESTS\nassert double(3) == 6\n"
    return new_notebook(
        cells=[
            own_cell(answer, "double", solution=True, locked=False),
            own_cell(check + "### END HIDDEN TESTS", "check-double", grade=True, points=3),
            own_cell(PARTLY, "check-partly", grade=True, points=2),
        ]
    )


def test_a_release_of_ones_own_notebook_has_no_answers_and_no_hidden_tests(tmp_path: Path) -> None:
    nbformat.write(own_master(), tmp_path / "own.ipynb")
    NO_LEARNERS("release", tmp_path / "own.ipynb", "--out", tmp_path / "out").ok()
    released = nbformat.read(tmp_path / "out" / "own.ipynb", as_version=4)
    assert [cell.source for cell in released.cells] == [
        "def double(x):\n    # YOUR CODE HERE\n    raise NotImplementedError()",
        "assert double(1) == 2",
        PARTLY,
    ]
    over_itself = ("release", tmp_path / "own.ipynb", "--out", tmp_path)
    assert "overwritten" in NO_LEARNERS(*over_itself).error()


@needs("bwrap")
@pytest.mark.usefixtures("fence")
def test_a_class_is_graded_with_ones_own_notebook(tmp_path: Path) -> None:
    """A check's last value is partial credit; a hidden test has to pass too."""
    nbformat.write(own_master(), tmp_path / "own.ipynb")
    (tmp_path / "in").mkdir()
    for name, answer in {"ada": "return x + x", "bob": "return 2 if x == 1 else 4"}.items():
        sheet = own_master()
        sheet.cells[0].source = f"def double(x):\n    {answer}"
        nbformat.write(sheet, tmp_path / "in" / f"{name}.ipynb")
    words = ("--master", tmp_path / "own.ipynb", "--out", tmp_path / "out", "--jobs", "1")
    NO_LEARNERS.in_a_process("grade", tmp_path / "in", *words).ok()
    told = json.loads((tmp_path / "out" / "grades.json").read_text(encoding="utf-8"))
    assert {name: tuple(one["checks"].values()) for name, one in told.items()} == {
        "ada": (3, 2),
        "bob": (0, 1.5),
    }
