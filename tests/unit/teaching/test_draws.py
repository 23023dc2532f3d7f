"""Random calls: the same for the same seed, as JSON; and no table of the named cases."""

from __future__ import annotations

import json

import pytest

from course_lib.teaching.checks import Exercise, load
from course_lib.teaching.checks.judging import SEED, Outcomes, Sheet
from course_lib.teaching.checks.running import Calls
from course_lib.teaching.lab.reference import reference
from tests.unit.teaching.test_exercises import LABS, session

EXERCISES = [exercise for lab in LABS for exercise in load(lab).values()]
DRAWN = [pytest.param(one, id=one.id) for one in EXERCISES if one.draws.count]
WITHOUT = {"11.4"}
"""A pipeline."""


def test_every_function_of_the_library_has_draws() -> None:
    assert {one.id for one in EXERCISES if not one.draws.count} <= WITHOUT


@pytest.mark.parametrize("exercise", DRAWN)
def test_the_same_seed_draws_the_same_calls_as_json(exercise: Exercise) -> None:
    calls = exercise.draws.draw(1, 5)
    assert json.loads(json.dumps(calls)) == exercise.draws.draw(1, 5)
    assert calls != exercise.draws.draw(2, 5)


@pytest.mark.parametrize("exercise", DRAWN)
def test_few_drawn_calls_are_named_cases_most_have_values_and_the_library_gives_them_twice(
    exercise: Exercise,
) -> None:
    lab = exercise.id.split(".")[0].zfill(2)
    known, right = session(lab), reference(lab, exercise)
    connect = known.connect if exercise.draws.needs_database else None
    asked = Sheet(exercise, SEED, reference=lambda: right, connect=connect)
    again = Sheet(exercise, "another", reference=lambda: right, connect=connect, after=asked)
    outcomes = Outcomes(again, Calls(exercise.draws, right, connect), connect)
    named, failed = exercise.calls, 0
    for place in range(len(again.calls)):
        outcome = outcomes[place]
        assert exercise.draws.agrees(again.expected(place), outcome["value"])
        assert outcome.keys() == {"value"}, "it changes and leaves nothing"
        failed += "'raises'" in str(outcome["value"])
    assert not outcomes.later()
    outcomes.close(), again.close()
    assert failed < len(again.calls) * 3 / 4
    for sheet in (asked, again):
        drawn = sheet.calls[sheet.named :]
        assert sum(one in named for one in drawn) < len(drawn) / 3
