"""Points for parts: an answer that only looks like one gets none.

What an answer gets that is partly right is held where it is judged: test_exercises.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from course_lib.errors import InputError
from course_lib.teaching import CheckFailed, NotAttempted
from course_lib.teaching.checks import Exercise, load
from course_lib.teaching.lab.reference import reference
from tests.unit.teaching.test_exercises import EXERCISES, session


def lab_of(exercise_id: str) -> str:
    return exercise_id.split(".")[0].zfill(2)


def earned(exercise: Exercise, given: Any) -> int:
    """Return the points that a wrong answer gets."""
    with pytest.raises((CheckFailed, NotAttempted)) as ended:
        session(lab_of(exercise.id)).check(exercise.id, given)
    return getattr(ended.value, "earned", 0)


def always(value: Any) -> Callable[..., Any]:
    return lambda *_, **__: value


def echo(place: int) -> Callable[..., Any]:
    return lambda *args, **_: args[place]


def refuses(error: type[Exception]) -> Callable[..., Any]:
    def function(*_: Any, **__: Any) -> Any:
        raise error("name text chunk_size chunk_overlap limit")

    return function


def guesses(lab: str, exercise: Exercise) -> Iterator[Any]:
    """Return answers that know nothing: constants, what they are given, refusals.

    The constants are the values that the check itself expects, in turn, and those of any type.
    Where each costs much, as its long time limit says, every fourth is tried.
    """
    right = reference(lab, exercise)
    if isinstance(right, str):
        yield from ("SELECT 1", "SELECT * FROM document_chunks", "-- nothing\n;")
        return
    seen: dict[str, Any] = {}

    def noted(*args: Any, **named: Any) -> Any:
        value = right(*args, **named)
        seen.setdefault(repr(value), value)
        return value

    try:
        session(lab).check(exercise.id, noted)
    except CheckFailed:
        pass  # of a component, and of a pipeline, the text counts
    step = 4 if exercise.time_limit > 10 else 1
    every = (len(seen) // 12 + 1) * step
    if exercise.id != "9.1":  # it takes no arguments: what it returns is a model, the answer itself
        yield from map(always, [*seen.values()][::every])
    constants = (None, 0, 1.0, "", "ready", True, (), [], {}, set(), ([], []), (0, 0))
    yield from map(always, constants[::step])
    yield from map(echo, (0, -1))
    yield from map(refuses, (ValueError, TypeError, InputError, Exception)[::step])


@pytest.mark.parametrize(("lab", "exercise"), EXERCISES)
def test_an_answer_that_knows_nothing_has_no_points(lab: str, exercise: Exercise) -> None:
    assert not any(earned(exercise, guess) for guess in guesses(lab, exercise))


@pytest.mark.parametrize("exercise_id", ["6.1", "6.2", "7.1"])
def test_a_mark_that_was_left_above_a_whole_answer_in_sql_does_not_count(exercise_id) -> None:
    lab = lab_of(exercise_id)
    right = reference(lab, load(lab)[exercise_id])
    place = right.index("\n", len(right) // 2)
    session(lab).check(exercise_id, f"{right[:place]}\n-- YOUR SQL HERE{right[place:]}")
