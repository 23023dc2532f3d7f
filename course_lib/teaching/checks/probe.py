"""What a check is written with: `exercise` declares it, a `Probe` calls the learner's function.

A check reads like a specification: every case says what is called, what is expected, and why::

    @exercise("1.2", "loader.recursive:find_cut", 4)
    def find_cut(call: Probe) -> None:
        call.cases(
            (("ab cd. ef gh", 0, 8), 7, "'. ' is the strongest boundary within reach"),
            (("abcdefghij", 0, 8), 8, "without a boundary the cut is at the limit"),
        )
        call("abc", 0, 0).raises(ValueError, mentions="limit")

Where a case does not hold, `CheckFailed` names the call, what came and what was expected.

Where small conditions should not cost all points, cases are in groups with points of their own
(``with call.part(2, "one problem"):``). Without the first group the others count nothing, unless
it says ``needed=False``: then no group may hold for an answer that does nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from types import GeneratorType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from course_lib.errors import CourseError, InputError
from course_lib.teaching.checks import Exercise
from course_lib.teaching.checks.origin import named, stub_in, where_in_given
from course_lib.teaching.checks.outcomes import CheckFailed, NotAttempted, Part
from course_lib.teaching.checks.values import (
    LIST_ITERATOR,
    describe,
    difference,
    mismatch,
    shown,
    written,
)
from course_lib.teaching.lab.time_limit import stop_behind

if TYPE_CHECKING:
    import psycopg

    from course_lib.teaching.checks.drawn import Drawn
    from course_lib.teaching.checks.scratch import Scratch

__all__ = ["Case", "Probe", "StubReached", "exercise"]

WRONG = "is not right yet"
MOST_YIELDED = 10_000
"""Of an endless generator, so many items are read."""


def exercise(
    id: str,
    function: str,
    points: int,
    *,
    waits_for: Iterable[str] = (),
    time_limit: float = 5.0,
    draws: Drawn | None = None,
) -> Callable[[Callable[[Probe], None]], Exercise]:
    """Declare the decorated check as an exercise; see `Exercise` for the parameters.

    Parameters
    ----------
    id, points, waits_for, time_limit
        The exercise's.
    function
        What the learner writes: where `course_lib` has it, as in ``"loader.recursive:find_cut"``,
        or the name alone of a sketch, which only the lab's solution has. It may also be a constant
        with a text of SQL, or a pipeline.
    draws
        Random arguments for it.
    """

    def declare(check: Callable[[Probe], None]) -> Exercise:
        name, library = function.rpartition(":")[2], f"course_lib.{function}"
        return Exercise(
            id, name, points, check, (), tuple(waits_for), time_limit,
            library if ":" in library else None, draws and replace(draws, id=id, name=name),
        )  # fmt: skip

    return declare


class StubReached(Exception):
    """The call ended in a `NotImplementedError`: this stub, or one of an earlier exercise.

    Attributes
    ----------
    function
        The qualified name of the function that raised it.
    """

    def __init__(self, function: str) -> None:
        super().__init__(function)
        self.function = function


class Probe:
    """The learner's object, ready to be called and judged.

    Parameters
    ----------
    exercise
        Which exercise is being checked.
    given
        What the learner wrote.
    connect
        Opens a connection to the lab's database; None where there is no lab.

    Attributes
    ----------
    calling
        The call that is running; `str` gives it as text, empty between calls.
    parts
        The groups of cases that have been judged.
    """

    def __init__(
        self,
        exercise: Exercise,
        given: Any,
        connect: Callable[[], psycopg.Connection[Any]] | None = None,
    ) -> None:
        self.exercise = exercise
        self.given = given
        self.calling: object = ""
        self._last: Case | None = None
        self._label = ""
        self._connect = connect
        self.parts: list[Part] = []
        self._fault: CheckFailed | None = None

    def shown_as(self, label: str) -> Probe:
        """Say how the next call is shown, also if it never ends; return the probe to call."""
        self._label = label
        return self

    @property
    def called(self) -> str:
        """The last call, as text; empty before the first."""
        return self._last.label if self._last else ""

    def __call__(self, *args: Any, **kwargs: Any) -> Case:
        """Call the learner's object with copies of these arguments; judge the returned `Case`.

        A generator is read to its end, and passes for a list.
        """
        if not callable(self.given):
            self.fail(
                f'lab.check("{self.exercise.id}", …)',
                got=f"{shown(self.given)} ({type(self.given).__name__})",
                expected=f"the function itself: {self.exercise.name}, without brackets",
            )
        given_args, given_kwargs = _copied(args), _copied(kwargs)
        self.calling = self._label or _Call(self.exercise.name, args, kwargs)
        self._label = ""
        self._last = case = Case(self, self.calling)
        names = [*range(1, len(args) + 1), *kwargs]
        handed = [*given_args, *given_kwargs.values()]
        own = [*args, *kwargs.values()]
        case._copies = [
            (name, copied, value)
            for name, copied, value in zip(names, handed, own, strict=True)
            if copied is not value and not difference(copied, value)
        ]
        try:
            case._value = self.given(*given_args, **given_kwargs)
            if isinstance(case._value, GeneratorType):  # its body runs when it is read
                case._value = list(islice(case._value, MOST_YIELDED))
        except (Exception, SystemExit) as error:
            if stub := stub_in(error):
                raise StubReached(stub) from None
            case.error = error
        self.calling = ""
        return case

    @property
    def sql(self) -> str:
        """The learner's text of SQL; anything else fails the check."""
        if not isinstance(self.given, str):
            self.fail(
                f'lab.check("{self.exercise.id}", {self.exercise.name})',
                got=f"{shown(self.given)} ({type(self.given).__name__})",
                expected="a text of SQL",
            )
        return self.given

    def cases(self, *rows: tuple[tuple[Any, ...], Any, str], **named: Any) -> None:
        """Go through a table: with these arguments it gives this value, for this reason.

        Parameters
        ----------
        rows
            The arguments of each call, what is expected, and why.
        named
            What every call gets in addition, by its name.
        """
        for args, expected, because in rows:
            self(*args, **named).gives(expected, because=because)

    @contextmanager
    def part(self, points: int, about: str, *, needed: bool = True) -> Iterator[None]:
        """Judge a group of cases that has points of its own.

        What fails in a group is kept, and the next group is judged as well.

        Parameters
        ----------
        points
            What it counts; those of all groups are the exercise's.
        about
            What its cases have in common, in a few words.
        needed
            Of the first group: whether the check ends where it fails.
        """
        try:
            yield
        except (StubReached, NotAttempted, CourseError):
            raise
        except Exception as error:
            if stop := stop_behind(error):
                raise stop from None
            failed = error if isinstance(error, CheckFailed) else self.odd(error)
            self.parts.append(Part(points, about, passed=False))
            self._fault = self._fault or failed
            if needed and len(self.parts) == 1:
                raise failed from error.__cause__
        else:
            self.parts.append(Part(points, about, passed=True))

    def settle(self) -> None:
        """Fail the check after its last group with what failed first in one of them."""
        if self._fault is not None:
            raise self._fault
        points = sum(one.points for one in self.parts)
        if self.parts and points != self.exercise.points:
            raise InputError(
                f"the parts of {self.exercise.id} count {points} points, and not "
                f"{self.exercise.points}",
                hint="Change the points in its check.",
            )

    def fail(
        self, called: str = "", *, got: str = "", expected: str = "", because: str = ""
    ) -> NoReturn:
        """Fail the check with a message made of these parts."""
        headline = f"{self.exercise.name} {WRONG}"
        raise CheckFailed(
            self.exercise.id, headline, called=called, got=got, expected=expected, because=because
        )

    def odd(self, error: Exception) -> CheckFailed:
        """Return the failure for a result that the check could not work with."""
        by_name = "placeholders" in str(error)  # psycopg, of a statement with a bare %s
        return CheckFailed(
            self.exercise.id,
            f"{self.exercise.name} {WRONG}",
            called=self.called,
            got=f"a result that cannot be used: {named(error)}",
            expected="what the statement of the exercise says",
            because="values are passed by name: write %(name)s, not %s" if by_name else "",
        )

    def connect(self) -> psycopg.Connection[Any]:
        """Return a new connection to the lab's database; the caller closes it."""
        if self._connect is None:
            raise InputError(
                f"{self.exercise.id} needs a database", hint="Run the check through a lab."
            )
        return self._connect()

    @contextmanager
    def scratch(self) -> Iterator[Scratch]:
        """Give an empty schema of the lab's database, dropped again at the end."""
        from course_lib.teaching.checks.scratch import scratch_schema

        with self.connect() as connection, scratch_schema(self, connection) as scratch:
            yield scratch


class Case:
    """One call of the learner's function and what came of it.

    Its methods judge it; each returns the case or its value, so that they can be chained.
    """

    def __init__(
        self, probe: Probe, label: object, value: Any = None, error: BaseException | None = None
    ) -> None:
        self.probe = probe
        self._label = label
        self.error = error
        self._copies: list[tuple[int | str, Any, Any]] = []
        self._value = value

    @property
    def label(self) -> str:
        """The call as text, whole; it is written when a message needs it."""
        return str(self._label)

    @label.setter
    def label(self, label: str) -> None:
        self._label = label

    @property
    def value(self) -> Any:
        """What the function returned; a function that raised fails the check here."""
        if self.error is not None:
            self._fail(self.raised, "")
        return self._value

    @property
    def raised(self) -> str:
        """What the function raised, and in which line of the learner's cell; empty for nothing."""
        if self.error is None:
            return ""
        return f"{named(self.error)}{where_in_given(self.error, self.probe.given)}"

    def gives(self, expected: Any, *, because: str = "") -> Case:
        """Expect this value, of this type.

        Parameters
        ----------
        expected
            Compared as `difference` does.
        because
            Why, as half a sentence.
        """
        if self.error is not None:
            self._fail(self.raised, shown(expected), because)
        if found := difference(self._value, expected):
            place, got, wanted = found
            at = f"  (at {place})" if place else ""
            self._fail(f"{got}{at}", f"{wanted}{at}", because)
        self._spares_its_arguments()
        return self

    def returns(self, wanted: Any) -> Any:
        """Expect a value of this type (``list[Span]``, ``str``, …) and return it."""
        if found := mismatch(self.value, wanted):
            self._fail(found, describe(wanted))
        self._spares_its_arguments()
        return self._value

    def holds(self, condition: object, says: str, *, got: str = "", because: str = "") -> Case:
        """Expect a condition on the value, which `says` puts into words.

        Parameters
        ----------
        condition
            A Boolean; anything else counts as broken.
        says
            What was expected, as a sentence.
        got
            What came instead; without it the value is shown.
        because
            Why it matters.
        """
        if type(condition).__name__ not in {"bool", "bool_"} or not condition:
            self._fail(got or shown(self.value), says, because)
        self._spares_its_arguments()
        return self

    def raises(self, wanted: type[Exception], *, mentions: str = "", because: str = "") -> Case:
        """Expect an exception, with `mentions` somewhere in its message (in any case)."""
        expected = wanted.__name__ + (
            f" with a message that names {mentions!r}" if mentions else ""
        )
        if self.error is None:
            self._fail(f"{shown(self._value)}, and no exception", expected, because)
        if not isinstance(self.error, wanted) or (
            mentions and mentions.casefold() not in str(self.error).casefold()
        ):
            self._fail(self.raised, expected, because)
        return self

    def _spares_its_arguments(self) -> None:
        """Fail a function that changed what it was given."""
        for name, handed, own in self._copies:
            if found := difference(handed, own):
                place, got, wanted = found
                self._fail(
                    f"{got}  (at argument {name}{place}, after the call)",
                    f"{wanted}, as before the call",
                    "a function leaves what it was given as it was: its caller still needs it",
                )

    def _fail(self, got: str, expected: str, because: str = "") -> NoReturn:
        self.probe.fail(self.label, got=got, expected=expected, because=because)


class _Call(NamedTuple):
    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __str__(self) -> str:
        parts = [written(value) for value in self.args]
        parts += [f"{key}={written(value)}" for key, value in self.kwargs.items()]
        return f"{self.name}({', '.join(parts)})"


def _copied(value: Any) -> Any:
    # A learner may change what they are given: the case notices, and the expectations stay.
    if isinstance(value, tuple) and type(value) is tuple:
        return tuple(_copied(item) for item in value)
    if type(value) is dict:
        return {key: _copied(item) for key, item in value.items()}
    if type(value) in (list, set, bytearray, LIST_ITERATOR) or type(value).__name__ == "ndarray":
        return copy.deepcopy(value)
    return value
