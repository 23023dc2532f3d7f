"""How sure a mean is: one number a question goes in, an interval comes out.

Other questions would have given another mean. The bootstrap asks how much other: it draws sets of
questions out of those asked, with replacement, and looks at how their means spread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

RESAMPLES = 2_000
"""Sets that are drawn; the ends of an interval are then right to about two decimals."""


FEWEST = 4
"""Values below which redrawn sets are too much alike for an interval to say anything."""


class Interval(NamedTuple):
    """A mean, and where it would be for nearly all sets of questions of this sort."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


def bootstrap_interval(
    values: Sequence[float], confidence: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """Return the mean of values, and the interval in which the means of redrawn sets are.

    A redrawn set has as many values as there are, each drawn at random from all of them, so that
    some come twice and some not at all.

    Parameters
    ----------
    values
        One number a question.
    confidence
        The share of the redrawn means between `low` and `high`; what is left is split evenly
        between both ends.
    resamples
        How many sets are drawn.
    seed
        Where the random numbers begin: the same seed, the same interval.

    Returns
    -------
    Interval
        `mean` of the values themselves, `low` and `high` of the redrawn means.

    Raises
    ------
    ValueError
        If there are no values.

    Examples
    --------
    >>> bootstrap_interval([0.5, 0.5, 0.5])
    Interval(mean=0.5, low=0.5, high=0.5)
    >>> interval = bootstrap_interval([0, 1] * 50)
    >>> 0.35 < interval.low < 0.45 < 0.55 < interval.high < 0.65
    True
    """
    if not len(values):
        raise ValueError("an interval needs at least one value")
    data = np.asarray(values, dtype=np.float64)
    random = np.random.default_rng(seed)
    means = [random.choice(data, size=len(data)).mean() for _ in range(resamples)]
    outside = (1 - confidence) / 2
    low, high = np.quantile(means, [outside, 1 - outside])
    return Interval(float(data.mean()), float(low), float(high))


def paired_interval(
    before: Sequence[float],
    after: Sequence[float],
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Return by how much `after` is better than `before` on the same questions, as an interval.

    Each question is compared with itself, so that hard and easy questions do not blur the
    difference. An interval that is above 0 says that the change helps on questions of this sort;
    one that holds 0 says that these questions cannot tell.

    Parameters
    ----------
    before, after
        One number a question each, in the same order of questions.
    confidence, resamples, seed
        As in `bootstrap_interval`.

    Returns
    -------
    Interval
        Of the differences, after minus before.

    Raises
    ------
    ValueError
        If the two are not of the same length, or empty.

    Examples
    --------
    >>> paired_interval([0.0, 0.5, 1.0], [0.25, 0.75, 1.25])
    Interval(mean=0.25, low=0.25, high=0.25)
    """
    if len(before) != len(after):
        raise ValueError(f"{len(before)} values cannot be paired with {len(after)}")
    differences = [new - old for old, new in zip(before, after, strict=True)]
    return bootstrap_interval(differences, confidence, resamples, seed)


def why_no_interval(values: Sequence[float]) -> str:
    """Return why an interval around the mean of values would say nothing; empty where it does.

    The bootstrap knows only the measured values: three of them make at most ten different sets,
    and equal ones make one, whose interval has no width however unsure the mean is.

    Examples
    --------
    >>> why_no_interval([0.5, 1.0, 1.0]), why_no_interval([1.0] * 4), why_no_interval([0, 1] * 4)
    ('n too small', 'all equal', '')
    """
    if len(values) < FEWEST:
        return "n too small"
    return "all equal" if max(values) - min(values) < 1e-9 else ""
