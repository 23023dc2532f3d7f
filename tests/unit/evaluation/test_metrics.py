"""Laws that hold for every ranking; the cases worked by hand are the checks of lab 16."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from course_lib.evaluation.metrics import (
    NAMES,
    all_metrics,
    first_different,
    hit_at,
)

ITEMS = st.lists(st.sampled_from("abcdefghijklmnop"), max_size=30)
GOLD = st.sets(st.sampled_from("abcdefghijklmnop"), min_size=1, max_size=12)


def test_a_hit_is_among_the_first_different_ones() -> None:
    assert [hit_at("xxay", "a", k) for k in (1, 2)] == [0, 1]
    assert hit_at("", "a") == hit_at("0123456789a", "a") == 0 and hit_at("012345678a", "a") == 1


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
