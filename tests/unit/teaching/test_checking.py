import sys

import pytest

from course_lib.teaching import CheckFailed, NotAttempted
from course_lib.teaching.checks import Exercise
from course_lib.teaching.checks.probe import Probe, exercise
from course_lib.teaching.lab.checking import run_check


@exercise("9.1", "double", 1, time_limit=1)
def double(call: Probe) -> None:
    call(2).gives(4, because="two and two are four")
    call([1]).gives([1, 1])
    call(None).raises(TypeError, mentions="none")


@exercise("9.2", "quadruple", 1, waits_for=("9.1",))
def quadruple(call: Probe) -> None:
    call(2).gives(8)


BOTH: dict[str, Exercise] = {"9.1": double, "9.2": quadruple}


def learners_double(x):
    return x + x


def message(given: object, which: Exercise = double) -> str:
    with pytest.raises(CheckFailed) as failed:
        run_check(which, given, exercises=BOTH)
    return str(failed.value)


def test_the_message_says_what_was_called_what_came_and_what_was_expected():
    assert message(lambda x: x * x if x != 2 else 5) == (
        "9.1 double is not right yet\n"
        "  called    double(2)\n"
        "  got       5\n"
        "  expected  4\n"
        "  because   two and two are four"
    )


def test_an_error_in_the_learners_function_is_shown_with_its_own_line():
    def wrong(x):
        nothing = {}
        return nothing["x"]

    text = message(wrong)
    line = wrong.__code__.co_firstlineno + 2
    assert "got       KeyError: 'x'" in text
    assert f'in line {line} of test_checking.py: return nothing["x"]' in text


def test_an_error_below_a_library_call_is_shown_with_the_learners_line():
    def wrong(x):
        import json

        return json.loads("{")

    assert 'test_checking.py: return json.loads("{")' in message(wrong)


def test_an_exception_of_the_wrong_kind_or_with_another_message_fails():
    def says_something_else(x):
        if x is None:
            raise TypeError("something else")
        return x + x

    assert "expected  TypeError with a message that names 'none'" in message(says_something_else)


def test_an_endless_recursion_and_an_exit_are_failures_like_others():
    def recurses(x):
        return recurses(x)

    assert "calls itself without an end" in message(recurses)
    assert "SystemExit" in message(lambda x: sys.exit(1))


def test_an_endless_loop_ends_within_its_limit_and_names_the_call_and_the_line():
    def loops(x):
        while x:
            pass

    text = message(loops)
    assert text.startswith("9.1 double did not come to an end\n  called    double(2)\n")
    assert "no result after 1 second\n" in text
    assert "test_checking.py: " in text


def test_the_stub_is_not_attempted():
    def double(x):
        raise NotImplementedError

    for untouched in (double, None, ...):
        with pytest.raises(NotAttempted, match=r"^9\.1 not attempted yet$"):
            run_check(BOTH["9.1"], untouched, exercises=BOTH)


def test_an_exercise_that_calls_an_earlier_stub_waits_for_it():
    def double(x):
        raise NotImplementedError

    # In a notebook both are functions of the top level: their qualified names are their names.
    double.__code__ = double.__code__.replace(co_qualname="double")

    def quadruple(x):
        return double(double(x))

    with pytest.raises(NotAttempted, match=r"^9\.2 waits for 9\.1$"):
        run_check(BOTH["9.2"], quadruple, exercises=BOTH)


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


def test_a_value_that_equals_everything_does_not_pass():
    class Anything:
        def __eq__(self, other: object) -> bool:
            return True

    assert "expected  4 (int)" in message(lambda x: Anything())


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


def test_a_right_answer_passes_in_silence(capfd: pytest.CaptureFixture[str]):
    run_check(double, learners_double)
    assert capfd.readouterr() == ("", "")
