"""Lab 02: the lines of a YAML file, and the tree that their indentation shows."""

from __future__ import annotations

from matplotlib.figure import Figure

from course_lib.teaching.build.drawings import canvas
from course_lib.teaching.lab.figures.base import FAINT, PALETTE

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
            axes.plot(
                [0.52 + 0.2 * level] * 2, [y(index) - 0.18, y(index) + 0.18], color=FAINT, lw=1
            )
        axes.text(0.45, y(index), line, family="monospace", va="center")
        name = line.split(":")[0].strip()
        x = 4.7 + 0.85 * depth
        parent = PARENTS[index]
        top = y(parent) if parent >= 0 else y(-1)
        left = x - 0.65
        axes.plot(
            [left, left, x - 0.08], [top - 0.14, y(index), y(index)], color=PALETTE[0], lw=1.5
        )
        box = {"boxstyle": "round,pad=0.25", "facecolor": "#e5f0f8", "edgecolor": PALETTE[0]}
        axes.text(x, y(index), name, va="center", bbox=box)
    axes.text(3.9, y(-1), "document", va="center", bbox=box)
    axes.text(0.45, y(-1), "lines of the file", va="center", weight="bold")
    axes.annotate("", (3.6, 1.4), (2.85, 1.4), arrowprops={"arrowstyle": "->", "lw": 2})
    axes.text(
        3.7, 0.02, "A line belongs to the nearest line above that is indented less.",
        ha="center", va="bottom",
    )  # fmt: skip
    return figure
