"""Points for parts: what an answer gets that is partly right, and one that only looks like it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from course_lib.errors import InputError
from course_lib.teaching import CheckFailed, NotAttempted
from course_lib.teaching.checks import Exercise, load
from course_lib.teaching.checks.probe import Probe
from course_lib.teaching.lab.reference import reference
from tests.unit.teaching.test_exercises import EXERCISES, session, wrong_versions

WITHOUT = {"00", "12", "13", "14", "15", "01", "03", "05", "07", "08", "09", "10", "16"}
"""Labs of which not every check has parts."""

PARTLY_RIGHT = {
    "2.1": {"keeps_what_is_empty": 1, "knows_no_tab": 1, "splits_at_any_dashes": 0},
    "2.2": {"says_empty_for_what_is_missing": 1, "takes_the_first_of_each": 0, "asks_a_parser": 0},
    "2.3": {"takes_the_first_of_equals": 2, "stops_short_of_the_limit": 1, "returns_the_offset": 0},
    "2.4": {"wants_less_than_most": 2, "gives_up_after_one_try": 1, "returns_nothing": 0},
    "6.1": {"takes_zeros": 3, "forgets_the_branch": 2, "forgets_a_comma": 0},
    "6.2": {"compares_by_sign": 2, "does_nothing": 1, "only_inserts": 0},
    "6.3": {"has_no_transaction": 2, "deletes_of_every_document": 1, "never_deletes": 0},
    "11.1": {"counts_in_floats": 2, "splits_every_document": 1, "takes_the_other_shards": 0},
    "11.2": {"hands_on_floats": 1, "trusts_the_counts": 1},
    "11.3": {"tries_once_more": 1, "forgets_the_secret": 1},
    "11.4": {"has_no_report": 2, "splits_constant_shards": 1, "does_not_measure": 2},
}
"""Points of some wrong versions: of a small mistake, of what is half right, of what is neither."""

ROWS = [
    pytest.param(exercise_id, name, points, id=f"{exercise_id}-{name}")
    for exercise_id, versions in PARTLY_RIGHT.items()
    for name, points in versions.items()
]


def lab_of(exercise_id: str) -> str:
    return exercise_id.split(".")[0].zfill(2)


def earned(exercise: Exercise, given: Any) -> int:
    """Return the points that a wrong answer gets."""
    with pytest.raises((CheckFailed, NotAttempted)) as ended:
        session(lab_of(exercise.id)).check(exercise.id, given)
    return getattr(ended.value, "earned", 0)


@pytest.mark.parametrize(("exercise_id", "name", "points"), ROWS)
def test_a_mistake_costs_the_points_of_its_parts(exercise_id: str, name: str, points: int) -> None:
    lab = lab_of(exercise_id)
    wrong = {one.__name__: one for one in wrong_versions(lab)[exercise_id]}[name]
    assert earned(load(lab)[exercise_id], wrong) == points


@pytest.mark.parametrize(("lab", "exercise"), EXERCISES)
def test_the_parts_make_up_the_points(lab: str, exercise: Exercise) -> None:
    probe = Probe(exercise, reference(lab, exercise), session(lab).connect)
    exercise.check(probe)
    assert sum(part.points for part in probe.parts) in (0, exercise.points)
    assert len(probe.parts) > 1 or lab in WITHOUT


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
    every = len(seen) // 12 + 1
    yield from map(always, [*seen.values()][::every])
    yield from map(always, (None, 0, 1.0, "", "ready", True, (), [], {}, set(), ([], []), (0, 0)))
    yield from map(echo, (0, -1))
    yield from map(refuses, (ValueError, TypeError, InputError, Exception))


@pytest.mark.parametrize(("lab", "exercise"), EXERCISES)
def test_an_answer_that_knows_nothing_has_no_points(lab: str, exercise: Exercise) -> None:
    assert not any(earned(exercise, guess) for guess in guesses(lab, exercise))
