"""Points for parts: what an answer gets that is partly right, and one that only looks like it."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from course_lib.errors import InputError
from course_lib.teaching import CheckFailed, NotAttempted
from course_lib.teaching.checks import Exercise, load
from course_lib.teaching.checks.probe import Probe
from course_lib.teaching.lab.checking import run_check
from course_lib.teaching.lab.reference import reference
from course_lib.teaching.taught import function_of
from tests.unit.teaching.test_exercises import EXERCISES, session, wrong_versions

WITHOUT = {"00", "12", "13", "14", "15"}
"""Labs of which not every check has parts."""

PARTLY_RIGHT = {
    "1.1": {"counts_bytes": 2, "keeps_empty_chunks": 1, "takes_the_weakest_separator": 0},
    "1.2": {"counts_the_floor_from_the_start": 2, "takes_the_first_boundary": 0},
    "1.3": {"counts_bytes": 3, "drops_snap_to_words": 2, "has_no_floor": 1, "never_ends": 0},
    "2.1": {"keeps_what_is_empty": 1, "knows_no_tab": 1, "splits_at_any_dashes": 0},
    "2.2": {"says_empty_for_what_is_missing": 1, "takes_the_first_of_each": 0, "asks_a_parser": 0},
    "2.3": {"takes_the_first_of_equals": 2, "stops_short_of_the_limit": 1, "returns_the_offset": 0},
    "2.4": {"wants_less_than_most": 2, "gives_up_after_one_try": 1, "returns_nothing": 0},
    "3.1": {"gives_empty_pieces": 3, "leaves_comments_behind": 2, "strips_its_pieces": 0},
    "3.2": {"calls_itself": 2, "looks_at_the_children_alone": 1, "returns_their_types": 0},
    "3.3": {"expects_a_signature": 2, "forgets_the_first_line": 1, "takes_all_or_nothing": 0},
    "5.1": {"divides_by_zero": 2, "takes_one_length_for_the_matrix": 1, "forgets_the_lengths": 0},
    "5.2": {"expects_padding_at_the_end": 1, "averages_everything": 0},
    "5.3": {"ignores_the_default": 2, "returns_a_list": 1, "sorts_the_caller_s_list": 0},
    "5.4": {"counts_words": 1, "forgets_the_special_pieces": 0},
    "6.1": {"takes_zeros": 3, "forgets_the_branch": 2, "forgets_a_comma": 0},
    "6.2": {"compares_by_sign": 2, "does_nothing": 1, "only_inserts": 0},
    "6.3": {"has_no_transaction": 2, "deletes_of_every_document": 1, "never_deletes": 0},
    "7.1": {"joins_with_or": 3, "sorts_by_similarity": 2, "takes_none_for_a_value": 0},
    "7.2": {"leaves_the_setting_behind": 2, "widens_the_list_only": 1, "returns_one_row": 0},
    "7.3": {"trusts_the_walk": 2, "never_walks": 1, "returns_pairs": 0},
    "8.1": {"reads_hidden_chunks": 3, "takes_addresses_alone": 2, "wants_all_words": 0},
    "8.2": {"knows_two_rankings": 2, "counts_places_from_zero": 0},
    "8.3": {"forgets_the_empty": 2, "takes_the_worst_match": 0},
    "9.1": {"has_no_limit_to_top_k": 2, "turns_quotes_into_numbers": 1, "returns_an_object": 0},
    "9.2": {"lists_three": 2, "forgets_place_zero": 1, "names_the_body": 0},
    "9.3": {"asks_one_after_the_other": 3, "stops_at_the_first": 1, "forgets_to_await": 0},
    "10.1": {"looks_at_everything": 3, "stops_after_one_level": 1, "forgets_the_prefix": 0},
    "10.2": {"minds_upper_case": 2, "knows_no_429": 1},
    "10.3": {"sorts_the_paths": 2, "never_removes": 1, "returns_gone_first": 0},
    "11.1": {"counts_in_floats": 2, "splits_every_document": 1, "takes_the_other_shards": 0},
    "11.2": {"hands_on_floats": 1, "trusts_the_counts": 1},
    "11.3": {"tries_once_more": 1, "forgets_the_secret": 1},
    "11.4": {"has_no_report": 2, "splits_constant_shards": 1, "does_not_measure": 2},
    "16.1": {"looks_beyond_k": 2, "counts_from_zero": 0},
    "16.2": {"gains_again_from_repeated_items": 1, "does_not_divide": 0},
    "16.3": {"gives_zero_for_nothing": 2, "ignores_the_confidence": 1},
    "16.4": {"does_not_hand_the_seed_on": 1, "takes_before_minus_after": 0},
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
    if exercise.id != "9.1":  # it takes no arguments: what it returns is a model, the answer itself
        yield from map(always, [*seen.values()][::every])
    yield from map(always, (None, 0, 1.0, "", "ready", True, (), [], {}, set(), ([], []), (0, 0)))
    yield from map(echo, (0, -1))
    yield from map(refuses, (ValueError, TypeError, InputError, Exception))


@pytest.mark.parametrize(("lab", "exercise"), EXERCISES)
def test_an_answer_that_knows_nothing_has_no_points(lab: str, exercise: Exercise) -> None:
    assert not any(earned(exercise, guess) for guess in guesses(lab, exercise))


@pytest.mark.parametrize("returned", [None, "task"])
def test_a_pipeline_is_judged_without_what_an_earlier_exercise_gets_wrong(returned) -> None:
    """In lab 11, `with_database` is judged in 11.3, and its answer is used in 11.4."""
    exercises = load("11")
    right = function_of(reference("11", exercises["11.4"]))
    names = {**right.__globals__, "with_database": lambda task: task if returned else None}
    learners = types.FunctionType(right.__code__, names, right.__name__, right.__defaults__)
    learners.__annotations__ = right.__annotations__
    before = dict(names)
    run_check(exercises["11.4"], learners, exercises=exercises)
    assert names == before


@pytest.mark.parametrize("exercise_id", ["6.1", "6.2", "7.1"])
def test_a_mark_that_was_left_above_a_whole_answer_in_sql_does_not_count(exercise_id) -> None:
    lab = lab_of(exercise_id)
    right = reference(lab, load(lab)[exercise_id])
    place = right.index("\n", len(right) // 2)
    session(lab).check(exercise_id, f"{right[:place]}\n-- YOUR SQL HERE{right[place:]}")
