"""Metrics against cases worked by hand, and laws that hold for every ranking."""

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
    recall_at,
    reciprocal_rank,
)

ITEMS = st.lists(st.sampled_from("abcdefghijklmnop"), max_size=30)
GOLD = st.sets(st.sampled_from("abcdefghijklmnop"), min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("found", "gold", "k", "hit", "recall", "rank"),
    [
        ("abc", "a", 10, 1, 1, 1),
        ("xay", "a", 1, 0, 0, 0),
        ("xay", "a", 2, 1, 1, 1 / 2),
        ("xayb", "abc", 10, 1, 2 / 3, 1 / 2),
        ("xxxxxxxxxxxa", "a", 2, 1, 1, 1 / 2),
        ("aab", "ab", 2, 1, 1, 1),
        ("", "a", 10, 0, 0, 0),
        ("0123456789a", "a", 10, 0, 0, 0),
        ("012345678a", "a", 10, 1, 1, 1 / 10),
    ],
)
def test_hits_recall_and_rank_are_those_worked_by_hand(
    found: str, gold: str, k: int, hit: float, recall: float, rank: float
) -> None:
    assert hit_at(found, gold, k) == hit
    assert recall_at(found, gold, k) == pytest.approx(recall)
    assert reciprocal_rank(found, gold, k) == pytest.approx(rank)


@pytest.mark.parametrize(
    ("found", "gains", "k", "expected"),
    [
        ("a", {"a": 1}, 10, 1),
        ("xa", {"a": 1}, 10, 1 / math.log2(3)),
        ("xxxa", {"a": 1}, 10, 1 / math.log2(3)),
        # 1/log2(2) + 2/log2(3) of what was possible, 2/log2(2) + 1/log2(3)
        ("ba", {"a": 2, "b": 1}, 10, (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))),
        # only the best two of three gains fit into two places
        ("ab", {"a": 1, "b": 1, "c": 1}, 2, 1),
        ("xyz", {"a": 1}, 10, 0),
        ("abc", {}, 10, 0),
        ("abc", {"a": 0}, 10, 0),
    ],
)
def test_ndcg_is_that_worked_by_hand(
    found: str, gains: dict[str, float], k: int, expected: float
) -> None:
    assert ndcg_at(found, gains, k) == pytest.approx(expected)


def test_an_acceptable_file_is_a_hit_but_no_recall() -> None:
    values = all_metrics(["b"], gold={"a"}, acceptable={"b"})
    assert values["hit@1"] == values["mrr@10"] == 1
    assert values["recall@10"] == 0
    assert values["ndcg@10"] == pytest.approx(1 / (2 + 1 / math.log2(3)))
    assert tuple(values) == NAMES


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
