"""Lab 02: the lines of a YAML file, and the tree that their indentation shows."""

from __future__ import annotations

from matplotlib.figure import Figure

from course_lib.teaching.lab.figures.base import FAINT, PALETTE
from infra.course.drawings import arrow, canvas, label

LINES = ("kind: Deployment", "metadata:", "  name: mill", "  labels:", "    app: mill", "spec:")
PARENTS = (-1, -1, 1, 1, 3, -1)
"""For each line the line it belongs to; -1 for the document."""


def draw() -> Figure:
    """Draw the lines on the left, and on the right a node for each, under its parent."""
    figure, axes = canvas(7.4, 3.2)

    def y(line: int) -> float:
        return 2.45 - 0.42 * line

    for index, line in enumerate(LINES):
        depth = (len(line) - len(line.lstrip())) // 2
        for level in range(depth):
            side = 0.52 + 0.2 * level
            axes.plot([side, side], [y(index) - 0.18, y(index) + 0.18], color=FAINT, lw=1)
        label(axes, 0.45, y(index), line, family="monospace")
        name = line.split(":")[0].strip()
        x = 4.7 + 0.85 * depth
        top, left = y(PARENTS[index]) - 0.14, x - 0.65
        axes.plot([left, left, x - 0.08], [top, y(index), y(index)], color=PALETTE[0], lw=1.5)
        box = {"boxstyle": "round,pad=0.25", "facecolor": "#e5f0f8", "edgecolor": PALETTE[0]}
        label(axes, x, y(index), name, bbox=box)
    label(axes, 3.9, y(-1), "document", bbox=box)
    label(axes, 0.45, y(-1), "lines of the file", weight="bold")
    arrow(axes, (2.85, 1.4), (3.6, 1.4), lw=2)
    told = "A line belongs to the nearest one above that is indented less (but for items of lists)."
    axes.text(3.7, 0.02, told, ha="center", va="bottom")
    return figure
