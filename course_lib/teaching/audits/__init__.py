"""Audits: each exercise's function is called with arguments drawn at random, and judged outside.

A check runs in the learner's process, with cases that are in its module. An audit does not trust
that process and cannot be learnt by heart. The grader uses it so::

    audit = load_audits("01")["1.1"]
    calls = audit.draw(seed, audit.count)             # the grader: new ones for each run
    values = audit.run(function, calls)               # within the fence: values come out as JSON
    got = audit.state(calls, values)                  # the grader again, in its own process
    wanted = audit.expected(calls)                    # of the library's function; once a run
    all(map(audit.agrees, wanted, got))               # and both have the same length

Calls and values are plain JSON (`values.encode` says how). Nothing that comes out of the fence is
turned into Python objects again: it is compared as JSON.

Some functions write SQL or work on a connection; `audit.needs` is ``"database"`` for those. Then
`run` and `state` each get a connection to the submission's own database, and `expected` one to a
database of the library's own; all of them hold the extension `vector`. `run` makes tables in
schemas called ``audit_0``, ``audit_1``, … where the function itself works on them, and `state`
reads there what the function left behind. Where the function writes SQL, `state` runs it. Both read
and run what a learner wrote, so give them a role that may do no more than that learner may, and a
`statement_timeout`.

A lab has a module (`lab01.py`), which holds a function for each exercise: it draws the arguments of
one call. Draw only what the exercise's statement decides, since there are more right answers than
the library's; where several values are right, say so with `agrees`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from course_lib.teaching.audits.draws import Draws
from course_lib.teaching.audits.values import alike, decode, encode, error_value, text_of
from course_lib.teaching.checks import Exercise, lab_module, lab_number, load

if TYPE_CHECKING:
    import psycopg

__all__ = ["Audit", "Call", "audit", "call", "load_audits"]

COUNT = 60
"""Calls of a function that takes no time; enough to meet each of its rules several times."""


class Call(NamedTuple):
    """The arguments of one call."""

    args: tuple[Any, ...]
    named: dict[str, Any]


def call(*args: Any, **named: Any) -> Call:
    """Return these arguments as a `Call`."""
    return Call(args, named)


def plainly(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """Call a function."""
    return function(*args, **named)


@dataclass(frozen=True)
class Audit:
    """How one exercise is audited; see this package's docstring.

    Attributes
    ----------
    id
        The exercise's.
    draw_one
        Draws the arguments of one call.
    count
        How many calls are enough.
    needs
        None, or ``"database"``.
    apply
        Calls the function (its first argument) with what was drawn, and returns what counts as its
        value: for functions that take or return functions, classes, or a connection.
    prepare
        Makes the tables of one call, in an empty schema: ``prepare(connection, *args)``.
    look
        Returns what is compared: ``look(connection, value, *args)``.
    takes_connection
        Whether the function itself works on the database: its tables are made by `run`, and
        `apply` gets the connection after the function. Otherwise they are made by `state`.
    paste
        How a call is written where that is not the function with its arguments: a form for
        `str.format`, with the arguments' texts.
    agrees
        Tells whether a value that came is as good as the expected one.
    exercise
        The check's.
    """

    id: str
    draw_one: Callable[[Draws], Call]
    count: int = COUNT
    needs: str | None = None
    apply: Callable[..., Any] = plainly
    prepare: Callable[..., Any] | None = None
    look: Callable[..., Any] | None = None
    takes_connection: bool = False
    paste: str = ""
    agrees: Callable[[Any, Any], bool] = alike
    exercise: Exercise | None = None

    def draw(self, seed: int | str, count: int | None = None) -> list[Any]:
        """Return calls as JSON: the same ones for the same seed, on every machine."""
        random = Draws(f"{self.id} {seed}")
        drawn = [self.draw_one(random) for _ in range(self.count if count is None else count)]
        return [{"args": encode(one.args)["tuple"], "named": encode(one.named)} for one in drawn]

    def run(
        self,
        function: Callable[..., Any],
        calls: Sequence[Any],
        connection: psycopg.Connection[Any] | None = None,
    ) -> list[Any]:
        """Call a function and return its values as JSON; an exception is a value, too."""
        values = []
        for place, one in enumerate(calls):
            try:
                args, named = _arguments(one)
                if self.takes_connection:
                    self._enter(connection, place, args, new=True)
                    args = (connection, *args)
                values.append(encode(self.apply(function, *args, **named)))
            except (Exception, SystemExit) as error:
                values.append(error_value(error))
        if self.takes_connection and connection is not None:
            connection.rollback()
        return values

    def state(
        self,
        calls: Sequence[Any],
        values: Sequence[Any],
        connection: psycopg.Connection[Any] | None = None,
    ) -> list[Any]:
        """Return what is compared: the values, or what the database holds after the calls."""
        if self.look is None:
            return list(values)
        found = []
        for place, (one, value) in enumerate(zip(calls, values, strict=False)):
            try:
                args, _ = _arguments(one)
                self._enter(connection, place, args, new=not self.takes_connection)
                found.append(encode(self.look(connection, value, *args)))
            except Exception as error:
                found.append(error_value(error))
        return found

    def expected(
        self, calls: Sequence[Any], connection: psycopg.Connection[Any] | None = None
    ) -> list[Any]:
        """Return what the library's own function gives."""
        from course_lib.teaching.lab.reference import reference

        assert self.exercise is not None
        function = reference(_lab_of(self.id), self.exercise)
        return self.state(calls, self.run(function, calls, connection), connection)

    def call_text(self, one: Any) -> str:
        """Return a call as a learner would paste it; long values are shortened with an ellipsis."""
        assert self.exercise is not None
        parts = [text_of(value) for value in one["args"]]
        if self.paste:
            return self.paste.format(*parts, *[""] * 9)
        parts += [f"{name}={text_of(value)}" for name, value in one["named"]["dict"]]
        return f"{self.exercise.name}({', '.join(parts)})"

    def _enter(self, connection: Any, place: int, args: tuple[Any, ...], *, new: bool) -> None:
        """Go into the schema of a call; make it and its tables first, where it is new."""
        if connection is None:
            raise ValueError(f"the audit of {self.id} needs a connection")
        connection.rollback()
        connection.autocommit = True
        schema = f"audit_{place}"
        if new:
            connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
            connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(f"SET search_path TO {schema}, public")
        if new and self.prepare is not None:
            self.prepare(connection, *args)


def audit(id: str, **options: Any) -> Callable[[Callable[[Draws], Call]], Audit]:
    """Declare the decorated function, which draws one call, as an exercise's audit.

    Parameters
    ----------
    id
        The exercise's.
    options
        Further fields of `Audit`.
    """
    return lambda draw_one: Audit(id, draw_one, **options)


def load_audits(lab_id: str | int) -> dict[str, Audit]:
    """Return the audits of a lab by the ids of their exercises; none for a lab that has none.

    Parameters
    ----------
    lab_id
        As in ``"01"``.

    Examples
    --------
    >>> audit = load_audits("13")["13.2"]
    >>> audit.run(lambda found, gold, k=10: 1, [{"args": [[], []], "named": {"dict": []}}])
    [1]
    """
    module = lab_module(__name__, lab_id)
    if module is None:
        return {}
    exercises = load(lab_id)
    audits = [one for one in vars(module).values() if type(one) is Audit]
    return {one.id: replace(one, exercise=exercises[one.id]) for one in audits}


def _arguments(one: Any) -> Call:
    """Return new objects for the arguments of a call, which the function may change."""
    return Call(tuple(map(decode, one["args"])), decode(one["named"]))


def _lab_of(exercise_id: str) -> str:
    return lab_number(exercise_id.split(".")[0])
