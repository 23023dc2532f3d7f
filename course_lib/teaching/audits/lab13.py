"""Lab 13: rankings with repeated items, and values of which an interval is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from course_lib.teaching.audits import Call, audit, call
from course_lib.teaching.audits.draws import Draws, chance, names, numbers, ranking, some
from course_lib.teaching.audits.values import alike

SPREAD = 0.12
"""How far the end of an interval may be off, in widths: the random numbers may be others."""


def _found(random: Draws) -> tuple[list[str], Any, dict[str, int]]:
    """Return names, what was found of them (at times as an iterator), and at times `k`."""
    files = names(random, random.choice((2, 5, 16)))
    found = ranking(random, files, random.choice((0, 2, 6, 30)))
    limit = {} if chance(random, 0.3) else {"k": random.randint(1, 12)}
    return files, iter(found) if chance(random, 0.2) else found, limit


@audit("13.1", count=150)
def recall_at(random: Draws) -> Call:
    """Draw a ranking, and what is wanted as a set or a list."""
    files, found, limit = _found(random)
    gold = some(random, [*files, "missing.md"])
    return call(found, random.choice((set(gold), [*gold, *gold[:1]])), **limit)


@audit("13.2", count=150)
def reciprocal_rank(random: Draws) -> Call:
    """Draw few wanted names, so that the first one comes late, at times after a part of one."""
    files, found, limit = _found(random)
    gold = some(random, files[:3])
    if gold and chance(random, 0.2):
        found = [gold[0][1:], *found]
    return call(found, random.choice((set(gold), gold)), **limit)


@audit("13.3", count=150)
def ndcg_at(random: Draws) -> Call:
    """Draw a ranking and the gains of some names, 0 among them."""
    files, found, limit = _found(random)
    gains = {name: random.choice((0, 1, 2, 3, 0.5)) for name in some(random, files)}
    return call(found, gains, **limit)


def _interval(function: Callable[..., Any], *args: Any, seed: int, **named: Any) -> list[Any]:
    """Return an interval, whether its seed gives it again, and whether another seed does."""

    def ends(seed: int, **named: Any) -> list[float]:
        found = function(*args, seed=seed, **named)
        return [float(found.mean), float(found.low), float(found.high)]

    few = {**named, "resamples": 40}
    first = ends(seed, **few)
    return [*ends(seed, **named), first == ends(seed, **few), first == ends(seed + 1, **few)]


def _as_wide(expected: Any, got: Any) -> bool:
    """Compare what `_interval` returned."""
    if not isinstance(expected, list) or not isinstance(got, list) or len(got) != len(expected):
        return alike(expected, got)
    mean, low, high, *rest = expected
    if not alike([mean, *rest], [got[0], *got[3:]]) or any(
        type(end) is not float for end in got[:3]
    ):
        return False
    if low == high:  # of equal values, or of one redrawn set: that may be any
        return bool(got[1] == got[2]) and (low != mean or alike(low, got[1]))
    far = SPREAD * (high - low)
    return bool(abs(got[1] - low) <= far and abs(got[2] - high) <= far)


def _values(random: Draws) -> tuple[list[float], dict[str, Any]]:
    """Return values of any, of equal and of very unequal size, and how to draw from them."""
    named: dict[str, Any] = {"seed": random.randrange(1000)}
    sort = random.turn(8)
    if sort == 0:
        return [], named
    if sort == 1:
        return [random.choice((0.25, 0.5, 0.75))] * random.randint(1, 9), named
    if sort == 2:
        return numbers(random, 20), {**named, "resamples": 1}
    if sort < 5:
        return [*numbers(random, 9, 0, 0.05), random.choice((1.0, 1.1))], {
            **named,
            "resamples": 4000,
        }
    if chance(random, 0.7):
        named["confidence"] = random.choice((0.6, 0.7, 0.8))
    return numbers(random, random.randint(24, 40)), named


@audit("13.4", count=8, apply=_interval, agrees=_as_wide)
def bootstrap_interval(random: Draws) -> Call:
    """Draw values, none and equal ones among them."""
    values, named = _values(random)
    return call(values, **named)


@audit("13.5", count=8, apply=_interval, agrees=_as_wide)
def paired_interval(random: Draws) -> Call:
    """Draw values before and after, at times of unlike length."""
    changes, named = _values(random)
    before = numbers(random, len(changes), 0.0, 4.0)
    after = [round(old + change, 3) for old, change in zip(before, changes, strict=True)]
    extra = [0.5] if chance(random, 0.15) else []
    return call([*before, *extra], after, **named)
