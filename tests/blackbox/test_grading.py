"""What an instructor sees of `course grade` and `course release`: a class that hands in lab 01."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from nbgrader.api import Gradebook

from tests.blackbox.classroom import LABS, RIGHT, hand_in, written
from tests.blackbox.course import Course, Done
from tests.blackbox.golden import hold_golden
from tests.needs import needs

LIMITS = ("--cell-timeout", "8", "--budget", "40")
NO_LEARNERS = Course({})

_TIMES = [
    (re.compile(r"\b\d+\.\d+ s\b"), "… s"),
    (re.compile(r"(?<=graded \| |person \| )\d+\.\d"), "…"),
    (re.compile(r"<ipython-input-[\w-]+>"), "<cell>"),
    (re.compile(r"\d{4}-\d\d-\d\d at \d\d:\d\d UTC"), "…"),
]


LAB = "01_recursive_splitter"


@dataclass(frozen=True)
class Class:
    """A class that was graded: what the commands said, and where its files are."""

    folder: Path
    done: Done

    @property
    def room(self) -> Path:
        return self.folder / "class"

    @property
    def report(self) -> Path:
        return self.room / "reports" / LAB

    @contextmanager
    def gradebook(self) -> Iterator[Gradebook]:
        with Gradebook(f"sqlite:///{self.room / 'gradebook.db'}") as book:
            yield book

    def grades(self) -> dict[str, dict[str, Any]]:
        """Return what the gradebook holds, and the reasons for flags, by learner."""
        with self.gradebook() as book:
            return {
                one.student.id: {
                    "score": one.score,
                    "needs a person": one.needs_manual_grade,
                    "flagged": one.notebooks[0].flagged,
                    "flags": [flag["says"] for flag in self.told(one.student.id)["flags"]],
                    "checks": {cell.name: cell.auto_score for cell in one.notebooks[0].grades},
                    "comments": {
                        cell.name: without_times(cell.comment)
                        for cell in sorted(one.notebooks[0].comments, key=lambda cell: cell.name)
                        if cell.comment
                    },
                }
                for one in sorted(
                    book.assignment_submissions(LAB), key=lambda one: str(one.student.id)
                )
            }

    def told(self, learner: str) -> dict[str, Any]:
        """Return what the report keeps of a learner."""
        kept = (self.report / "learners").iterdir()
        told = [json.loads(path.read_text(encoding="utf-8")) for path in kept]
        (found,) = (one for one in told if one["learner"] == learner)
        return dict(found)

    def page(self) -> list[str]:
        """Return what the report says, line by line, cells of a row apart, without times."""
        text = (self.report / "index.html").read_text(encoding="utf-8")
        text = re.sub(r"<(style|title)\b.*?</\1>", "", text, flags=re.DOTALL)
        text = re.sub(r"</t[dh]>\s*<t[dh][^>]*>", " | ", text)
        return without_times(html.unescape(re.sub(r"<[^>]+>", "", text)))


def without_times(text: str) -> list[str]:
    for pattern, instead in _TIMES:
        text = pattern.sub(instead, text)
    return [line.strip() for line in text.splitlines() if line.strip()]


def grade(folder: Path, *words: str | Path) -> Done:
    place = ("--class", folder / "class", "--seed", "1")
    return Course({}).in_a_process("grade", *words, "--lab", "01", *place, *LIMITS)


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
    made = NO_LEARNERS("class", "init", folder / "class", "--lab", "01").ok()
    assert "assignments: 1, learners: 0" in made
    return Class(folder, grade(folder, folder / "handed-in"))


@needs("bwrap")
class TestTheClass:
    """A class of twenty-four, handed in as learners do and graded within the fence."""

    def test_the_command_ends_well_and_says_who_needs_a_person(self, graded: Class) -> None:
        said = without_times(graded.done.ok().replace(str(graded.room), "…"))
        hold_golden("grading/command", [{"code": graded.done.code, "said": said}])
        assert graded.done.err == ""

    def test_each_gets_the_points_that_are_due_with_flags_and_reasons(self, graded: Class) -> None:
        grades = graded.grades()
        assert len(grades) == 24
        hold_golden("grading/grades", [{"learner": name, **one} for name, one in grades.items()])

    def test_a_right_answer_has_all_points_whatever_was_done_to_the_notebook(
        self, graded: Class
    ) -> None:
        grades = graded.grades()
        right = ("anna right", "tina late", "kim prints", "lea deletes checks")
        right += ("otto older format", "xeno by another name")
        assert [(grades[one]["score"], grades[one]["flags"]) for one in right] == [(10, [])] * 6
        none = ("ben untouched", "max wants points")
        assert [grades[one]["score"] for one in none] == [0, 0]

    def test_no_answer_that_cheats_has_the_points_of_its_check(self, graded: Class) -> None:
        grades = graded.grades()
        for name in ("hugo imports", "ida reads solutions", "jan patches the check"):
            assert grades[name]["checks"]["check-1-2"] == 0, name
        assert grades["hugo imports"]["flagged"]
        shown = [path.read_text(encoding="utf-8") for path in graded.room.rglob("autograded/**/*")
                 if path.is_file()]  # fmt: skip
        assert not any("text/html" in one for one in shown)
        assert "<script" not in (graded.report / "index.html").read_text(encoding="utf-8")

    def test_the_instructors_page(self, graded: Class) -> None:
        hold_golden("grading/report", [{"file": "index.html", "says": graded.page()}])

    def test_the_class_is_in_nbgraders_folders(self, graded: Class) -> None:
        assert sorted(path.name for path in graded.room.iterdir()) == [
            *(".gitignore", "autograded", "gradebook.db", "nbgrader_config.py", "release"),
            *("reports", "source", "submitted"),
        ]
        for step in ("submitted", "autograded"):
            assert sorted(path.name for path in (graded.room / step).iterdir()) == sorted(
                graded.grades()
            )
        with graded.gradebook() as book:
            assert [one.name for one in book.assignments] == [LAB]

    def test_nbvals_report_names_the_cells_that_failed(self, graded: Class) -> None:
        report = graded.report / "junit" / "eva syntax.xml"
        (suite,) = ElementTree.parse(report).getroot()
        failed = [case for case in suite if case.find("failure") is not None]
        assert failed and "invalid syntax" in (failed[0].findtext("failure") or "")

    def test_grading_goes_on_with_what_has_changed_and_keeps_what_a_person_did(
        self, graded: Class
    ) -> None:
        before = graded.grades()
        with graded.gradebook() as book:
            book.find_grade("check-1-1", LAB, LAB, "cleo partly").manual_score = 2.5
            book.find_comment("exercise-1-1", LAB, LAB, "anna right").manual_comment = "Well done."
            book.db.commit()
        seconds = graded.told("anna right")["seconds"]
        (graded.folder / "again").mkdir()
        changed = graded.folder / "again" / "ben untouched.ipynb"
        only_cut = {"exercise-1-2": RIGHT["exercise-1-2"]}
        changed.write_text(json.dumps(written(only_cut)), encoding="utf-8")
        said = grade(graded.folder, graded.folder / "again", "--resume").ok()
        assert "1 have other points than before:\n  ben untouched: 0, now 3" in said
        assert len(list((graded.room / "gradebook-copies").iterdir())) == 1
        after = graded.grades()
        assert after.pop("ben untouched")["score"] == 3
        assert after["cleo partly"].pop("score") == before["cleo partly"].pop("score") - 0.5
        assert after["anna right"].pop("comments") == {"exercise-1-1": ["Well done."]}
        del before["ben untouched"], before["anna right"]["comments"]
        assert after == before and graded.told("anna right")["seconds"] == seconds


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
        (("--lab", "01"), "holds no class"),
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


@pytest.mark.parametrize(
    ("words", "path"),
    [
        (("01", "--out", "file"), "file"),
        (("01", "--out", "folder"), "folder/01_recursive_splitter.ipynb"),
        (("--repository", "file/below"), "file/below"),
    ],
)
def test_a_release_that_cannot_be_written_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], path: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder" / f"{LAB}.ipynb").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert f"{Path(path)} cannot be written" in NO_LEARNERS("release", *words).error()


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
    missing = NO_LEARNERS("release", tmp_path / "none.ipynb", "--out", tmp_path / "out").error()
    assert missing.startswith(f"error: {tmp_path / 'none.ipynb'} is not there")


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
    room = tmp_path / "class"
    (tmp_path / "roster.csv").write_text("login,name\nada,Ada Lovelace\n", encoding="utf-8")
    NO_LEARNERS("class", "init", room, "--lab", "01", "--roster", tmp_path / "roster.csv").ok()
    words = ("--master", tmp_path / "own.ipynb", "--class", room, "--jobs", "1")
    said = NO_LEARNERS.in_a_process("grade", tmp_path / "in", *words).ok()
    assert "1 not in the roster, taken as logins: bob" in said
    with Gradebook(f"sqlite:///{room / 'gradebook.db'}") as book:
        points = {one.student.id: one.score for one in book.assignment_submissions("own")}
    assert points == {"ada": 5, "bob": 1.5}
