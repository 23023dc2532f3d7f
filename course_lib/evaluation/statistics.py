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


TOO_FEW, ALL_EQUAL = "n too small", "all equal"
"""Why an interval says nothing."""


INTERVALS = "in brackets: the interval of 95 %"
"""The caption of a table with intervals."""


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
    """Return the mean of values, and the interval that contains most means of redrawn sets.

    - Draw `resamples` sets as large as `values`. Each draw may take any value, also one that was
      drawn before.
    - Draw with `np.random.default_rng(seed)`, so that the same seed gives the same interval.
    - `mean` is the mean of the values themselves; `low` and `high` are from the redrawn means.
    - A share of `confidence` of these is between the two. With 0.95, 2.5 % are below `low`, and
      2.5 % above `high`.

    Raises
    ------
    ValueError
        If there are no values.

    Examples
    --------
    >>> bootstrap_interval([0.5, 0.5, 0.5])
    Interval(mean=0.5, low=0.5, high=0.5)
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

    - `before[n]` and `after[n]` are the two results of one question. A draw takes both together. So
      which one number of each question do you redraw?
    - The other parameters are those of `bootstrap_interval`.

    Raises
    ------
    ValueError
        If the two have different lengths, or are empty.

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
        return TOO_FEW
    return ALL_EQUAL if max(values) - min(values) < 1e-9 else ""
