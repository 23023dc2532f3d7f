"""The engine of the checks: parts, messages, drawn calls, and what a call leaves behind."""

import functools
import json
import os
import random
import sys
from pathlib import Path

import numpy as np
import pytest

from course_lib.teaching import CheckFailed, NotAttempted
from course_lib.teaching.checks import Exercise
from course_lib.teaching.checks.definition import Parts, case, exercise, part
from course_lib.teaching.checks.drawn import Call, Draws, drawn, given
from course_lib.teaching.checks.judging import Sheet, Told, Verdict, differing, judge
from course_lib.teaching.checks.running import Calls, outcomes_of
from course_lib.teaching.lab.checking import run_check


@exercise("9.1", "double", time_limit=1)
def double() -> Parts:
    return [
        part(1, "what has a double", ((2,), "two and two are four"), (([1],), "one list twice")),
        part(1, "what has none", case(None, raises=TypeError, mentions="none", because="no sum")),
    ]


@exercise("9.4", "half", time_limit=0.3)
def half() -> Parts:
    return [
        part(2, "even numbers", ((4,), "two and two are four")),
        part(1, "odd numbers", ((3,), "halves are rounded down"), ((5,), "here, too")),
    ]


@drawn(30, varies=(1,))
def any_two(random: Draws) -> Call:
    return given([random.randint(0, 9) for _ in range(random.randint(1, 4))], random.randint(1, 5))


@exercise("9.5", "times", draws=any_two)
def times() -> Parts:
    return [part(3, "numbers", (([1, 2], 3), "each three times as much"))]


def right_times(numbers, factor):
    return [one * factor for one in numbers]


def doubled(x):
    if x is None:
        raise TypeError("None has no double")
    return x + x


COURSE = {"double": doubled, "half": lambda x: x // 2, "times": right_times}


def run(one: Exercise, answer: object, **more: object) -> None:
    run_check(one, answer, sheet=Sheet(one, reference=lambda: COURSE[one.name]), **more)


def failed(one: Exercise, answer: object) -> CheckFailed:
    with pytest.raises(CheckFailed) as error:
        run(one, answer)
    return error.value


def test_a_small_condition_costs_the_points_of_its_part_and_the_message_names_them():
    run(half, lambda x: x // 2)
    found = failed(half, lambda x: x / 2 if x % 2 else x // 2)
    assert found.earned == 2
    assert str(found).splitlines() == [
        "9.4 half is not right yet: 2 of 3 points",
        "  called    half(3)",
        "  got       1.5 (float)",
        "  expected  1 (int)",
        "  because   halves are rounded down",
        "  parts     ✓ 2 points: even numbers",
        "            ✗ 1 point: odd numbers",
    ]


def test_without_its_first_part_an_exercise_has_no_points():
    found = failed(half, lambda x: 1 if x == 3 else 2 if x == 5 else 0)
    assert found.earned == 0 and found.called == "half(4)"
    assert "points" not in str(found)


def test_a_loop_without_an_end_costs_the_points_of_its_part_and_names_its_call_and_line():
    def wrong(x):
        while x % 2:
            pass
        return x // 2

    found = failed(half, wrong)
    assert found.called == "half(3)" and found.earned == 2
    assert "no result after 0.3 seconds" in found.got and "while x % 2" in found.got


def test_a_wrong_exception_a_missing_one_and_another_message_are_told():
    assert "[1, 1], and no exception" in failed(double, lambda x: x + x if x else [1, 1]).got
    said = failed(double, lambda x: x + x if x else int("a"))
    assert said.got.startswith("ValueError: invalid literal") and said.earned == 1
    assert said.expected == "TypeError with a message that names 'none'"

    def other_words(x):
        if x is None:
            raise TypeError("nothing to add")
        return x + x

    assert failed(double, other_words).expected == "TypeError with a message that names 'none'"


def test_an_error_below_a_library_call_is_shown_with_the_learners_line():
    assert 'test_checking.py: return json.loads("{")' in str(failed(double, wrong_json))


def wrong_json(x):
    return json.loads("{")


def test_an_endless_recursion_and_an_exit_are_failures_like_others():
    def recurses(x):
        return recurses(x)

    assert "calls itself without an end" in str(failed(double, recurses))
    assert "SystemExit" in str(failed(double, lambda x: sys.exit(1)))


@pytest.mark.parametrize("untouched", [None, ...])
def test_what_stands_for_an_answer_is_not_attempted(untouched: object):
    with pytest.raises(NotAttempted, match=r"^9\.1 not attempted yet$"):
        run(double, untouched)


def test_a_stub_is_not_attempted_and_one_of_an_earlier_exercise_is_waited_for():
    def times(numbers, factor):
        raise NotImplementedError()

    with pytest.raises(NotAttempted, match=r"^9\.5 not attempted yet$"):
        run(double_of_times(), times)
    names = {"half": half_stub, "__name__": "cell"}
    exec("def times(numbers, factor):\n    return [half(2) for _ in numbers]", names)
    with pytest.raises(NotAttempted, match=r"^9\.5 waits for 9\.4$"):
        run(
            double_of_times(), names["times"], exercises={"9.4": named_stub(), "9.5": times_again()}
        )


def half_stub(x):
    raise NotImplementedError()


def double_of_times() -> Exercise:
    return times_again()


def times_again() -> Exercise:
    return exercise("9.5", "times", draws=any_two)(times.define)


def named_stub() -> Exercise:
    return exercise("9.4", "half_stub")(half.define)


def test_a_stub_does_not_wait_for_the_courses_values():
    def answer(x):
        raise NotImplementedError()

    def course():
        raise AssertionError("the course's version was asked for")

    with pytest.raises(NotAttempted, match=r"^9\.4 not attempted yet$"):
        run_check(half, answer, sheet=Sheet(half, reference=course))


def test_a_missing_method_of_an_abstract_library_class_is_an_error_and_no_stub():
    def wrong(x):
        import codecs

        return codecs.Codec().encode("x")

    assert "9.1 double is not right yet" in str(failed(double, wrong))


def test_a_result_instead_of_the_function_is_told():
    assert "the function itself: double, without brackets" in failed(double, 4).expected


def test_an_earlier_function_that_has_not_passed_is_the_courses_for_a_while():
    names = {"half": lambda x: "wrong", "__name__": "cell"}
    line = "[one * factor if half(2) == 1 else 0 for one in numbers]"
    exec(f"def times(numbers, factor):\n    return {line}", names)
    mine = names["half"]
    run(times, names["times"], instead={"half": lambda x: x // 2})
    assert names["half"] is mine
    with pytest.raises(CheckFailed, match=r"got +\[0, 0\]"):
        run(times, names["times"])


def test_a_drawn_call_finds_what_the_cases_do_not_and_costs_one_point():
    found = failed(times, lambda numbers, factor: [one * min(factor, 3) for one in numbers])
    assert found.earned == 2
    assert eval(found.called, {"times": right_times})
    assert found.because == "the course's version gives another value"
    assert len(found.called) < 14, "the shortest call that shows it"


def test_a_list_of_the_cases_values_is_no_answer_and_its_share_of_drawn_calls_is_told():
    def by_heart(numbers, factor):
        return {"[1, 2] 3": [3, 6]}.get(f"{numbers} {factor}")

    assert failed(times, by_heart).earned == 2
    sheet = Sheet(times, reference=lambda: right_times)
    told = json.loads(json.dumps(outcomes_of(Calls(times.draws, by_heart), sheet.calls, 0, 5)))
    first, share = differing(sheet, Told(sheet, told))
    assert share > 0.9 and first.startswith("times([")


def test_outcomes_that_came_as_json_give_the_same_verdict():
    for answer in (right_times, lambda n, f: n, lambda n, f: [one * min(f, 3) for one in n]):
        sheet = Sheet(times, reference=lambda: right_times)
        told = json.loads(json.dumps(outcomes_of(Calls(times.draws, answer), sheet.calls, 0, 5)))
        verdict = Verdict(times)
        judge(sheet, Told(sheet, told), verdict)
        if answer is right_times:
            assert verdict.fault is None and verdict.earned == 3
        else:
            here = failed(times, answer)
            assert (verdict.earned, str(verdict.fault)) == (here.earned, str(here))


@pytest.mark.parametrize(
    "told",
    [
        {}, {"outcomes": 7}, {"outcomes": [7]}, {"outcomes": [{"value": {"raises": 7}}]},
        {"outcomes": [{"value": {"tuple": 7}, "left": 7, "changed": 7}]},
        {"outcomes": [{"value": [3, 6], "left": {"a": 7}, "changed": [1, {"array": 7}, 2]}],
         "later": {"a": 7, "99": 8, "0": {"set": 7}}},
    ],
)  # fmt: skip
def test_outcomes_of_any_shape_do_no_harm(told: dict):
    sheet, verdict = Sheet(times, reference=lambda: right_times), Verdict(times)
    judge(sheet, Told(sheet, told), verdict)
    assert verdict.fault is not None and verdict.earned < 3


def extends(numbers, factor, _found=[]):  # noqa: B006
    _found.clear()
    _found.extend(one * factor for one in numbers)
    return _found


CACHE = {}


def forgets_the_factor(numbers, factor):
    return CACHE.setdefault(tuple(numbers), right_times(numbers, factor))


def empties(numbers, factor):
    return [numbers.pop(0) * factor for _ in list(numbers)]


def changes(what):
    def times(numbers, factor):
        what()
        return right_times(numbers, factor)

    return times


def moves(folder="/"):
    os.chdir(folder)


GUARDED = {
    "a result that later calls change": (extends, "as when it was returned"),
    "a cache that forgets an argument": (forgets_the_factor, "another value"),
    "an argument": (empties, "as before the call"),
    "the working directory": (changes(moves), "the working directory is /"),
    "Python's random numbers": (changes(lambda: random.seed(1)), "the random numbers"),
    "NumPy's random numbers": (changes(lambda: np.random.seed(1)), "the random numbers"),
    "the environment": (
        changes(functools.partial(os.environ.__setitem__, "A_NAME", "x")),
        "the environment variable A_NAME is x",
    ),
}


@pytest.mark.parametrize("what", GUARDED)
def test_what_a_call_leaves_changed_costs_a_point_and_is_put_back(what: str, monkeypatch):
    answer, words = GUARDED[what]
    CACHE.clear()
    before = Path.cwd(), random.getstate(), str(np.random.get_state()), dict(os.environ)
    found = failed(times, answer)
    assert words in str(found) and found.earned == 2
    after = Path.cwd(), random.getstate(), str(np.random.get_state()), dict(os.environ)
    assert before == after


def test_what_only_a_first_call_changes_as_an_import_does_is_forgiven():
    done = []

    def imports(numbers, factor):
        if not done:
            done.append(os.environ.__setitem__("A_NAME", "x"))
        return right_times(numbers, factor)

    run(times, imports)
    assert "A_NAME" not in os.environ


def test_what_the_function_is_given_is_a_copy():
    seen = []

    def keeps(x):
        seen.append(x)
        return x + x

    with pytest.raises(CheckFailed):
        run(double, lambda x: x.append(1) or x if isinstance(x, list) else keeps(x))
    run_times = len(seen)
    with pytest.raises(CheckFailed):
        run(double, lambda x: x.append(1) or x if isinstance(x, list) else keeps(x))
    assert len(seen) == 2 * run_times


def test_prints_and_warnings_go_to_standard_output_and_only_so_many(
    capfd: pytest.CaptureFixture[str],
):
    def chatty(x):
        print("debug" * 10_000)
        print("warning", file=sys.stderr)
        if x is None:
            raise TypeError("None has no double")
        return x + x

    run(double, chatty)
    out, err = capfd.readouterr()
    assert out.startswith("debugdebug")
    assert out.endswith("… what your function prints further is not shown\n")
    assert len(out) < 5_000
    assert err == ""


def test_an_answer_that_keeps_something_between_calls_is_told_so():
    def remembers(x, seen=[]):  # noqa: B006
        seen.append(x)
        return x // 2 if len(seen) < 2 else 0

    assert "stays from one call to the next" in failed(half, remembers).because
    assert "two and two" in failed(half, lambda x: 0).because


def test_an_iterator_holds_the_same_in_the_second_check_as_in_the_first():
    def once() -> Parts:
        return [part(1, "what is read once", ((iter([1, 2]),), "it holds two"))]

    one = exercise("9.6", "count")(once)
    for _ in range(2):
        judged = Sheet(one, reference=lambda: lambda items: len(list(items)))
        with pytest.raises(CheckFailed) as error:
            run_check(one, lambda items: 0, sheet=judged)
        assert error.value.expected == "2"


def test_an_exception_is_not_explained_by_the_value_that_was_expected():
    assert failed(half, lambda x: x // 0).because.startswith("it must not fail here: two and two")
