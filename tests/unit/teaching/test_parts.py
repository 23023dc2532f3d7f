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
    """Return the points that a wrong answer gets; none of these comes as far as drawn calls."""
    with pytest.raises((CheckFailed, NotAttempted)) as ended:
        session(lab_of(exercise.id)).judge(exercise, given, drawn=False)
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

    The constants are some values that the named cases expect, and some of any type.
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
        session(lab).judge(exercise, noted, drawn=False)
    except CheckFailed:
        pass  # of a component, and of a pipeline, the text counts
    every = len(seen) // 4 + 1
    if exercise.id != "9.1":  # it takes no arguments: what it returns is a model, the answer itself
        yield from map(always, [*seen.values()][::every])
    yield from map(always, (None, 0, "ready", True, [], {}, ([], [])))
    yield echo(0)
    yield refuses(InputError if exercise.draws.needs_database else ValueError)


@pytest.mark.parametrize(("lab", "exercise"), EXERCISES)
def test_an_answer_that_knows_nothing_has_no_points(lab: str, exercise: Exercise) -> None:
    assert not any(earned(exercise, guess) for guess in guesses(lab, exercise))


@pytest.mark.parametrize("exercise_id", ["6.1", "6.2", "7.1"])
def test_a_mark_that_was_left_above_a_whole_answer_in_sql_does_not_count(exercise_id) -> None:
    lab = lab_of(exercise_id)
    right = reference(lab, load(lab)[exercise_id])
    place = right.index("\n", len(right) // 2)
    session(lab).check(exercise_id, f"{right[:place]}\n-- YOUR SQL HERE{right[place:]}")
