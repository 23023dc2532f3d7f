"""Curves: how one number changes with another, a line for each series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from course_lib.errors import InputError
from course_lib.teaching.lab.figures.base import (
    MARKERS,
    Figure,
    about,
    chart,
    colour,
    number,
    picture,
)

LINES = ("-", "--", ":", "-.")

Point = tuple[float, float] | tuple[float, float, str]


def lines(
    series: Mapping[str, Sequence[Point]],
    title: str = "",
    *,
    across: str = "",
    up: str = "",
    log: bool = False,
    by_x: bool = True,
) -> Figure:
    """Draw one line for each series, told apart by colour, marker and dashes.

    Parameters
    ----------
    series
        Name → (x, y) of each point, in any order; a third entry is written beside the point.
    title
        Above the chart.
    across, up
        What the axes measure, as in ``"characters"`` and ``"seconds"``.
    log
        Whether ten times as much is always as far across. Otherwise both axes begin at 0.
    by_x
        Whether the line joins the points from left to right. Otherwise it joins them as given.
    """
    if not series or not all(series.values()):
        raise InputError("There are no points to draw")
    figure, axes = chart(title, across, up, height=3.6)
    told = []
    for index, (name, points) in enumerate(series.items()):
        ordered = sorted(points) if by_x else list(points)
        axes.plot(
            [point[0] for point in ordered],
            [point[1] for point in ordered],
            label=name,
            color=colour(index),
            marker=MARKERS[index % len(MARKERS)],
            linestyle=LINES[index % len(LINES)],
        )
        for point in ordered:
            # By turns left above and right below, so that the labels of two series stay apart, and
            # those of a curve that rises are beside it.
            below = index % 2 == 1
            axes.annotate(
                "".join(map(str, point[2:])), point[:2], xytext=(6, -13) if below else (-6, 5),
                textcoords="offset points", ha="left" if below else "right", fontsize=9,
                color=colour(index),
            )  # fmt: skip
        ends = [f"{number(y)} at {number(x)}" for x, y, *_ in (ordered[0], ordered[-1])]
        told.append(f"{name} from {' to '.join(ends)}")
    if log:
        axes.set_xscale("log")
        axes.margins(x=0.08, y=0.15)
        axes.xaxis.set_minor_formatter(
            lambda value, _: number(value) if f"{value:.0e}"[0] in "25" else ""
        )
    else:
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
    axes.xaxis.set_major_formatter(lambda value, _: number(value))
    axes.yaxis.set_major_formatter(lambda value, _: number(value))
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    return picture(figure, f"Line chart{about(title)}: {'; '.join(told)}.")
