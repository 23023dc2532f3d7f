"""Random arguments: the library agrees with itself, and wrong answers do not."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

from course_lib.store.databases import FreshDatabase
from course_lib.teaching.checks import load
from course_lib.teaching.checks.drawn import Drawn
from course_lib.teaching.lab.checking import run_check
from course_lib.teaching.lab.reference import reference
from course_lib.teaching.lab.time_limit import OutOfTime, within
from tests.unit.teaching.test_exercises import LABS, mutants_of, session, wrong_versions

EXERCISES = [exercise for lab in LABS for exercise in load(lab).values()]
ALL = [exercise.draws for exercise in EXERCISES if exercise.draws]
DRAWS = [pytest.param(draws, id=draws.id) for draws in ALL]
PLAIN = [pytest.param(draws, id=draws.id) for draws in ALL if not draws.needs_database]
WITHOUT = {"4.3", "11.1", "11.3", "11.4"}
"""Sketches, and what works on the artifacts and tasks of a pipeline."""

NOT_TOLD_APART = {
    "differs for a timeout that is longer than a run may take": "has_a_timeout_of_its_own",
    "gives the right values, and takes long": "copies_what_is_left goes_through_all_pairs",
    "gives the right values, and changes its arguments": """
        takes_keys_out_of_what_was_stored takes_the_innermost_off sorts_the_caller_s_rows
    """,
    "differs in what it leaves of a connection, or of its caller's transaction": """
        changes_the_connection_s_rows changes_the_connection_s_plans sets_another_limit
        ends_its_caller_s_transaction switches_autocommit_off hides_a_failure
        raises_another_exception rolls_everything_back commits_what_it_did
    """,
    "gives the right number as one of NumPy; the check wants a float": "returns_an_array",
    "gives the right values one by one; the check wants a list": "yields_chunks",
    "raises the right exception with another message": """
        lets_min_complain refuses_only_with_passages
    """,
    "differs for input that is not drawn; the check has a case for it": """
        asks_no_floor_of_the_empty_separator asks_the_course_s_model
        stops_after_a_line_that_does_not_fit writes_the_values_as_json asks_twice
        checks_the_default_separators counts_the_header_s_bytes empties_the_offsets
        expects_a_row_of_what_is_taken finds_both_words finds_ready_in_a_text
        gives_the_error_s_own_words has_another_name ignores_capitals_of_texts is_content_with_five
        leaves_empty_texts_out lets_a_separator_begin_before names_by_the_first_group
        removes_the_prefix_everywhere sets_the_day_before settles_equals_by_description
        settles_ties_by_digits stops_at_the_end_of_the_text strikes_scores_out
        takes_short_vectors_for_zeros takes_the_beginning_of_a_path unifies_line_ends
        compares_the_total passes_over_what_is_wholly_lost waits_for_one_after_the_other
        begins_with_ready gives_each_a_share lists_folders_that_are_not_wanted lists_a_content_once
        lists_a_tree_once takes_what_is_missing_for_zero compares_seven_letters compares_texts
        joins_text_and_model looks_for_both_anywhere_in_the_pair wants_a_secondary_limit
        waits_an_hour_at_most leaves_out_hidden_files takes_the_first_sentence asks_two_at_a_time
        strips_states compares_seven_letters_of_states ignores_the_order_of_a_list
        ignores_capitals_of_what_is_gone ignores_capitals_of_models takes_the_last_part_of_a_model
        compares_beginnings takes_an_empty_text_for_none takes_names_for_expressions
        keeps_what_has_a_description counts_uses_of_longer_names counts_uses_of_other_capitals
        sorts_the_letters trims_names strips_the_language ignores_capitals_of_languages
        takes_longer_languages wants_two_values cuts_at_the_limit_for_the_empty_separator
        loses_small_numbers fills_an_array_like_the_first adds_up_characters goes_by_places
        stops_at_a_hundred wants_two_questions has_a_lower_threshold
        takes_the_less_similar_of_equals
    """,
    "differs in how it walks through the index; the rows are those of a small table": """
        always_goes_both_ways drops_before_it_counts forgets_the_iterative_scan never_walks
        prepares_the_statement relaxes_the_order sets_it_outside_a_transaction forbids_the_index
        prepares_it_at_once widens_the_list_only trusts_the_walk ignores_the_distance
        repairs_an_empty_walk_only goes_twice_where_it_is_exact walks_twice
        looks_again_after_the_exact_way trusts_every_walk_but_one misses_what_is_nan
        adds_what_was_missed stops_at_the_first_below returns_the_exact_rows_as_they_are
    """,
    "differs where another transaction holds the lock": """
        asks_whether_it_is_free does_not_wait waits_for_half_a_second
    """,
    "differs in another time zone": "reads_the_date_in_its_own_zone",
    "differs for a similarity that is the threshold, or is NaN; drawn ones are neither": """
        keeps_nan rounds_what_it_compares wants_more_than_the_threshold
    """,
}
"""Why the values of known-wrong versions are right, and which these are."""


def failures(
    draws: Drawn, function: Any, seed: int, database: FreshDatabase, seconds: float = 30
) -> int:
    """Return how many calls of a function do not agree; one for a function that never ends."""
    calls = draws.draw(seed)
    if draws.needs_database:
        with psycopg.connect(database.url, autocommit=True) as connection:
            wanted = draws.expected(calls, connection)
        with psycopg.connect(database.url) as connection:
            values = draws.run(function, calls, connection)
        with psycopg.connect(database.url, autocommit=True) as connection:
            values = draws.state(calls, values, connection)
    else:
        wanted = draws.expected(calls)
        try:
            values = within(seconds, lambda: draws.run(function, calls))
        except OutOfTime:
            return 1
    assert any("raises" not in str(one) for one in wanted), "the library gives values"
    return sum(not draws.agrees(*pair) for pair in zip(wanted, values, strict=True))


def test_every_function_of_the_library_has_draws() -> None:
    assert {one.id for one in EXERCISES if one.draws is None} == WITHOUT


@pytest.mark.parametrize("draws", ALL, ids=lambda draws: draws.id)
def test_the_same_seed_draws_the_same_calls_as_json(draws: Drawn) -> None:
    calls = draws.draw(1, 5)
    assert json.loads(json.dumps(calls)) == draws.draw(1, 5)
    assert calls != draws.draw(2, 5)
    assert all(len(draws.call_text(call)) < 6000 for call in calls)


@pytest.mark.parametrize("draws", DRAWS)
def test_the_library_agrees_with_itself(draws: Drawn, worker_database: FreshDatabase) -> None:
    lab = draws.id.split(".")[0].zfill(2)
    assert failures(draws, reference(lab, load(lab)[draws.id]), 2, worker_database) == 0


@pytest.mark.long
@pytest.mark.parametrize("draws", DRAWS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_wrong_versions_are_told_apart_in_one_of_three_runs(
    draws: Drawn, worker_database: FreshDatabase
) -> None:
    lab = draws.id.split(".")[0].zfill(2)
    missed = {
        wrong.__name__
        for wrong in wrong_versions(lab)[draws.id]
        if not any(failures(draws, wrong, seed, worker_database, 3) for seed in (1, 2, 3))
    }
    assert missed <= set(" ".join(NOT_TOLD_APART.values()).split())


@pytest.mark.parametrize(
    ("draws", "right"),
    [
        pytest.param(draws, right, id=f"{draws.id}-{right.__name__}")
        for draws in ALL
        for right in getattr(mutants_of(draws.id.split(".")[0].zfill(2)), "RIGHT", {}).get(
            draws.id, ()
        )
    ],
)
def test_a_right_answer_in_another_style_passes(
    draws: Drawn, right: Any, worker_database: FreshDatabase
) -> None:
    session(draws.id.split(".")[0].zfill(2)).check(draws.id, right)
    assert not any(failures(draws, right, seed, worker_database) for seed in (1, 2, 3))


def test_a_generator_passes_for_a_list_as_in_a_check() -> None:
    exercise = load("02")["2.1"]
    right = reference("02", exercise)

    def split_stream(text):
        yield from right(text)

    run_check(exercise, split_stream)
    draws = exercise.draws
    assert draws is not None
    calls = draws.draw(1)
    assert draws.run(split_stream, calls) == draws.expected(calls)


@pytest.mark.parametrize("draws", PLAIN)
def test_a_table_of_the_checks_cases_is_no_answer(
    draws: Drawn, worker_database: FreshDatabase
) -> None:
    lab = draws.id.split(".")[0].zfill(2)
    exercise = load(lab)[draws.id]
    right, table = reference(lab, exercise), {}

    def noted(*args: Any, **named: Any) -> Any:
        asked = repr((args, named))
        table[asked] = right(*args, **named)
        return table[asked]

    run_check(exercise, noted)
    if draws.id == "9.1":
        return  # it takes no arguments: what it returns is a model, and the model is asked
    assert failures(draws, lambda *args, **named: table[repr((args, named))], 1, worker_database)
