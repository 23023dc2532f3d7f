"""What the audits draw at random: texts, names, rankings, numbers; each takes `Draws` first.

All of it is the same for the same seed on every machine: there are no logarithms in it, and no set
is read in its own order.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, TypeVar

Item = TypeVar("Item")

WORDS = ("mill", "sail", "wind", "(corn)", "Öl", "straße", "to", "a", "x.y", "Wheel", "日本", "-b")
BREAKS = (" ", " ", " ", ". ", "\n", "\n\n", ", ", ";", "--", "  ")


class Draws(Random):
    """Random numbers, and sorts of cases in turn."""

    def turn(self, count: int) -> int:
        """Return a number from 0 to `count` - 1; each comes once before any comes again."""
        left: list[int] = self.__dict__.setdefault("left", {}).setdefault(count, [])
        if not left:
            left += self.sample(range(count), count)
        return left.pop()


def chance(random: Random, share: float) -> bool:
    """Return True in this share of all cases."""
    return random.random() < share


def text(random: Random, most: int = 12, breaks: Sequence[str] = BREAKS) -> str:
    """Return words and what is between them: few sorts of breaks in each text, often repeated."""
    some = random.sample(breaks, random.randint(1, min(4, len(breaks))))
    parts = [random.choice((*WORDS, *some)) + random.choice(some) for _ in range(most)]
    return "".join(parts)[: random.randint(1, 6 * most)]


def sparse(random: Random) -> str:
    """Return some letters, with one to three breaks anywhere."""
    parts = ["abcdefghijkl"[: random.randint(1, 5)] for _ in range(3)]
    for _ in range(random.randint(1, 3)):
        parts.insert(random.randrange(len(parts)), random.choice(BREAKS))
    return "".join(parts)


def some(random: Random, items: Sequence[Item], least: int = 0) -> list[Item]:
    """Return some of the items, in any order."""
    return random.sample(items, random.randint(min(least, len(items)), len(items)))


def names(random: Random, count: int) -> list[str]:
    """Return different names of files, of which some are alike: parts, capitals, other folders."""
    found: dict[str, None] = {}
    while len(found) < count:
        stem = random.choice(("mill", "sail", "notes", "README", "a", "b")) + random.choice("01  ")
        name = f"{random.choice(('', '', 'old-', 'docs/', 'src/'))}{stem.strip()}.md"
        found[random.choice((name, name, name.upper(), name.lower()))] = None
    return list(found)


def numbers(random: Random, count: int, low: float = 0.0, high: float = 1.0) -> list[float]:
    """Return numbers of three decimals."""
    return [round(random.uniform(low, high), 3) for _ in range(count)]


def matrix(random: Random, rows: int, width: int, dtype: str = "float64", low: float = -1.0) -> Any:
    """Return an array of numbers of three decimals."""
    import numpy as np

    return np.array([numbers(random, width, low) for _ in range(rows)], dtype=dtype)


def ranking(random: Random, items: Sequence[Item], length: int) -> list[Item]:
    """Return items in an order, some of them again: next to each other and further apart."""
    found: list[Any] = []
    while len(found) < length:
        found += [random.choice(items)] * random.choice((1, 1, 1, 2, 3))
    return found[:length]
