"""Intervals: how far each of several means can be trusted, one below the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from course_lib.errors import InputError
from course_lib.teaching.lab.figures.base import Figure, about, chart, colour, number, picture


def intervals(rows: Mapping[str, Sequence[float]], title: str = "", unit: str = "") -> Figure:
    """Draw a point with a line from low to high for each row, the first on top.

    Parameters
    ----------
    rows
        Name → mean, low and high, as an `Interval` has them.
    title
        Above the chart.
    unit
        Below the axis, as in ``"MRR"``.
    """
    if not rows:
        raise InputError("There are no intervals to draw")
    figure, axes = chart(title, unit, height=0.9 + 0.34 * len(rows))
    for place, (mean, low, high) in enumerate(rows.values()):
        axes.plot([low, high], [place, place], color=colour(0), linewidth=2, marker="|")
        axes.plot([mean], [place], color=colour(0), marker="o")
    axes.set_yticks(range(len(rows)), list(rows))
    axes.invert_yaxis()
    axes.margins(y=0.1)
    axes.grid(axis="x", alpha=0.25)
    told = [
        f"{name} {number(mean)} from {number(low)} to {number(high)}"
        for name, (mean, low, high) in rows.items()
    ]
    return picture(figure, f"Interval chart{about(title)}: {'; '.join(told)}.")
