"""Lab 16, measuring: reciprocal rank, nDCG, an interval, a paired interval."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from course_lib.teaching.checks.drawn import Call, Draws, drawn, given
from course_lib.teaching.checks.encoded import alike
from course_lib.teaching.checks.probe import Case, Probe, exercise

COIN = [0.0, 1.0] * 8
ONCE = (
    "`found` may be any Iterable, such as a generator: it may have no length, and you can read it "
    "only once"
)
UNEVEN = [0.13, 0.29, 0.37, 0.48, 0.61, 0.72, 0.88, 0.94]


SPREAD = 0.12


"""How far the end of an interval may be off, in widths: the random numbers may be others."""


def _found(random: Draws) -> tuple[list[str], Any, dict[str, int]]:
    """Return names, what was found of them (at times as an iterator), and at times `k`."""
    files = random.names(random.choice((2, 5, 16)))
    found = random.choices(files, k=random.choice((0, 2, 6, 30)))
    limit = {} if random.chance(0.3) else {"k": random.randint(1, 12)}
    return files, iter(found) if random.chance(0.2) else found, limit


@drawn(150)
def any_first(random: Draws) -> Call:
    """Draw few wanted names, so that the first one comes late, at times after a part of one."""
    files, found, limit = _found(random)
    gold = random.some(files[:3])
    if gold and random.chance(0.2):
        found = [gold[0][1:], *found]
    return given(found, random.choice((set(gold), gold)), **limit)


@exercise("16.1", "evaluation.metrics:reciprocal_rank", 3, draws=any_first)
def check_reciprocal_rank(call: Probe) -> None:
    """Look at first, later, last and no place, and at items that come again."""
    with call.part(1, "the place of the first gold item", needed=False):
        call.cases(
            ((["a", "x"], {"a"}, 10), 1.0, "it is at place 1"),
            ((["x", "y", "a"], {"a"}, 10), 1 / 3, "it is at place 3"),
            ((["x", "b", "a"], ["a", "b"], 10), 0.5,
             "only the first gold item that was found counts: b"),
            ((["b"], ["a", "b"], 10), 1.0, "one wanted item is enough"),
        )  # fmt: skip
    with call.part(1, "only k items count"):
        call.cases(
            ((["x", "a"], {"a"}, 2), 0.5, "place 2 is the last that counts for k = 2"),
            ((["x", "y", "a"], {"a"}, 2), 0.0,
             "place 3 is beyond k = 2, so nothing that is wanted is found"),
            (([f"x{n}" for n in range(9)] + ["a"], {"a"}), 0.1, "place 10 still counts"),
            (([f"x{n}" for n in range(10)] + ["a"], {"a"}), 0.0, "without k, ten items count"),
        )  # fmt: skip
    with call.part(1, "items that come again, names that are alike, any Iterable"):
        call.cases(
            ((["x", "x", "x", "a"], {"a"}, 10), 0.5, "x takes up one place, so a is at place 2"),
            ((["x", "y", "x", "a"], {"a"}, 10), 1 / 3,
             "x takes up one place, although y comes between"),
            ((["x", "x", "x", "a"], {"a"}, 2), 0.5, "k counts different items, too"),
            ((["old-notes.md", "notes.md"], {"notes.md"}, 10), 0.5,
             "old-notes.md is another file, although its name contains the gold name"),
            ((["notes.md", "old-notes.md"], {"old-notes.md"}, 10), 0.5,
             "notes.md is another file, although its name is a part of the gold name"),
            ((["Notes.md", "notes.md"], {"notes.md"}, 10), 0.5, "Notes.md is another file"),
            ((iter(["x", "a"]), {"a"}, 5), 0.5, ONCE),
            (([], {"a"}, 10), 0.0, "nothing is found"),
        )  # fmt: skip


@drawn(150)
def any_gains(random: Draws) -> Call:
    """Draw a ranking and the gains of some names, 0 among them."""
    files, found, limit = _found(random)
    gains = {name: random.choice((0, 1, 2, 3, 0.5)) for name in random.some(files)}
    return given(found, gains, **limit)


@exercise("16.2", "evaluation.metrics:ndcg_at", 2, draws=any_gains)
def check_ndcg_at(call: Probe) -> None:
    """Check discount, best order, cut, gains that differ, and the cases without any gain."""
    second = 1 / math.log2(3)
    with call.part(1, "gains by their places, and the best order", needed=False):
        call.cases(
            ((["a"], {"a": 1}, 10), 1.0, "no order is better"),
            ((["x", "a"], {"a": 1}, 10), second,
             "at place 2 a gain is divided by log2(3); place 1 was possible"),
            ((["x", "y", "a"], {"a": 1}, 10), 0.5, "log2(3 + 1) is 2"),
            ((["b", "a"], {"a": 2, "b": 1}, 10), (1 + 2 * second) / (2 + second),
             "the example by hand: the larger gain comes second"),
            ((["a"], {"a": 1, "b": 1}, 10), 1 / (1 + second), "the best order would have b at "
             "place 2"),
            ((["a"], {"b": 1, "a": 2}, 10), 2 / (2 + second),
             "the best order begins with the largest gain, a, wherever it is"),
        )  # fmt: skip
    with call.part(1, "only k items count, each once, and gains of 0"):
        call.cases(
            ((["a", "b"], {"a": 1, "b": 1, "c": 1}, 2), 1.0,
             "only two gains fit into two places, in the best order too"),
            ((["c"], {"a": 1, "c": 2}, 1), 1.0, "no item has a larger gain than c"),
            ((["z", "a"], {"a": 1, "z": 0}, 10), second, "z has no gain, and takes up a place"),
            ((["x", "a"], {"a": 1}, 1), 0.0, "place 2 is beyond k = 1"),
            ((["x", "x", "a"], {"a": 3}, 10), second, "x takes up one place"),
            ((["x", "x", "a"], {"a": 3}, 2), second, "k counts different items"),
            ((["a", "a"], {"a": 1}, 10), 1.0, "a repeated item adds its gain only once"),
            (([f"x{n}" for n in range(9)] + ["a"], {"a": 1}), 1 / math.log2(11),
             "without k, ten items count: place 10 is one of them"),
            (([f"x{n}" for n in range(10)] + ["a"], {"a": 1}), 0.0, "without k, ten items count"),
            ((iter(["x", "a"]), {"a": 1}, 5), second, ONCE),
            ((["a"], {}, 10), 0.0, "no item has a gain"),
            ((["a"], {"a": 0}, 10), 0.0, "a gain of 0 adds nothing"),
        )  # fmt: skip


def _interval(function: Callable[..., Any], *args: Any, seed: int, **named: Any) -> list[Any]:
    """Return an interval, whether its seed gives it again, and whether another seed does."""

    def ends(seed: int, **named: Any) -> list[float]:
        found = function(*args, seed=seed, **named)
        return [round(float(end), 9) for end in (found.mean, found.low, found.high)]

    few = {**named, "resamples": 40}
    first = ends(seed, **few)
    return [*ends(seed, **named), first == ends(seed, **few), first == ends(seed + 1, **few)]


def _as_wide(expected: Any, got: Any) -> bool:
    """Compare what `_interval` returned."""
    if not isinstance(expected, list) or not isinstance(got, list) or len(got) != len(expected):
        return alike(expected, got)
    mean, low, high, *rest = expected
    is_typed = all(type(end) is float for end in got[:3])
    if not is_typed or not alike([mean, *rest], [got[0], *got[3:]]):
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
        return random.numbers(20), {**named, "resamples": 1}
    if sort < 5:
        values = [*random.numbers(9, 0, 0.05), random.choice((1.0, 1.1))]
        return values, {**named, "resamples": 4000}
    if random.chance(0.7):
        named["confidence"] = random.choice((0.6, 0.7, 0.8))
    return random.numbers(random.randint(24, 40)), named


@drawn(8, apply=_interval, agrees=_as_wide)
def any_values(random: Draws) -> Call:
    """Draw values, none and equal ones among them."""
    values, named = _values(random)
    return given(values, **named)


@exercise("16.3", "evaluation.statistics:bootstrap_interval", 3, time_limit=20, draws=any_values)
def check_bootstrap_interval(call: Probe) -> None:
    """Compare with what can be calculated: how often a coin that is thrown 16 times shows 1."""
    with call.part(1, "the mean, and where redrawn means are", needed=False):
        _near(call([0.5] * 3), 0.5, 0.0, "every redrawn set of equal values has the same mean")
        _near(call([0.7]), 0.7, 0.0, "one value is enough: every redrawn set is this value")
        _near(call(COIN), 0.5, 0.25,
              "of the redrawn sets of 16 values, 1 % have 3 times 1 or fewer, and 4 % have 4 or "
              "fewer: so `low` is 4 / 16, and `high` is 12 / 16 at the other end",
              centre="`mean` is the mean of the values themselves, not of the redrawn means"
        )  # fmt: skip
    with call.part(1, "another confidence, and values of unlike size"):
        _near(call(COIN, 0.7), 0.5, 0.125,
              "with a confidence of 0.7, 15 % of the redrawn means are outside at each end"
        )  # fmt: skip
        uneven = call(UNEVEN)
        uneven.holds(
            abs(_ends(uneven)[0] - 0.5525) <= 1e-9, "mean = 0.5525",
            because="it is the mean of the values, whatever the redrawn means are",
        )  # fmt: skip
        skew = call([0.0] * 9 + [1.0])
        skew.holds(
            abs(_ends(skew)[1]) <= 1e-9,
            "low = 0.0 for nine values of 0 and one of 1",
            because="one redrawn set in three has no 1 at all: the ends come from the redrawn "
            "means, and the mean need not be in the middle",
        )
        skew.holds(
            _ends(skew)[2] >= 0.29,
            "high = 0.3 for nine values of 0 and one of 1",
            because="of the redrawn sets, 7 % have 3 times 1 or more, and 1 % have 4 or more",
        )
    with call.part(1, "the seed, a single set, and no values"):
        again, other = call(UNEVEN, seed=3), call(UNEVEN, seed=4)
        again.holds(
            tuple(again.value) == tuple(call(UNEVEN, seed=3).value),
            "the same interval for the same seed",
            because="with the same seed, the random numbers are the same",
        )
        other.holds(
            tuple(again.value) != tuple(other.value),
            "another interval for seed=4 than for seed=3",
            because="another seed gives other random numbers",
        )
        _one_set(call(UNEVEN, resamples=1))
        call([]).raises(ValueError, because="without values there is no mean and no interval")


@drawn(8, apply=_interval, agrees=_as_wide)
def any_changes(random: Draws) -> Call:
    """Draw values before and after, at times equal, worse, or of unlike length."""
    changes, named = _values(random)
    sign, has_equals = random.choice((1, -1)), len(changes) > 20
    changes = [sign * one * (place % 3 > 0 or not has_equals) for place, one in enumerate(changes)]
    before = random.numbers(len(changes), 0.0, 4.0)
    after = [round(old + change, 3) for old, change in zip(before, changes, strict=True)]
    if random.chance(0.3):
        random.choice((before, after)).append(0.5)
    return given(before, after, **named)


@exercise(
    "16.4", "evaluation.statistics:paired_interval", 2,
    time_limit=20, waits_for=("16.3",), draws=any_changes,
)  # fmt: skip
def check_paired_interval(call: Probe) -> None:
    """Use hard and easy questions, a loss, another confidence, and lists of unlike length."""
    with call.part(1, "each question compared with itself", needed=False):
        _near(call([0.0, 1.0], [0.25, 1.25]), 0.25, 0.0,
              "every question got better by 0.25, so every redrawn mean of the differences is 0.25"
        )  # fmt: skip
        _near(
            call([1.0, 1.0], [0.5, 0.5]), -0.5, 0.0, "it got worse: after minus before is negative"
        )
        _near(call([0.5], [0.75]), 0.25, 0.0, "one question is enough")
        _near(call([1.0, 0.0], [0.0, 1.0], resamples=100), 0.0, 1.0,
              "one question lost 1 and the other gained 1: each is compared with itself",
        )  # fmt: skip
    with call.part(1, "what is passed on, and lists that do not fit"):
        _near(call([0.5] * 16, [0.5, 1.5] * 8, confidence=0.7), 0.5, 0.125,
              "with a confidence of 0.7, 15 % of the redrawn means are outside at each end: pass "
              "`confidence` on",
              centre="half of the questions gained 1 and the others nothing")  # fmt: skip
        gained = [0.0] * len(UNEVEN), UNEVEN
        _one_set(call(*gained, resamples=1))
        other = call(*gained, seed=4)
        other.holds(
            tuple(call(*gained, seed=3).value) != tuple(other.value),
            "another interval for seed=4 than for seed=3",
            because="`seed` must be passed on",
        )
        call([0.5, 1.0], [0.5]).raises(
            ValueError, because="two values before and one after do not make pairs"
        )
        call([0.5, 1.0], [0.5, 1.0, 0.5]).raises(
            ValueError, because="two values before and three after do not make pairs"
        )
        call([], []).raises(ValueError, because="without questions there is no difference")


def _one_set(case: Case) -> None:
    """Fail unless a single set was drawn."""
    _, low, high = _ends(case)
    case.holds(
        abs(high - low) <= 1e-9,
        "low = high for resamples=1",
        because="one redrawn set has one mean, so both ends are equal",
    )


def _ends(case: Case) -> tuple[float, float, float]:
    """Return mean, low and high of what came, or fail."""
    value: Any = case.value
    is_interval = all(hasattr(value, name) for name in ("mean", "low", "high"))
    case.holds(is_interval, "an Interval with mean, low and high")
    return float(value.mean), float(value.low), float(value.high)


def _near(case: Case, mean: float, half: float, because: str, centre: str = "") -> None:
    """Expect an interval around `mean`, `half` to each side: redrawn means of so few are steps."""
    case.holds(case.error is None, "an Interval", got=case.raised, because=because)
    found = _ends(case)
    case.holds(
        abs(found[0] - mean) <= 1e-6, f"mean = {mean:g}", got=f"mean = {found[0]:.6g}",
        because=centre or because,
    )  # fmt: skip
    for name, end, wanted in (("low", found[1], mean - half), ("high", found[2], mean + half)):
        case.holds(
            abs(end - wanted) <= (0.01 if half else 1e-6), f"{name} = {wanted:g}",
            got=f"{name} = {end:.6g}", because=because,
        )  # fmt: skip
