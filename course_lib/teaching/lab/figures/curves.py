"""Curves: how one number changes with another, a line for each series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from course_lib.errors import InputError
from course_lib.teaching.lab.figures.base import MARKERS, Figure, chart, colour, number, picture

LINES = ("-", "--", ":", "-.")


def lines(
    series: Mapping[str, Sequence[tuple[float, float]]],
    title: str = "",
    *,
    across: str = "",
    up: str = "",
) -> Figure:
    """Draw one line for each series, told apart by colour, marker and dashes.

    Parameters
    ----------
    series
        Name → (x, y) of each point, in any order.
    title
        Above the chart.
    across, up
        What the axes measure, as in ``"characters"`` and ``"seconds"``.
    """
    if not series or not all(series.values()):
        raise InputError("There are no points to draw")
    figure, axes = chart(height=3.6)
    told = []
    for index, (name, points) in enumerate(series.items()):
        ordered = sorted(points)
        axes.plot(
            [point[0] for point in ordered],
            [point[1] for point in ordered],
            label=name,
            color=colour(index),
            marker=MARKERS[index % len(MARKERS)],
            linestyle=LINES[index % len(LINES)],
        )
        (x0, y0), (x1, y1) = ordered[0], ordered[-1]
        told.append(f"{name} from {number(y0)} at {number(x0)} to {number(y1)} at {number(x1)}")
    axes.xaxis.set_major_formatter(lambda value, _: number(value))
    axes.yaxis.set_major_formatter(lambda value, _: number(value))
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    axes.set_title(title, loc="left")
    about = f" of {title}" if title else ""
    return picture(figure, f"Line chart{about}: {'; '.join(told)}.")
