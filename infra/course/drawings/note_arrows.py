"""Lab 05: four notes as arrows; two of them have the same direction."""

from __future__ import annotations

from matplotlib.figure import Figure

from course_lib.teaching.lab.figures.base import PALETTE, chart

NOTES = {"a": (4, 3), "b": (3, 4), "c": (8, 6), "d": (0, 5)}


def draw() -> Figure:
    """Draw each note as an arrow from the origin."""
    figure, axes = chart("", "releases", "alarms", width=4, height=3.4)
    for name, (x, y) in NOTES.items():
        axes.annotate("", (x, y), (0, 0), arrowprops={"arrowstyle": "-|>", "color": PALETTE[0]})
        axes.text(x + 0.2, y - 0.1, name, weight="bold")
    axes.set(xlim=(-0.3, 9), ylim=(0, 7), aspect="equal")
    return figure
