"""Calls of an exercise's answer: how they are made, what counts as their value, random ones.

Calls and values are plain JSON (`encoded.encode` says how), so that the same ones can be made
within the grader's fence and be judged outside of it; `running` makes them, `judging` compares.

Draw only what the exercise's statement decides, since there are more right answers than the
library's; where several values are right, say so with `agrees`. All of it is the same for the same
seed on every machine: there are no logarithms in it, and no set is read in its own order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple, TypeVar

from course_lib.teaching.checks.encoded import WHOLE, alike, decode, encode, tag_of, text_of

__all__ = ["Call", "Drawn", "Draws", "as_json", "call_of", "drawn", "given"]

Item = TypeVar("Item")
WORDS = ("mill", "sail", "wind", "(corn)", "Öl", "straße", "to", "a", "x.y", "Wheel", "日本", "-b")
BREAKS = (" ", " ", " ", ". ", "\n", "\n\n", ", ", ";", "--", "  ")
ODD = ("\r\n", "\t", "\ufeff", "e\u0301", "\u212b", "👩‍🔬", "İ", "ﬁ", "\u00a0", "\x0b")
"""What careless code changes: line ends, tabs, a byte-order mark, what NFC or `lower` changes."""


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

    def prose(self, most: int = 12) -> str:
        """Return a text as `text` does, with characters in it that careless code changes."""
        text = self.text(most)
        for odd in self.sample(ODD, self.randint(0, 2)):
            at = self.choice((0, self.randrange(len(text) + 1), len(text)))
            text = text[:at] + odd + text[at:]
        return text

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


def call_of(function: str, *args: Any, **named: Any) -> str:
    """Return the call of a function as a learner would paste it.

    Examples
    --------
    >>> call_of("choose", [1, 2], why="")
    "choose([1, 2], why='')"
    """
    return Drawn(name=function).call_text(as_json(Call(args, named)))


def as_json(call: Call) -> dict[str, Any]:
    """Return a call as JSON."""
    return {"args": encode(call.args)["tuple"], "named": encode(call.named)}


def from_json(call: Mapping[str, Any]) -> Call:
    """Return new objects for the arguments of a call, which the function may change."""
    return Call(tuple(map(decode, call["args"])), decode(call["named"]))


def plainly(answer: Any, *args: Any, **named: Any) -> Any:
    """Call a function; a text of SQL is a value as it is, which `look` runs."""
    return answer(*args, **named) if callable(answer) else str(answer)


@dataclass(frozen=True)
class Drawn:
    """How an exercise's answer is called, what counts as the value, and random calls of it.

    Attributes
    ----------
    draw_one
        Draws the arguments of one call; None for an exercise that has named cases alone.
    count
        How many calls are enough: of a function that takes no time, those that meet each of its
        rules several times.
    apply
        Calls the answer (its first argument) with what was drawn, and returns what counts as its
        value: for answers that take or return functions, classes, or a connection.
    prepare
        Makes the tables of one call, in an empty schema: ``prepare(connection, *args)``.
    look
        Returns what is compared: ``look(connection, value, *args)``, with the value as JSON; it may
        be in what is returned as ``Json(value)``.
    takes_connection
        Whether the function itself works on the database: its tables are made beside it, and
        `apply` gets the connection after the function. Otherwise they are made where `look` is
        called, outside of the fence.
    paste
        How a call is written where that is not the function with its arguments: a form for
        `str.format` with the arguments' texts by their places, and with `rest` for all that come
        after these; or a function of the arguments.
    known
        What the lab's notebook has, by its name there: it is written in the place of such a value.
    agrees
        Tells whether a value that came is as good as the expected one.
    why
        Adds what a value says of the mistake: ``why(value, *args)``, with the value as JSON.
    says
        The same by a piece of what came, such as of PostgreSQL's message.
    varies
        Places of arguments that do not depend on the others: then a call is made once more with
        one of them from another call, which a cache that forgets an argument does not survive.
    """

    draw_one: Callable[[Draws], Call] | None = None
    count: int = 0
    apply: Callable[..., Any] = plainly
    prepare: Callable[..., Any] | None = None
    look: Callable[..., Any] | None = None
    takes_connection: bool = False
    paste: str | Callable[..., str] = ""
    known: Mapping[str, Any] = field(default_factory=dict)
    agrees: Callable[[Any, Any], bool] = alike
    why: Callable[..., str] | None = None
    says: Mapping[str, str] = field(default_factory=dict)
    varies: tuple[int, ...] = ()
    id: str = ""
    name: str = ""

    @property
    def needs_database(self) -> bool:
        """Whether the calls need a connection."""
        return bool(self.prepare or self.look or self.takes_connection)

    @property
    def is_text(self) -> bool:
        """Whether the answer is a text of SQL."""
        return bool(self.look) and not self.takes_connection and self.apply is plainly

    def draw(self, seed: int | str, count: int | None = None) -> list[Any]:
        """Return calls as JSON, the shortest first: the same ones for the same seed everywhere."""
        if self.draw_one is None:
            return []
        random = Draws(f"{self.id} {seed}")
        calls = [
            as_json(self.draw_one(random)) for _ in range(self.count if count is None else count)
        ]
        for one in calls[::3]:  # a list is as good as a tuple
            one["args"] = [arg["tuple"] if tag_of(arg) == "tuple" else arg for arg in one["args"]]
        for place in range(0, len(calls) - 1, 4) if self.varies else ():
            args, at = list(calls[place]["args"]), random.choice(self.varies)
            if len(args) > at < len(calls[place + 1]["args"]):
                args[at] = calls[place + 1]["args"][at]
                calls.append({**calls[place], "args": args})
        return sorted(calls, key=lambda one: len(self.call_text(one)))

    def call_text(self, one: Any, width: int = WHOLE) -> str:
        """Return a call as a learner would paste it; each value in at most so many characters."""
        if callable(self.paste):
            args, named = from_json(one)
            return self.paste(*args, **named)
        known = [(encode(value), name) for name, value in self.known.items()]
        parts = [
            next((name for value, name in known if value == arg), text_of(arg, width))
            for arg in one["args"]
        ]
        named = decode(one["named"])
        parts += [f"{name}={text_of(encode(value), width)}" for name, value in named.items()]
        form = self.paste or f"{self.name}({{rest}})"
        used = [int(place) + 1 for place in re.findall(r"(?<!{){(\d)}", form)]
        return form.format(*parts, rest=", ".join(parts[max(used, default=0) :]))


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
    >>> any_number.draw(1)[0]["args"]
    [7]
    """
    return lambda draw_one: Drawn(draw_one, count, **options)
