"""Lab 12, measuring: recall, reciprocal rank, nDCG, an interval, a paired interval."""

from __future__ import annotations

import math
from typing import Any

from course_lib.teaching.checks.probe import Case, Probe, exercise

METRICS = "course_lib.evaluation.metrics"
STATISTICS = "course_lib.evaluation.statistics"
EVEN = [n / 100 for n in range(100)]


@exercise(
    "12.1",
    function="recall_at",
    points=2,
    library=METRICS,
    hints=(
        "Two sets: what is wanted, and the first k different items that were found. What lies in "
        "both?",
        "`first_different(found, k)` gives the items; `set(gold) & set(…)` is what both hold.",
        "Divide by the number of wanted items, not by k. With nothing wanted, return 0.0 first.",
    ),
)
def check_recall_at(call: Probe) -> None:
    """Go from the example by hand to repeated items, lists of gold, and nothing at all."""
    call(["x", "b", "y", "a"], {"a", "b"}, 10).gives(1.0, because="both are found")
    call(["x", "b", "y", "a"], {"a", "b"}, 3).gives(
        0.5, because="one of the two is among the first three"
    )
    call(["x", "b", "b", "y", "a"], {"a", "b"}, 3).gives(
        0.5, because="b counts once: the first three different ones are x, b, y"
    )
    call(["x", "x", "x", "a"], {"a"}, 2).gives(
        1.0, because="x takes up one place, however often it comes"
    )
    call(["a", "x", "y"], {"a"}, 3).gives(
        1.0, because="all that is wanted is found; k has no part in the division"
    )
    call(["a", "a"], {"a", "b", "c"}, 5).gives(1 / 3, because="one of three is found")
    call(["a", "b"], ["a", "a", "b"], 5).gives(1.0, because="a repeated gold item is one item")
    call([f"x{n}" for n in range(10)] + ["a"], {"a"}).gives(
        0.0, because="without k, ten items count"
    )
    call(["a"], set(), 5).gives(0.0, because="nothing is wanted")
    call([], {"a"}, 5).gives(0.0, because="nothing is found")


@exercise(
    "12.2",
    function="reciprocal_rank",
    points=2,
    library=METRICS,
    hints=(
        "Go through the first k different items with their places and stop at the first one that "
        "is wanted.",
        "`enumerate(first_different(found, k), start=1)` gives the places from 1.",
        "Inside the loop: `if item in gold: return 1 / place`. Behind the loop: `return 0.0`.",
    ),
)
def check_reciprocal_rank(call: Probe) -> None:
    """Look at first, later, last and no place, and at items that come again."""
    call(["a", "x"], {"a"}, 10).gives(1.0, because="it stands at place 1")
    call(["x", "y", "a"], {"a"}, 10).gives(1 / 3, because="it stands at place 3")
    call(["x", "b", "a"], {"a", "b"}, 10).gives(0.5, because="the first wanted one counts alone")
    call(["x", "x", "x", "a"], {"a"}, 10).gives(
        0.5, because="x takes up one place, so a stands at place 2"
    )
    call(["x", "x", "x", "a"], {"a"}, 2).gives(0.5, because="k counts different items, too")
    call(["x", "y", "a"], {"a"}, 2).gives(0.0, because="place 3 is beyond k = 2")
    call([f"x{n}" for n in range(9)] + ["a"], {"a"}).gives(0.1, because="place 10 still counts")
    call([f"x{n}" for n in range(10)] + ["a"], {"a"}).gives(
        0.0, because="without k, ten items count"
    )
    call([], {"a"}, 10).gives(0.0, because="nothing is found")


@exercise(
    "12.3",
    function="ndcg_at",
    points=2,
    library=METRICS,
    hints=(
        "Two sums of the same form: one over what was found, one over the best possible order. "
        "The result is the first divided by the second.",
        "`gains.get(item, 0) / math.log2(place + 1)`, for places from 1.",
        "The best order is `sorted(gains.values(), reverse=True)[:k]`. If its sum is 0, return "
        "0.0 before you divide.",
    ),
)
def check_ndcg_at(call: Probe) -> None:
    """Check discount, best order, cut, gains that differ, and the cases without any gain."""
    second = 1 / math.log2(3)
    call(["a"], {"a": 1}, 10).gives(1.0, because="no order is better")
    call(["x", "a"], {"a": 1}, 10).gives(
        second, because="at place 2 a gain is divided by log2(3); place 1 was possible"
    )
    call(["x", "y", "a"], {"a": 1}, 10).gives(0.5, because="log2(3 + 1) is 2")
    call(["b", "a"], {"a": 2, "b": 1}, 10).gives(
        (1 + 2 * second) / (2 + second), because="the example by hand: the larger gain comes second"
    )
    call(["a"], {"a": 1, "b": 1}, 10).gives(
        1 / (1 + second), because="the best order would have b at place 2"
    )
    call(["a", "b"], {"a": 1, "b": 1, "c": 1}, 2).gives(
        1.0, because="only two gains fit into two places, in the best order too"
    )
    call(["x", "x", "a"], {"a": 3}, 10).gives(second, because="x takes up one place")
    call(["a", "a"], {"a": 1}, 10).gives(1.0, because="an item is worth its gain once")
    call([f"x{n}" for n in range(10)] + ["a"], {"a": 1}).gives(
        0.0, because="without k, ten items count"
    )
    call(["a"], {}, 10).gives(0.0, because="nothing is worth anything")
    call(["a"], {"a": 0}, 10).gives(0.0, because="a gain of 0 is none")


@exercise(
    "12.4",
    function="bootstrap_interval",
    points=2,
    time_limit=20.0,
    library=STATISTICS,
    hints=(
        "For each of the `resamples` sets: draw `len(values)` values with replacement, keep their "
        "mean. What you keep are means, one a set.",
        "`random = np.random.default_rng(seed)` once, then `random.choice(data, size=len(data))` "
        "in each turn: it draws with replacement.",
        "With a confidence of 0.95, a share of 0.025 lies outside at each end: "
        "`np.quantile(means, [0.025, 0.975])`. The `mean` is that of the values themselves.",
    ),
)
def check_bootstrap_interval(call: Probe) -> None:
    """Compare with what can be calculated: the mean of n values spreads by sd / sqrt(n)."""
    _near(call([0.5, 0.5, 0.5]), 0.5, 0.0, "every redrawn set of equal values has the same mean")
    coin = [0.0, 1.0] * 50
    _near(
        call(coin),
        0.5,
        1.96 * 0.5 / math.sqrt(100),
        "the means of 100 values of 0 and 1 spread by 0.5 / sqrt(100), and 95 % lie within 1.96 "
        "times that",
    )
    _near(
        call(EVEN, 0.5),
        0.495,
        0.674 * math.sqrt(1 / 12) / math.sqrt(100),
        "with a confidence of 0.5, a quarter of the redrawn means lies outside at each end",
    )
    _near(
        call([0.0] * 300 + [1.0] * 100),
        0.25,
        1.96 * math.sqrt(0.25 * 0.75 / 400),
        "four times the values, half the width",
    )
    skew = call([0.0] * 9 + [1.0])
    skew.holds(
        abs(_ends(skew)[1]) <= 1e-9,
        "low = 0.0 for nine values of 0 and one of 1",
        because="one redrawn set in three has no 1 at all: the interval is read off the redrawn "
        "means and need not lie evenly around the mean",
    )
    again, other = call(EVEN, seed=3), call(EVEN, seed=4)
    again.holds(
        tuple(again.value) == tuple(call(EVEN, seed=3).value),
        "the same interval for the same seed",
        because="a figure that changes when nothing changed is hard to trust",
    )
    other.holds(
        tuple(again.value) != tuple(other.value),
        "another interval for seed=4 than for seed=3",
        because="the random numbers begin at `seed`",
    )
    _one_set(call(EVEN, resamples=1))


@exercise(
    "12.5",
    function="paired_interval",
    points=2,
    time_limit=20.0,
    waits_for=("12.4",),
    library=STATISTICS,
    hints=(
        "What is one number a question here? How much better this question got: after minus "
        "before.",
        "Build the list of differences, and give it to `bootstrap_interval`.",
        "`zip` stops at the shorter list without a word. Compare the lengths first, and raise a "
        "ValueError.",
    ),
)
def check_paired_interval(call: Probe) -> None:
    """Use hard and easy questions, a loss, another confidence, and lists of unlike length."""
    hard_and_easy = [0.0, 1.0] * 30
    _near(
        call(hard_and_easy, [value + 0.05 for value in hard_and_easy]),
        0.05,
        0.0,
        "every question got better by 0.05, so every redrawn mean of the differences is 0.05",
        within=1e-6,
    )
    _near(call([1.0, 1.0], [0.5, 0.5]), -0.5, 0.0, "it got worse: after minus before is negative")
    _near(
        call([0.5] * 100, [0.5 + value for value in EVEN], confidence=0.5),
        0.495,
        0.674 * math.sqrt(1 / 12) / math.sqrt(100),
        "the questions gained 0 to 0.99; confidence is handed on",
    )
    gained = [0.5] * 100, [0.5 + value for value in EVEN]
    _one_set(call(*gained, resamples=1))
    other = call(*gained, seed=4)
    other.holds(
        tuple(call(*gained, seed=3).value) != tuple(other.value),
        "another interval for seed=4 than for seed=3",
        because="`seed` is handed on",
    )
    call([0.5, 1.0], [0.5]).raises(
        ValueError, because="two questions on one side, one on the other: they are no pairs"
    )


def _one_set(case: Case) -> None:
    """Fail unless a single set was drawn."""
    _, low, high = _ends(case)
    case.holds(
        abs(high - low) <= 1e-9,
        "low = high for resamples=1",
        because="one redrawn set has one mean, and nothing lies between",
    )


def _ends(case: Case) -> tuple[float, float, float]:
    """Return mean, low and high of what came, or fail."""
    value: Any = case.value
    is_interval = all(hasattr(value, name) for name in ("mean", "low", "high"))
    case.holds(is_interval, "an Interval with mean, low and high")
    return float(value.mean), float(value.low), float(value.high)


def _near(case: Case, mean: float, half: float, because: str, within: float = 0.0) -> None:
    """Expect an interval around `mean`, `half` to each side, as far as chance allows."""
    found = _ends(case)
    room = within or max(0.15 * half, 1e-9)
    case.holds(
        abs(found[0] - mean) <= 1e-6,
        f"mean = {mean:g}, that of the values themselves",
        got=f"mean = {found[0]:.6g}",
        because=because,
    )
    for name, end, wanted in (("low", found[1], mean - half), ("high", found[2], mean + half)):
        case.holds(
            abs(end - wanted) <= room,
            f"{name} = {wanted:.3f}" + (f", give or take {room:.3f}" if half else ""),
            got=f"{name} = {end:.3f}",
            because=because,
        )
