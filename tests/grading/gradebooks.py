"""A small class in nbgrader's folders, with an essay, and what is in its gradebook."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from course_lib.teaching.classroom import Classroom, add_assignment, find_class, make_class
from course_lib.teaching.grade import Grade, Master, read_master
from course_lib.teaching.grade.flags import Flag
from course_lib.teaching.grade.marking import Mark
from course_lib.teaching.notebooks.release import released
from tests.grading.classroom import cell, learners, master_notebook, write_master

WORDS = "words"
"""The assignment: the master of `classroom`, with an essay that a person grades."""


def with_essay() -> Any:
    """Return the master with a cell that a person grades."""
    notebook = master_notebook()
    essay = cell("Your thoughts", "essay", kind="markdown", grade=True, solution=True, points=4)
    notebook.cells.append(essay)
    return notebook


def new_class(folder: Path) -> Classroom:
    """Make a class with one assignment and nobody in it."""
    room = make_class(folder / "class")
    add_assignment(room, master_in(folder))
    return room


def master_in(folder: Path) -> Master:
    """Return the master of the class in a folder."""
    path = folder / f"{WORDS}.ipynb"
    return read_master(path if path.is_file() else write_master(folder, with_essay()))


def copy_of(room: Classroom, folder: Path) -> Classroom:
    """Return a copy of a class, for one test."""
    shutil.copy(room.root.parent / f"{WORDS}.ipynb", folder)
    shutil.copytree(room.root, folder / "class")
    return find_class(folder / "class")


def submit(room: Classroom, submissions: Mapping[str, Mapping[str, str]], stamp: str = "") -> None:
    """Put answers into the class's folder, as nbgrader collects them."""
    sheet = released(with_essay())
    for login, answers in submissions.items():
        place = room.place("submitted", login, WORDS)
        place.mkdir(parents=True, exist_ok=True)
        text = json.dumps(learners(sheet, answers))
        (place / f"{WORDS}.ipynb").write_text(text, encoding="utf-8")
        if stamp:
            (place / "timestamp.txt").write_text(stamp, encoding="utf-8")


def scores(room: Classroom, assignment: str = WORDS) -> dict[str, tuple[float, bool]]:
    """Return the score of each learner, and whether a person is needed."""
    with room.gradebook() as book:
        return {
            one.student.id: (one.score, one.needs_manual_grade)
            for one in book.assignment_submissions(assignment)
        }


def flag(says: str) -> Flag:
    """Return a flag as the grader words them: whose it is, the kind, and more."""
    about, kind, *_ = says.split(": ")
    return Flag(about, kind, says)


def graded(
    learner: str, *points: float | None, flags: tuple[Flag, ...] = (), essay: str = "It depends."
) -> Grade:
    """Return a grade for `WORDS`: points of the three checks and of the essay."""
    names = ("check-double", "check-longest", "check-later", "essay")
    given = dict(zip(names, (*points, None, None, None, None), strict=False))
    marks = tuple(
        Mark(name, given[name], most, "undecided" if given[name] is None else "passed")
        for name, most in zip(names, (3.0, 5.0, 2.0, 4.0), strict=True)
    )
    return Grade(learner, "graded", marks, flags, answers={"essay": essay})
