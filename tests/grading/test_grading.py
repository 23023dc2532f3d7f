"""What the grader makes of a class, where `tests/blackbox/test_grading.py` cannot show it."""

import multiprocessing
from contextlib import closing
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest

from course_lib.settings import project_root
from course_lib.teaching.classroom.autograded import autograded
from course_lib.teaching.grade import Limits, Report, read_master
from course_lib.teaching.grade.audits import Audits
from course_lib.teaching.grade.errors import GradeError
from course_lib.teaching.grade.fence import find_fence
from course_lib.teaching.grade.grader import Grader
from course_lib.teaching.grade.library import library_for
from course_lib.teaching.grade.sandbox import Sandbox, Setup
from course_lib.teaching.notebooks.release import released
from tests.grading.classroom import RIGHT, cell, hand_in, learners, master_notebook, write_master
from tests.grading.conftest import any_fence, grade_class

VARIETY = {
    "stderr": RIGHT
    | {"double": "import sys\ndef double(x):\n    print('50%', file=sys.stderr)\n    return x + x"},
    "dies": RIGHT | {"longest": "import os\ndef longest(words):\n    os._exit(1)"},
    "needs-more": RIGHT | {"double": "def double(x):\n    return x + x if separator else None"},
}
EXPECTED = {
    "stderr": (3, 5, 2), "dies": (3, 0, 0), "needs-more": (3, 5, 2), "settings": (0, 0, 0),
    "helper": (3, 5, 2), "elsewhere": (3, 5, 2), "unclear": (None, 5, 2),
}  # fmt: skip


def with_settings():
    """Return an untouched notebook whose tags and settings ask for points."""
    sheet = learners(
        master_notebook(), {"double": "def double(x):\n    return None", "longest": "0"}
    )
    for one in sheet.cells:
        one.metadata["tags"] = [
            "raises-exception", "nbval-raises-exception", "nbval-skip", "skip-execution",
        ]  # fmt: skip
        if one.id == "check-longest":
            one.source = "# NBVAL_SKIP\n# NBVAL_RAISES_EXCEPTION"
            one.metadata["nbgrader"] |= {"points": 1000, "grade": False}
    sheet.metadata = {"kernelspec": {"name": "no-such-kernel", "display_name": "?"}}
    sheet.cells.insert(0, {**sheet.cells[1], "source": "raise SystemExit", "id": "mine"})
    return sheet


def with_helper():
    """Return a notebook whose answer calls a function of an added cell, which has other lines."""
    answer = {"double": "def double(x):\n    return helped(x, TIMES)", "longest": RIGHT["longest"]}
    sheet = learners(master_notebook(), answer)
    place = next(i for i, one in enumerate(sheet.cells) if one.id == "double")
    helper = (
        "import operator\nTIMES = 2\nprint(no_such_name)\n"
        "def helped(x, n):\n    return operator.mul(x, n)\nlongest = None"
    )
    sheet.cells.insert(place, {**sheet.cells[place], "source": helper, "id": "mine"})
    sheet.cells[place]["metadata"] = {}
    return sheet


def with_answers_elsewhere(*more: str):
    """Return a notebook whose answers stand at its end, with what they read below them."""
    sheet = learners(master_notebook(), {"double": "def double(x):\n    raise NotImplementedError"})
    sheet.cells[5].source = sheet.cells[3].source
    doubles = "def double(x):\n    return helped(x)"
    for source in (doubles, *more, RIGHT["longest"], "def helped(x):\n    return x + x"):
        sheet.cells.append({**sheet.cells[2], "source": source, "id": f"x{len(sheet.cells)}"})
    sheet.cells.append({"cell_type": "raw", "source": "<script>", "metadata": {}, "id": "raw"})
    return sheet


def points(book: Report) -> dict[str, tuple[float | None, ...]]:
    return {one.learner: tuple(mark.points for mark in one.marks[:3]) for one in book.grades}


def of_variety(folder, **options) -> Report:
    (folder / "handed-in").mkdir(exist_ok=True)
    hand_in(folder / "handed-in", "settings", with_settings())
    hand_in(folder / "handed-in", "helper", with_helper())
    hand_in(folder / "handed-in", "elsewhere", with_answers_elsewhere())
    hand_in(folder / "handed-in", "unclear", with_answers_elsewhere(RIGHT["double"]))
    return grade_class(folder, VARIETY, master_notebook(), **options)


@pytest.fixture(scope="module")
def book(tmp_path_factory) -> Report:
    """A class of seven, graded once."""
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    book = of_variety(tmp_path_factory.mktemp("variety"))
    left = [p for p in psutil.Process().children(recursive=True) if p.pid not in before]
    assert not [p for p in left if "resource_tracker" not in " ".join(p.cmdline())]
    assert not multiprocessing.active_children()
    return book


def test_points_are_what_is_due(book) -> None:
    assert points(book) == EXPECTED


def test_a_person_reads_the_cells_that_were_added(book, tmp_path) -> None:
    master = read_master(write_master(tmp_path))
    by_name = {one.learner: one for one in book.grades}
    unclear = autograded(master, by_name["unclear"])
    nbformat.validate(nbformat.from_dict(unclear))
    read = [(one["cell_type"], one["source"]) for one in unclear["cells"]]
    assert ("code", RIGHT["double"]) in read and ("code", "<script>") in read
    given = [one["source"] for one in autograded(master, by_name["helper"])["cells"]]
    assert any("no_such_name" in source for source in given[:4])


def essays():
    """Return a master that asks for text alone: a task, and an answer that a person grades."""
    marks = "Why?\n\n=== BEGIN MARK SCHEME ===\nnever told\n=== END MARK SCHEME ==="
    return nbformat.v4.new_notebook(
        cells=[
            cell(marks, "task", kind="markdown", task=True, points=4),
            cell("Your words", "essay", kind="markdown", grade=True, solution=True, points=3),
        ]
    )


def test_a_task_is_answered_in_cells_of_the_learners_own_and_a_person_reads_them(tmp_path) -> None:
    sheet = released(essays())
    assert "never told" not in str(sheet)
    (tmp_path / "handed-in").mkdir()
    added = cell("Because <b onclick=alert(1)>**so**</b>.", kind="markdown")
    hand_in(tmp_path / "handed-in", "ada", {**sheet, "cells": [sheet.cells[0], added]})
    answers = {"bob": {}, "cleo": {"essay": "It depends."}, "dan": {"task": "Why? Because."}}
    book = grade_class(tmp_path, answers, essays())
    assert {one.learner: [mark.points for mark in one.marks] for one in book.grades} == {
        "ada": [None, None], "bob": [0, 0], "cleo": [0, None], "dan": [None, 0],
    }  # fmt: skip
    read = autograded(read_master(tmp_path / "words.ipynb"), book.grades[0])["cells"]
    assert "**so**" in read[1]["source"] and "onclick" not in read[1]["source"]


def test_the_report_of_the_capstone_is_an_assignment_of_a_hundred_points() -> None:
    master = read_master(project_root() / "labs" / "capstone" / "report.ipynb")
    assert master.points == 100 and all(one.is_task for one in master.checks)


def test_a_master_that_fails_its_own_check_is_refused(graded) -> None:
    notebook = master_notebook()
    notebook.cells[4].source = "assert double(2) == 5, 'never'"
    with pytest.raises(GradeError, match="does not pass its own check-double"):
        graded({"ada": RIGHT}, notebook)


def test_a_run_that_is_stopped_while_a_sandbox_starts_runs_nothing_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = Setup(any_fence(), Limits(), library_for("", tmp_path))
    master = read_master(write_master(tmp_path))
    grader = Grader(master, setup, 0, Audits("", "1"), tmp_path)

    def start(*given: Any) -> Sandbox:
        sandbox = Sandbox(*given)
        grader.stop()
        return sandbox

    monkeypatch.setattr("course_lib.teaching.grade.grader.Sandbox", start)
    with closing(grader), pytest.raises(GradeError, match="stopped"):
        grader.prove()


def test_without_a_sandbox_it_says_what_that_means() -> None:
    assert "runs with your rights" in find_fence(sandbox=False).says
