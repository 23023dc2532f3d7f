"""Laws that hold for every ranking and interval, and cases that were worked by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.evaluation.metrics import (
    NAMES,
    all_metrics,
    first_different,
    hit_at,
    ndcg_at,
    reciprocal_rank,
)
from course_lib.evaluation.statistics import bootstrap_interval, paired_interval

ITEMS = st.lists(st.sampled_from("abcdefghijklmnop"), max_size=30)
GOLD = st.sets(st.sampled_from("abcdefghijklmnop"), min_size=1, max_size=12)


def test_a_hit_is_among_the_first_different_ones() -> None:
    assert [hit_at("xxay", "a", k) for k in (1, 2)] == [0, 1]
    assert hit_at("", "a") == hit_at("0123456789a", "a") == 0 and hit_at("012345678a", "a") == 1


def test_ranks_and_gains_are_those_that_were_worked_by_hand() -> None:
    assert reciprocal_rank(iter(["x", "y", "x", "a"]), {"a"}, 10) == 1 / 3
    assert [reciprocal_rank(["x", "x", "b", "a"], ["a", "b"], k) for k in (1, 2)] == [0, 0.5]
    second = 1 / math.log2(3)
    for found, gains, k, expected in (
        (["x", "y", "a"], {"a": 1}, 10, 0.5),
        (["b", "a"], {"a": 2, "b": 1}, 10, (1 + 2 * second) / (2 + second)),
        (["a"], {"b": 1, "a": 2}, 10, 2 / (2 + second)),
        (["a", "b"], {"a": 1, "b": 1, "c": 1}, 2, 1),
        (["x", "x", "a"], {"a": 3, "x": 0}, 2, second),
        (["a"], {"a": 0}, 10, 0),
    ):
        assert ndcg_at(found, gains, k) == pytest.approx(expected)


def test_an_interval_of_a_coin_that_is_thrown_16_times_is_what_can_be_calculated() -> None:
    coin = [0.0, 1.0] * 8  # of the redrawn sets, 1 % have 3 times 1 or fewer, 4 % have 4 or fewer
    assert bootstrap_interval(coin) == (0.5, 0.25, 0.75)
    assert bootstrap_interval(coin, 0.7) == paired_interval([0.0] * 16, coin, 0.7)
    assert bootstrap_interval(coin, 0.7) == (0.5, 0.375, 0.625)
    assert bootstrap_interval([0.0] * 9 + [1.0])[1:] == pytest.approx((0, 0.3))
    assert paired_interval([1.0, 0.0], [0.0, 1.0], resamples=100) == (0, -1, 1)


@given(ITEMS, GOLD)
def test_no_metric_leaves_its_range_and_repeats_change_none(
    found: list[str], gold: set[str]
) -> None:
    values = all_metrics(found, gold)
    assert all(0 <= value <= 1 + 1e-12 for value in values.values())
    assert all_metrics(first_different(found, 100), gold) == values
    assert values["mrr@10"] <= values["hit@10"]
    assert values["hit@1"] <= values["hit@5"] <= values["hit@10"]


@given(ITEMS, GOLD)
def test_moving_what_is_wanted_to_the_front_makes_no_metric_worse(
    found: list[str], gold: set[str]
) -> None:
    before, after = all_metrics(found, gold), all_metrics(
        sorted(first_different(found, 100), key=lambda item: item not in gold), gold
    )  # fmt: skip
    assert all(after[name] >= before[name] - 1e-12 for name in NAMES)
