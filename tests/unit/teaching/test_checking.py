import sys

import pytest

from course_lib.errors import InputError
from course_lib.teaching import CheckFailed, NotAttempted
from course_lib.teaching.checks.probe import Probe, exercise
from course_lib.teaching.lab.checking import run_check


@exercise("9.1", "double", 1, time_limit=1)
def double(call: Probe) -> None:
    call(2).gives(4, because="two and two are four")
    call([1]).gives([1, 1])
    call(None).raises(TypeError, mentions="none")


@exercise("9.4", "half", 3, time_limit=0.3)
def half(call: Probe) -> None:
    with call.part(2, "even numbers"):
        call(4).gives(2)
    with call.part(1, "odd numbers"):
        call(3).gives(1, because="halves are rounded down")
        call(5).gives(2)


def failed_half(given: object) -> CheckFailed:
    with pytest.raises(CheckFailed) as failed:
        run_check(half, given)
    return failed.value


def test_a_small_condition_costs_the_points_of_its_part_and_the_message_names_them():
    run_check(half, lambda x: x // 2)
    failed = failed_half(lambda x: x / 2 if x % 2 else x // 2)
    assert failed.earned == 2
    assert str(failed).splitlines() == [
        "9.4 half is not right yet: 2 of 3 points",
        "  called    half(3)",
        "  got       1.5 (float)",
        "  expected  1 (int)",
        "  because   halves are rounded down",
        "  parts     ✓ 2 points: even numbers",
        "            ✗ 1 point: odd numbers",
    ]


def test_without_its_first_part_an_exercise_has_no_points():
    failed = failed_half(lambda x: 1 if x == 3 else 2 if x == 5 else 0)
    assert failed.earned == 0 and failed.called == "half(4)"
    assert "points" not in str(failed)


def test_a_loop_without_an_end_costs_the_points_of_its_part():
    def wrong(x):
        while x % 2:
            pass
        return x // 2

    failed = failed_half(wrong)
    assert "no result after" in failed.got and failed.earned == 2


def test_parts_that_do_not_make_up_the_exercises_points_are_an_error():
    def check(call: Probe) -> None:
        with call.part(2, "all of it"):
            call(4).gives(2)

    with pytest.raises(InputError, match=r"the parts of 9\.5 count 2 points, and not 3"):
        run_check(exercise("9.5", "half", 3)(check), lambda x: x // 2)


def message(given: object) -> str:
    with pytest.raises(CheckFailed) as failed:
        run_check(double, given)
    return str(failed.value)


def test_an_error_below_a_library_call_is_shown_with_the_learners_line():
    def wrong(x):
        import json

        return json.loads("{")

    assert 'test_checking.py: return json.loads("{")' in message(wrong)


def test_an_endless_recursion_and_an_exit_are_failures_like_others():
    def recurses(x):
        return recurses(x)

    assert "calls itself without an end" in message(recurses)
    assert "SystemExit" in message(lambda x: sys.exit(1))


@pytest.mark.parametrize("untouched", [None, ...])
def test_what_stands_for_an_answer_is_not_attempted(untouched: object):
    with pytest.raises(NotAttempted, match=r"^9\.1 not attempted yet$"):
        run_check(double, untouched)


@pytest.mark.parametrize(
    "stub", ["-- YOUR SQL HERE", "-- A table.\n# YOUR CODE HERE\nraise NotImplementedError()\n"]
)
def test_a_function_that_uses_a_text_which_is_not_written_waits_for_it(stub: str):
    names = {"TABLE": stub}
    exec("def insert():\n    return TABLE", names)
    table = exercise("9.2", "TABLE", 1)(print)
    later = exercise("9.3", "insert", 1, waits_for=["9.2"])(print)
    with pytest.raises(NotAttempted, match=r"^9\.3 waits for 9\.2$"):
        run_check(later, names["insert"], exercises={"9.2": table, "9.3": later})


def test_a_missing_method_of_an_abstract_library_class_is_an_error_and_no_stub():
    def wrong(x):
        import codecs

        return codecs.Codec().encode("x")

    assert "9.1 double is not right yet" in message(wrong)


def test_a_result_instead_of_the_function_is_told():
    assert "expected  the function itself: double, without brackets" in message(4)


def test_what_the_function_is_given_is_a_copy_and_has_to_stay_as_it_was():
    seen = []

    def keeps_and_changes(x):
        seen.append(x)
        return x + x if isinstance(x, int) else x.append(1) or x

    run = message(keeps_and_changes)
    assert "2 items: [1, 1]  (at argument 1, after the call)" in run
    assert seen == [2, [1, 1]]
    with pytest.raises(CheckFailed):
        run_check(double, keeps_and_changes)
    assert seen[3] == [1, 1], "the second run got a fresh [1]"


def test_prints_and_warnings_go_to_standard_output_and_only_so_many(
    capfd: pytest.CaptureFixture[str],
):
    def chatty(x):
        print("debug" * 10_000)
        print("warning", file=sys.stderr)
        return x + x

    run_check(double, chatty)
    out, err = capfd.readouterr()
    assert out.startswith("debugdebug")
    assert out.endswith("… what your function prints further is not shown\n")
    assert len(out) < 5_000
    assert err == ""
