"""From measured curves to sizes that no run here reaches: figures go in, estimates come out.

Every estimate says what it is made of; where a curve is fitted, its residual is told with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Fit:
    """The curve ``y = factor · n · log2 n``, fitted by least squares of the relative errors.

    `residual` is the root mean square of the relative errors; `worst` is the largest of them.
    """

    factor: float
    residual: float
    worst: float

    def at(self, rows: float) -> float:
        """Return the curve's value.

        Examples
        --------
        >>> Fit(2.0, 0, 0).at(8)
        48.0
        """
        return self.factor * rows * math.log2(rows)


def fit_n_log_n(rows: Sequence[float], values: Sequence[float]) -> Fit:
    """Fit ``factor · n · log2 n`` to measured points.

    Parameters
    ----------
    rows, values
        The points; at least one, with more than one row.

    Raises
    ------
    ValueError
        If there is no such point.

    Examples
    --------
    >>> fit = fit_n_log_n([1024, 4096], [1024 * 10 * 3.0, 4096 * 12 * 3.0])
    >>> round(fit.factor, 6), round(fit.residual, 6)
    (3.0, 0.0)
    """
    points = [(n, value) for n, value in zip(rows, values, strict=True) if n > 1 and value > 0]
    if not points:
        raise ValueError("a curve needs a point with more than one row")
    # Relative errors: a point of a million rows would silence all the others.
    units = np.array([n * math.log2(n) / value for n, value in points])
    factor = float(units.sum() / (units**2).sum())
    errors = factor * units - 1
    return Fit(factor, float(np.sqrt((errors**2).mean())), float(np.abs(errors).max()))


def fit_power(rows: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    """Return (factor, exponent) of ``y = factor · n^exponent`` through measured points.

    Examples
    --------
    >>> factor, exponent = fit_power([100, 10_000], [2.0, 20.0])
    >>> round(factor, 6), round(exponent, 6)
    (0.2, 0.5)
    """
    exponent, constant = np.polyfit(np.log(rows), np.log(values), 1)
    return float(np.exp(constant)), float(exponent)


def servers_for(index_bytes: float, memory_bytes: float, share: float = 0.75) -> int:
    """Return how many servers hold an index in memory, a share of theirs being left for it.

    Examples
    --------
    >>> servers_for(200e9, 64e9)
    5
    """
    return math.ceil(index_bytes / (memory_bytes * share))


def replicas_for(queries_per_second: float, cpu_ms: float, cores: int, busy: float = 0.5) -> int:
    """Return how many servers answer so many queries a second, kept busy to a share of their cores.

    Examples
    --------
    5 ms of CPU are 200 queries a second and core; 8 cores, half of their time, 800:

    >>> replicas_for(1000, 5.0, 8)
    2
    """
    return math.ceil(queries_per_second / (cores * busy * 1000 / cpu_ms))


def shards_for(rows: float, rows_per_second: float, hours: float) -> int:
    """Return how many tasks side by side encode so many rows in so many hours.

    Examples
    --------
    >>> shards_for(100_000_000, 500, 2)
    28
    """
    return math.ceil(rows / rows_per_second / (hours * 3600))
