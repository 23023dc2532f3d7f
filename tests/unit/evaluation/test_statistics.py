"""Intervals: where the bootstrap is known by calculation, and what pairing is good for."""

from __future__ import annotations

import math

import pytest

from course_lib.evaluation.statistics import Interval, bootstrap_interval, paired_interval


def test_the_bootstrap_gives_the_interval_that_calculation_gives() -> None:
    # The mean of n answers of which a share p is 1 spreads by sqrt(p (1 - p) / n).
    interval = bootstrap_interval([1.0] * 300 + [0.0] * 100, resamples=5_000)
    spread = 1.96 * math.sqrt(0.75 * 0.25 / 400)
    assert interval.mean == 0.75
    assert interval.low == pytest.approx(0.75 - spread, abs=0.006)
    assert interval.high == pytest.approx(0.75 + spread, abs=0.006)


def test_four_times_the_questions_make_the_interval_half_as_wide() -> None:
    few, many = (bootstrap_interval([0.0, 1.0] * n) for n in (20, 80))
    assert (few.high - few.low) / (many.high - many.low) == pytest.approx(2, rel=0.15)


def test_more_confidence_takes_a_wider_interval_and_the_same_seed_gives_the_same() -> None:
    values = [0.0, 0.25, 0.5, 1.0] * 10
    sure, surer = bootstrap_interval(values, 0.5), bootstrap_interval(values, 0.99)
    assert surer.low < sure.low < sure.mean < sure.high < surer.high
    assert bootstrap_interval(values) == bootstrap_interval(values)
    assert bootstrap_interval(values) != bootstrap_interval(values, seed=1)


def test_pairing_sees_a_small_gain_that_hard_and_easy_questions_hide() -> None:
    before = [0.0, 1.0] * 30
    after = [value + 0.05 for value in before]
    paired = paired_interval(before, after)
    assert paired.low > 0.04 and paired.high < 0.06
    assert bootstrap_interval(after).low < bootstrap_interval(before).high


def test_a_difference_is_after_minus_before() -> None:
    assert paired_interval([1.0, 1.0], [0.5, 0.5]) == Interval(-0.5, -0.5, -0.5)


def test_what_cannot_be_measured_is_said() -> None:
    with pytest.raises(ValueError, match="at least one"):
        bootstrap_interval([])
    with pytest.raises(ValueError, match="2 values cannot be paired with 1"):
        paired_interval([1.0, 2.0], [1.0])
