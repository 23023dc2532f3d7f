"""Runs of the grader that several tests look at."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from course_lib.teaching.grade import Fence, Gradebook, Order, find_fence, grade_all, read_master
from course_lib.teaching.grade.errors import GradeError
from course_lib.teaching.grade.release import released
from tests.grading.classroom import hand_in, learners, master_notebook, write_master


def has_fence() -> bool:
    """Tell whether submissions can be fenced in on this machine."""
    try:
        return find_fence().kind != "none"
    except GradeError:
        return False


def any_fence() -> Fence:
    """Return the machine's fence; these submissions are our own and harmless without one."""
    try:
        return find_fence()
    except GradeError:
        return find_fence(sandbox=False)


@pytest.fixture
def graded(tmp_path: Path) -> Callable[..., Gradebook]:
    """Grade answers by learner, with the master of `classroom`."""

    def grade(
        submissions: Mapping[str, Mapping[str, str]], notebook: Any = None, **options: Any
    ) -> Gradebook:
        notebook = notebook or master_notebook()
        handed_in = tmp_path / "handed-in"
        handed_in.mkdir(exist_ok=True)
        sheet = released(notebook)
        for name, answers in submissions.items():
            hand_in(handed_in, name, learners(sheet, answers))
        hidden = options.pop("hidden", None)
        master = read_master(write_master(tmp_path, notebook), hidden=hidden)
        order = Order(handed_in, tmp_path / "out", master, any_fence(), **{"jobs": 1, **options})
        return grade_all(order)

    return grade
