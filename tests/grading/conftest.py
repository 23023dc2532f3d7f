"""Runs of the grader that several tests look at."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
import pytest

from course_lib.settings import project_root
from course_lib.teaching.classroom import Classroom
from course_lib.teaching.grade import (
    Fence,
    Grade,
    GradeReport,
    Limits,
    Master,
    Options,
    find_fence,
    grade_all,
    lab_masters,
    read_master,
)
from course_lib.teaching.grade.errors import GradeError
from course_lib.teaching.notebooks.release import released
from tests.grading.classroom import hand_in, handed_in, learners, master_notebook, write_master
from tests.grading.gradebooks import new_class


def has_fence() -> bool:
    """Tell whether submissions can be fenced in on this machine."""
    try:
        return find_fence().kind != "none"
    except GradeError:
        return False


needs_fence = pytest.mark.skipif(
    not has_fence(), reason="bubblewrap is not here, or cannot work: apt install bubblewrap"
)


def any_fence() -> Fence:
    """Return the machine's fence; these submissions are our own and harmless without one."""
    try:
        return find_fence()
    except GradeError:
        return find_fence(sandbox=False)


def grade_class(
    folder: Path,
    submissions: Mapping[str, Mapping[str, str]],
    notebook: Any = None,
    **how: Any,
) -> GradeReport:
    """Grade answers by learner, with the master of `classroom`, in a folder."""
    notebook = notebook or master_notebook()
    sent = folder / "handed-in"
    sent.mkdir(exist_ok=True)
    sheet = released(notebook)
    for name, answers in submissions.items():
        hand_in(sent, name, learners(sheet, answers))
    master = read_master(write_master(folder, notebook))
    found = handed_in(sent, preferred=master.name)
    options = Options(any_fence(), **{"jobs": 1, **how})
    return grade_all(found, master, folder / "out", options)


def lab_master(lab: str) -> Master:
    """Return what a lab is graded with."""
    (path,) = lab_masters([lab])
    return read_master(path, lab=lab)


def sheet_of(master: Master) -> Any:
    """Return a lab as learners get it."""
    return nbformat.read(project_root() / "labs" / master.path.name, as_version=4)


def grade_lab(
    folder: Path, lab: str, answers: Mapping[str, Mapping[str, str]], limits: Limits, **how: Any
) -> list[Grade]:
    """Grade answers to a lab's exercises by learner, in the order of their names."""
    master, sent = lab_master(lab), folder / "in"
    sent.mkdir(parents=True)
    for login, written in answers.items():
        hand_in(sent, login, learners(sheet_of(master), written))
    options = Options(any_fence(), limits, **how)
    return [*grade_all(handed_in(sent), master, folder / "out", options).grades]


@pytest.fixture
def graded(tmp_path: Path) -> Callable[..., GradeReport]:
    """Grade answers in a folder of this test's own."""
    return partial(grade_class, tmp_path)


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Classroom:
    """A class with an assignment that nobody has handed in: tests change copies of it."""
    return new_class(tmp_path_factory.mktemp("empty"))
