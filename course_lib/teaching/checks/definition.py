"""What an exercise is defined with: parts with points, named cases with their reasons.

An exercise is one definition, which the learner's check, the grader, `course mine` and the tests
run with the same engine (`running` makes the calls, `judging` compares)::

    @exercise("1.2", "loader.recursive:find_cut", draws=any_window)
    def check_find_cut() -> Parts:
        return [
            part(
                2, "the strongest separator in reach",
                (("ab cd. ef gh", 0, 8), "'. ' is the strongest separator within reach"),
                (("abcdefghij", 0, 8), "without a boundary the cut is at the limit"),
            ),
            part(1, "arguments that are refused",
                 case("abc", 0, 0, raises=ValueError, mentions="limit", because="…")),
        ]

What each case gives is not written: it is what the course's version gives. The library's own
tests hold the cases that were worked by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from course_lib.teaching.checks import Exercise
from course_lib.teaching.checks.drawn import Call, Drawn

__all__ = ["Case", "Cases", "Parts", "case", "exercise", "part"]


class Case(NamedTuple):
    """One call with what is to be said of it.

    Attributes
    ----------
    call
        The arguments.
    because
        Why it gives what it gives, in the learner's terms, as half a sentence.
    raises, mentions
        The exception that is expected, and a word that its message has to hold, in any case.
    """

    call: Call
    because: str
    raises: type[Exception] | None = None
    mentions: str = ""


class Cases(NamedTuple):
    """A part of an exercise: cases that have points of their own.

    Attributes
    ----------
    points
        What it counts; those of all parts are the exercise's.
    about
        What its cases have in common, in a few words.
    cases
        In the order in which they are tried; what fails first is shown.
    needed
        Of the first part: whether the others count nothing without it.
    """

    points: int
    about: str
    cases: tuple[Case, ...]
    needed: bool = True


Parts = Sequence[Cases]


def case(
    *args: Any,
    because: str,
    raises: type[Exception] | None = None,
    mentions: str = "",
    **named: Any,
) -> Case:
    """Return a case; `Case` explains what is not an argument of the call."""
    return Case(Call(args, named), because, raises, mentions)


def part(
    points: int,
    about: str,
    *cases: Case | tuple[tuple[Any, ...], str],
    needed: bool = True,
    **named: Any,
) -> Cases:
    """Return a part of an exercise.

    Parameters
    ----------
    points, about, needed
        See `Cases`.
    cases
        What `case` returns, or pairs of arguments and a reason.
    named
        What each call of such a pair gets in addition, by its name.
    """
    rows = [
        one if isinstance(one, Case) else case(*one[0], because=one[1], **named) for one in cases
    ]
    return Cases(points, about, tuple(rows), needed)


def exercise(
    id: str,
    function: str,
    *,
    waits_for: Iterable[str] = (),
    time_limit: float = 5.0,
    draws: Drawn | None = None,
) -> Callable[[Callable[[], Parts]], Exercise]:
    """Declare the decorated function, which returns the parts, as an exercise.

    Parameters
    ----------
    id, waits_for, time_limit
        The exercise's; see `Exercise`.
    function
        What the learner writes: where `course_lib` has it, as in ``"loader.recursive:find_cut"``,
        or the name alone of a sketch, which only the lab's solution has. It may also be a constant
        with a text of SQL, or a pipeline.
    draws
        How it is called, and random calls of it.
    """

    def declare(parts: Callable[[], Parts]) -> Exercise:
        name, library = function.rpartition(":")[2], f"course_lib.{function}"
        return Exercise(
            id, name, parts, replace(draws or Drawn(), id=id, name=name), (), tuple(waits_for),
            time_limit, library if ":" in library else None,
        )  # fmt: skip

    return declare
