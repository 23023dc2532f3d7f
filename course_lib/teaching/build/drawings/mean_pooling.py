"""Lab 05: how the vectors of word pieces become one vector."""

from __future__ import annotations

from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_lib.teaching.build.drawings import canvas
from course_lib.teaching.lab.figures.base import FAINT, PALETTE

PIECES = ("[CLS]", "the", "mill", "turns", "[SEP]", "[PAD]", "[PAD]")
VALUES = (
    (0.2, 0.8, 0.5, 0.9, 0.3, 0.6, 0.6),
    (0.6, 0.1, 0.7, 0.4, 0.5, 0.9, 0.9),
    (0.9, 0.4, 0.2, 0.6, 0.4, 0.1, 0.1),
)


def draw() -> Figure:
    """Draw a column for each word piece, the mask below, and the mean of what is not padding."""
    figure, axes = canvas(7.4, 3.4)
    real = PIECES.index("[PAD]")
    for column, piece in enumerate(PIECES):
        x, padding = 1.55 + 0.62 * column, column >= real
        axes.text(
            x, 3.1, piece, ha="center", family="monospace", color=FAINT if padding else "black"
        )
        for row, values in enumerate(VALUES):
            axes.add_patch(_box(x, 2.5 - 0.42 * row, values[column], padding))
        axes.text(x, 0.95, "0" if padding else "1", ha="center", weight="bold")
    axes.text(0.1, 2.08, "token vectors", va="center")
    axes.text(0.1, 0.99, "mask", va="center")
    for row, values in enumerate(VALUES):
        mean = sum(values[:real]) / real
        axes.add_patch(_box(6.9, 2.5 - 0.42 * row, mean, False))
    axes.text(6.9, 3.1, "mean", ha="center", weight="bold")
    axes.annotate(
        "", (6.55, 2.08), (5.7, 2.08), arrowprops={"arrowstyle": "->", "lw": 2, "color": PALETTE[1]}
    )
    axes.text(
        1.25, 0.35, "Each number of the mean is the sum over the columns with a 1,\n"
        "divided by how many there are. Padding does not count.", va="center",
    )  # fmt: skip
    return figure


def _box(x: float, y: float, value: float, padding: bool) -> Rectangle:
    return Rectangle(
        (x - 0.24, y - 0.18),
        0.48,
        0.36,
        facecolor="#f2f2f2" if padding else to_rgba(PALETTE[0], value),
        edgecolor=FAINT,
        hatch="////" if padding else None,
        linewidth=0.8,
    )
