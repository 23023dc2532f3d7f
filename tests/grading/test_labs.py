"""Every lab through the fence: whole submissions, and each answer of its book.

Whole ones are the solution, an untouched lab, its first answer alone, and all but this. Each answer
of the book has the points that it has in a notebook: `unit/teaching/test_exercises.py`.
"""

import json
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from course_lib.settings import project_root
from course_lib.teaching.grade import Limits, Master, Options, grade_all, lab_masters, read_master
from course_lib.teaching.notebooks.release import WITHHELD
from tests.grading.classroom import handed_in
from tests.grading.conftest import any_fence
from tests.unit.teaching.answers import Answer, answers_of
from tests.unit.teaching.test_exercises import LABS

pytestmark = pytest.mark.long
LIMITS = Limits(cell=60, budget=240)


def filled(notebook: dict[str, Any], texts: dict[str, str]) -> str:
    """Return a notebook as JSON, with other texts in cells of these names."""
    named = [
        (cell, cell["metadata"].get("nbgrader", {}).get("grade_id")) for cell in notebook["cells"]
    ]
    cells = [{**cell, "source": texts.get(name, cell["source"])} for cell, name in named]
    return json.dumps({**notebook, "cells": cells})


def whole(master: Master, sheet: dict[str, Any]) -> dict[str, str]:
    """Return four submissions of a lab."""
    answer = master.answers[0]
    right = json.loads(master.path.read_text(encoding="utf-8"))
    right["cells"] = [
        cell for cell in right["cells"] if WITHHELD.isdisjoint(cell["metadata"].get("tags", []))
    ]
    return {
        "right": json.dumps(right),
        "untouched": json.dumps(sheet),
        "partly": filled(sheet, {answer.grade_id: answer.source}),
        "later": filled(right, {answer.grade_id: answer.stub}),
    }


def of_the_book(lab: str) -> dict[str, dict[str, Answer]]:
    """Return submissions by name: each has one answer to each exercise."""
    by_exercise: dict[str, list[Answer]] = {}
    for one in answers_of(lab):
        by_exercise.setdefault(one.exercise.id, []).append(one)
    return {
        f"n{number}": {one.exercise.id: one for one in some if one is not None}
        for number, some in enumerate(zip_longest(*by_exercise.values()))
    }


@pytest.mark.parametrize("lab", LABS)
def test_a_lab_gives_what_is_due(lab: str, tmp_path: Path) -> None:
    (path,) = lab_masters([lab])
    master = read_master(path, lab=lab)
    sheet = json.loads((project_root() / "labs" / path.name).read_text(encoding="utf-8"))
    given = of_the_book(lab)
    cells = {cell.exercise: cell.grade_id.replace("check", "exercise") for cell in master.checks}
    texts = whole(master, sheet) | {
        name: filled(
            sheet,
            {
                cells[number]: answer.cell(master.solutions[cells[number]])
                for number, answer in answers.items()
            },
        )
        for name, answers in given.items()
    }
    (tmp_path / "in").mkdir()
    for name, text in texts.items():
        (tmp_path / "in" / f"{name}.ipynb").write_text(text, encoding="utf-8")
    found = handed_in(tmp_path / "in")
    book = grade_all(found, master, tmp_path / "out", Options(any_fence(), LIMITS, seed="1"))

    grades = {one.learner: one for one in book.grades}
    assert {one.status for one in book.grades} == {"graded"}
    most = [cell.points for cell in master.checks]
    assert sum(most) == 10
    points = {name: [mark.points for mark in one.marks] for name, one in grades.items()}
    assert {name: points[name] for name in ("right", "untouched", "partly", "later")} == {
        "right": most, "untouched": [0] * len(most), "partly": [most[0], *[0] * len(most[1:])],
        "later": [0, *most[1:]],
    }  # fmt: skip
    flags = [flag for name, one in grades.items() if name not in given for flag in one.flags]
    assert all("the course's version" in flag.kind for flag in flags), flags  # it was handed in
    differ = {
        answer.label: (mark.points, mark.said)
        for name, answers in given.items()
        for cell, mark in zip(master.checks, grades[name].marks, strict=True)
        if (answer := answers.get(cell.exercise))
        if mark.points != (answer.points if answer.words else answer.exercise.points)
    }
    assert not differ
