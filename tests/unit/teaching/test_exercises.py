"""Every exercise of every lab, with each answer of its book.

An answer is judged as in the notebook and as in the grader: the verdict has to be the same. A lab
joins by `course_lib/teaching/checks/labNN.py` and its book, `answers/labNN.md`. That the course's
own version passes, and a stub waits, is held by the notebooks: see `tests/notebooks`.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from course_lib.teaching import CheckFailed, Lab
from course_lib.teaching.checks import Exercise, load
from course_lib.teaching.checks.judging import Outcomes, Told, Verdict, judge
from course_lib.teaching.lab import checking
from tests.blackbox.test_exercises_are_called import exercises
from tests.unit.teaching.answers import Answer, answers_of

SOURCES = Path(__file__).resolve().parents[3] / "solutions"
LABS = [lab for lab in sorted(path.name[:2] for path in SOURCES.glob("[0-9]*.py")) if load(lab)]
EXERCISES = [
    pytest.param(lab, exercise, id=exercise.id) for lab in LABS for exercise in load(lab).values()
]
ANSWERS = [pytest.param(lab, one, id=one.label) for lab in LABS for one in answers_of(lab)]


@cache
def session(lab: str) -> Lab:
    return Lab(lab)


def judged_here(lab: Lab, exercise: Exercise, given: Any) -> tuple[int, str]:
    """Return points and message of the check in a notebook."""
    try:
        lab.check(exercise.id, given)
    except CheckFailed as failed:
        return failed.earned, str(failed)
    return exercise.points, ""


def judged_outside(made: Outcomes) -> int:
    """Return the points of the grader's judge, which gets the same outcomes as JSON."""
    told = {"outcomes": [*made._made.values()], "later": made.later()}
    verdict = Verdict(made.sheet.exercise)
    judge(made.sheet, Told(made.sheet, json.loads(json.dumps(told))), verdict)
    return verdict.earned


@pytest.mark.parametrize(("lab", "answer"), ANSWERS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_answer_has_its_points_and_its_reason_by_both_judges(
    lab: str, answer: Answer, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    exercise, made = answer.exercise, list[Outcomes]()

    def kept(*given: Any) -> Outcomes:
        made.append(Outcomes(*given))
        return made[-1]

    monkeypatch.setattr(checking, "Outcomes", kept)
    points, said = judged_here(session(lab), exercise, answer.made())
    assert answer.words in said and bool(said) == bool(answer.words)
    assert points == (answer.points if answer.words else exercise.points)
    assert "hint 1 of" in said or not said
    assert capfd.readouterr().err == ""
    if not exercise.draws.needs_database:  # of those the long tests ask the grader itself
        assert judged_outside(made[-1]) == points


@pytest.mark.parametrize(("lab", "exercise"), EXERCISES)
def test_an_exercise_is_complete(lab: str, exercise: Exercise):
    assert exercise.id.split(".")[0] == str(int(lab)), "the id begins with the lab's number"
    assert len(exercise.parts) > 1 and all(part.points > 0 for part in exercise.parts)
    assert len(exercise.hints) >= 2, "hints grow in detail"
    known = [one for one in answers_of(lab) if one.exercise.id == exercise.id]
    assert sum(bool(one.words) for one in known) >= 3, f"wrong answers: see answers/lab{lab}.md"
    assert sum(not one.words for one in known) >= 3, f"right answers: see answers/lab{lab}.md"


def test_an_exercise_names_the_function_of_the_library_that_its_cell_imports():
    shown = {exercise_id: named for _, exercise_id, named in exercises()}
    known = {one.id: one.library for lab in LABS for one in load(lab).values()}
    assert known == {
        exercise_id: f"{named[0][0]}:{named[0][1]}" if named else None
        for exercise_id, named in shown.items()
    }
