"""Random arguments for an exercise's function, whose values are judged outside of its process.

A check runs in the learner's process, with cases that are in its module. What is drawn cannot be
learnt by heart, and does not trust that process. `course mine` and the grader use it so::

    draws = load("01")["1.2"].draws
    calls = draws.draw(seed)                          # new ones for each run
    values = draws.run(function, calls)               # within the fence: values come out as JSON
    got = draws.state(calls, values)                  # the grader again, in its own process
    wanted = draws.expected(calls)                    # of the library's function; once a run
    all(map(draws.agrees, wanted, got))               # and both have the same length

Calls and values are plain JSON (`encoded.encode` says how). Nothing that comes out of the fence is
turned into Python objects again: it is compared as JSON.

Some functions write SQL or work on a connection: their draws need a database. Then `run` and
`state` each get a connection to the submission's own database, and `expected` one to a database of
the library's own; all of them hold the extension `vector`. `run` makes tables in schemas called
``audit_0``, ``audit_1``, … where the function itself works on them, and `state` reads there what
the function has left. Where the function writes SQL, `state` runs it. Both read and run what a
learner wrote, so give them a role that may do no more than that learner may, and a
`statement_timeout`.

Draw only what the exercise's statement decides, since there are more right answers than the
library's; where several values are right, say so with `agrees`. All of it is the same for the same
seed on every machine: there are no logarithms in it, and no set is read in its own order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random
from types import GeneratorType
from typing import Any, NamedTuple, TypeVar

from course_lib.teaching.checks.encoded import LONGEST, alike, decode, encode, error_value, text_of

__all__ = ["Call", "Drawn", "Draws", "drawn", "given"]

Item = TypeVar("Item")
WORDS = ("mill", "sail", "wind", "(corn)", "Öl", "straße", "to", "a", "x.y", "Wheel", "日本", "-b")
BREAKS = (" ", " ", " ", ". ", "\n", "\n\n", ", ", ";", "--", "  ")


class Draws(Random):
    """Random numbers, texts, names and rankings, and sorts of cases in turn."""

    def turn(self, count: int) -> int:
        """Return a number from 0 to `count` - 1; each comes once before any comes again."""
        left: list[int] = self.__dict__.setdefault("left", {}).setdefault(count, [])
        if not left:
            left += self.sample(range(count), count)
        return left.pop()

    def chance(self, share: float) -> bool:
        """Return True in this share of all cases."""
        return self.random() < share

    def text(self, most: int = 12) -> str:
        """Return words and what is between them: few sorts of breaks in each, often repeated."""
        some = self.sample(BREAKS, self.randint(1, 4))
        parts = [self.choice((*WORDS, *some)) + self.choice(some) for _ in range(most)]
        return "".join(parts)[: self.randint(1, 6 * most)]

    def some(self, items: Sequence[Item], least: int = 0) -> list[Item]:
        """Return some of the items, in any order."""
        return self.sample(items, self.randint(min(least, len(items)), len(items)))

    def names(self, count: int) -> list[str]:
        """Return different names of files, some of them alike: parts, capitals, other folders."""
        found: dict[str, None] = {}
        while len(found) < count:
            stem = self.choice(("mill", "sail", "notes", "README", "a", "b")) + self.choice("01  ")
            name = f"{self.choice(('', '', 'old-', 'docs/', 'src/'))}{stem.strip()}.md"
            found[self.choice((name, name, name.upper(), name.lower()))] = None
        return list(found)

    def numbers(self, count: int, low: float = 0.0, high: float = 1.0) -> list[float]:
        """Return numbers of three decimals."""
        return [round(self.uniform(low, high), 3) for _ in range(count)]

    def matrix(self, rows: int, width: int, dtype: str = "float64", low: float = -1.0) -> Any:
        """Return an array of numbers of three decimals."""
        import numpy as np

        return np.array([self.numbers(width, low) for _ in range(rows)], dtype=dtype)


class Call(NamedTuple):
    """The arguments of one call."""

    args: tuple[Any, ...]
    named: dict[str, Any]


def given(*args: Any, **named: Any) -> Call:
    """Return these arguments as a `Call`."""
    return Call(args, named)


def plainly(answer: Any, *args: Any, **named: Any) -> Any:
    """Call a function; a text of SQL is a value as it is, which `look` runs."""
    return answer(*args, **named) if callable(answer) else answer


@dataclass(frozen=True)
class Drawn:
    """How an exercise's function is called with random arguments; see this module's docstring.

    Attributes
    ----------
    draw_one
        Draws the arguments of one call.
    count
        How many calls are enough: of a function that takes no time, those that meet each of its
        rules several times.
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
    id, name
        The exercise's.
    """

    draw_one: Callable[[Draws], Call]
    count: int
    apply: Callable[..., Any] = plainly
    prepare: Callable[..., Any] | None = None
    look: Callable[..., Any] | None = None
    takes_connection: bool = False
    paste: str = ""
    agrees: Callable[[Any, Any], bool] = alike
    id: str = ""
    name: str = ""

    @property
    def needs_database(self) -> bool:
        """Whether `run`, `state` and `expected` need a connection."""
        return bool(self.prepare or self.look)

    def draw(self, seed: int | str, count: int | None = None) -> list[Any]:
        """Return calls as JSON: the same ones for the same seed, on every machine."""
        random = Draws(f"{self.id} {seed}")
        drawn = [self.draw_one(random) for _ in range(self.count if count is None else count)]
        return [{"args": encode(one.args)["tuple"], "named": encode(one.named)} for one in drawn]

    def run(
        self, function: Callable[..., Any], calls: Sequence[Any], connection: Any = None
    ) -> list[Any]:
        """Call a function and return its values as JSON; an exception is a value, too."""
        values = []
        for place, one in enumerate(calls):
            try:
                args, named = _arguments(one)
                if self.takes_connection:
                    self._enter(connection, place, args, new=True)
                    args = (connection, *args)
                value = self.apply(function, *args, **named)
                if isinstance(value, GeneratorType):  # it passes for a list, as in a check
                    value = list(islice(value, LONGEST))
                values.append(encode(value))
            except (Exception, SystemExit) as error:
                values.append(error_value(error))
        if self.takes_connection and connection is not None and not connection.closed:
            connection.rollback()  # a learner's function may have closed it
        return values

    def state(
        self, calls: Sequence[Any], values: Sequence[Any], connection: Any = None
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

    def expected(self, calls: Sequence[Any], connection: Any = None) -> list[Any]:
        """Return what the library's own function gives."""
        from course_lib.teaching.checks import lab_number, load
        from course_lib.teaching.lab.reference import reference

        lab = lab_number(self.id.split(".")[0])
        function = reference(lab, load(lab)[self.id])
        return self.state(calls, self.run(function, calls, connection), connection)

    def call_text(self, one: Any) -> str:
        """Return a call as a learner would paste it; long values are shortened with an ellipsis."""
        parts = [text_of(value) for value in one["args"]]
        if self.paste:
            return self.paste.format(*parts, *[""] * 9)
        named = decode(one["named"])
        parts += [f"{name}={text_of(encode(value))}" for name, value in named.items()]
        return f"{self.name}({', '.join(parts)})"

    def _enter(self, connection: Any, place: int, args: tuple[Any, ...], *, new: bool) -> None:
        """Go into the schema of a call; make it and its tables first, where it is new."""
        if connection is None:
            raise ValueError(f"the draws of {self.id} need a connection")
        connection.rollback()
        connection.autocommit = True
        schema = f"audit_{place}"
        if new:
            connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
            connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(f"SET search_path TO {schema}, public")
        if new and self.prepare is not None:
            self.prepare(connection, *args)


def drawn(count: int = 60, **options: Any) -> Callable[[Callable[[Draws], Call]], Drawn]:
    """Declare the decorated function, which draws one call, as an exercise's `draws`.

    Parameters
    ----------
    count
        How many calls are enough.
    options
        Further fields of `Drawn`.

    Examples
    --------
    >>> @drawn(3)
    ... def any_number(random: Draws) -> Call:
    ...     return given(random.choice([7]))
    >>> any_number.run(lambda number: number + 1, any_number.draw(1))
    [8, 8, 8]
    """
    return lambda draw_one: Drawn(draw_one, count, **options)


def _arguments(one: Any) -> Call:
    """Return new objects for the arguments of a call, which the function may change."""
    return Call(tuple(map(decode, one["args"])), decode(one["named"]))
