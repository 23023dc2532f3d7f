"""Drift: compares what the model sees today with what it was trained on."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

# A share of nothing would make the logarithm infinite; half a row in ten thousand is near enough.
SMALLEST_SHARE = 0.00005


class Level(Enum):
    """What has to happen."""

    QUIET = "quiet"
    WARN = "warn"
    PAGE = "page"


@dataclass(frozen=True)
class Threshold:
    """From which stability index on a column is worth a warning, or a call at night."""

    warn: float = 0.10
    page: float = 0.25

    def level(self, index: float) -> Level:
        """Return the level of an index."""
        if index >= self.page:
            return Level.PAGE
        return Level.WARN if index >= self.warn else Level.QUIET


@dataclass(frozen=True)
class Finding:
    """The result for one column."""

    column: str
    index: float
    level: Level


def quantile_edges(values: Sequence[float], bins: int = 10) -> list[float]:
    """Return the inner edges of bins that hold about as many values each.

    Fewer edges come back where many values are equal, as in a column that is mostly zero.
    """
    ordered = sorted(values)
    edges = {ordered[len(ordered) * step // bins] for step in range(1, bins)}
    return sorted(edges)


def shares(values: Sequence[float], edges: Sequence[float]) -> list[float]:
    """Return the share of the values in each bin, never quite zero."""
    counts = [0] * (len(edges) + 1)
    for value in values:
        counts[bisect_right(edges, value)] += 1
    return [max(SMALLEST_SHARE, count / len(values)) for count in counts]


def stability_index(reference: Sequence[float], current: Sequence[float], bins: int = 10) -> float:
    """Return the population stability index; the bins are those of the reference."""
    edges = quantile_edges(reference, bins)
    pairs = zip(shares(reference, edges), shares(current, edges), strict=True)
    return sum((now - then) * math.log(now / then) for then, now in pairs)


def inspect(
    reference: Mapping[str, Sequence[float]],
    current: Mapping[str, Sequence[float]],
    thresholds: Mapping[str, Threshold],
    *,
    minimum_sample: int = 5000,
) -> list[Finding]:
    """Compare every column that both sides have, the most drifted first.

    A column with fewer than `minimum_sample` values today is left out: the index of a small sample
    is large by chance, and an alarm that cries wolf is switched off.
    """
    fallback = thresholds.get("default", Threshold())
    findings = []
    for column in sorted(reference.keys() & current.keys()):
        if len(current[column]) < minimum_sample:
            continue
        index = stability_index(reference[column], current[column])
        level = thresholds.get(column, fallback).level(index)
        findings.append(Finding(column, index, level))
    return sorted(findings, key=lambda finding: finding.index, reverse=True)
