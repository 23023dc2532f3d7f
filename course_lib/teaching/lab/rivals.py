"""The simple ways that labs 14 and 16 compare with the learner's functions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from course_lib.answers.budget import fit_passages
from course_lib.evaluation.statistics import RESAMPLES, Interval


def none_above(limit: float, vectors: Any) -> list[int]:
    """Return the places of the vectors that are like none already taken, best first.

    Examples
    --------
    >>> none_above(0.9, np.array([[1, 0], [1, 0], [0, 1]]))
    [0, 2]
    """
    kept: list[int] = []
    for place, vector in enumerate(vectors):
        if (vectors[kept] @ vector).max(initial=0) <= limit:
            kept.append(place)
    return kept


def best_first(
    costs: Sequence[int], scores: Sequence[float], room: int, *, goes_on: bool = False
) -> list[int]:
    """Return the places that fit, taken by their scores.

    Parameters
    ----------
    costs, scores, room
        As in `fit_passages`.
    goes_on
        After one that does not fit, go on with shorter ones.

    Examples
    --------
    >>> costs, scores = [200, 150, 60], [3, 2, 1]
    >>> best_first(costs, scores, 300), best_first(costs, scores, 300, goes_on=True)
    ([0], [0, 2])
    """
    kept: list[int] = []
    for place in sorted(range(len(costs)), key=lambda place: -scores[place]):
        if costs[place] <= room:
            kept.append(place)
            room -= costs[place]
        elif not goes_on:
            break
    return sorted(kept)


def most_tokens(costs: Sequence[int], room: int) -> list[int]:
    """Return the places that together take as many tokens as fit.

    Examples
    --------
    >>> most_tokens([200, 150, 140], 300)
    [1, 2]
    """
    fit: list[tuple[int, ...]] = []
    for count in range(len(costs) + 1):
        chosen = combinations(range(len(costs)), count)
        fit += [some for some in chosen if sum(costs[place] for place in some) <= room]
    return list(max(fit, key=lambda some: sum(costs[place] for place in some)))


def other_rules(costs: Sequence[int], scores: Sequence[float], room: int) -> dict[str, list[int]]:
    """Return what each rule but the learner's keeps, by the rule's name."""
    return {
        "best first, stops": best_first(costs, scores, room),
        "best first, goes on": best_first(costs, scores, room, goes_on=True),
        "the longest goes": fit_passages(0, costs, [-cost for cost in costs], room),
        "most tokens": most_tokens(costs, room),
    }


def separate_interval(before: Sequence[float], after: Sequence[float], seed: int = 0) -> Interval:
    """Return by how much `after` is better than `before`, as if each had questions of its own.

    Examples
    --------
    >>> separate_interval([0.5, 0.5], [0.75, 0.75, 0.75])
    Interval(mean=0.25, low=0.25, high=0.25)
    """
    random = np.random.default_rng(seed)
    means = [
        [random.choice(some, size=len(some)).mean() for some in (before, after)]
        for _ in range(RESAMPLES)
    ]
    low, high = np.quantile(np.diff(means), [0.025, 0.975])
    return Interval(float(np.mean(after) - np.mean(before)), float(low), float(high))
