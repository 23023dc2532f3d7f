"""Lab 16: how a bootstrap turns the results of some questions into an interval."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from course_lib.teaching.lab.figures.base import FAINT, PALETTE
from infra.course.drawings import box, canvas, label

RESULTS = np.array([1, 1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 1])
"""For each question whether its answer was found."""


def draw() -> Figure:
    """Draw the questions, three draws with replacement, and the spread of the means of many."""
    figure, axes = canvas(7.4, 4.0)
    random = np.random.default_rng(2)

    def row(y: float, values: np.ndarray, name: str) -> None:
        label(axes, 0.15, y + 0.14, name)
        for place, value in enumerate(values):
            face = PALETTE[0] if value else "white"
            box(axes, 1.5 + 0.3 * place, y, 0.26, 0.28, facecolor=face, edgecolor=FAINT)
        label(axes, 5.25, y + 0.14, f"mean {values.mean():.2f}")

    row(3.45, RESULTS, "12 questions")
    label(axes, 0.15, 3.05, "Draw 12 of them with replacement, again and again:")
    for index in range(3):
        row(2.55 - 0.42 * index, random.choice(RESULTS, len(RESULTS)), f"draw {index + 1}")
    means = random.choice(RESULTS, (10_000, len(RESULTS))).mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    below = figure.add_axes((0.2, 0.13, 0.51, 0.24))
    steps, counts = np.unique(means, return_counts=True)
    inside = (steps >= low) & (steps <= high)
    below.bar(steps, counts, width=0.07, color=[PALETTE[0] if one else "#c9c9c9" for one in inside])
    below.spines[["top", "right", "left"]].set_visible(False)
    below.set(yticks=[], xlim=(0.15, 1.07))
    label(axes, 0.15, 0.95, "10,000 means")
    label(axes, 5.35, 0.95, f"The middle 95 %\nare the interval:\n{low:.2f} to {high:.2f}")
    return figure
