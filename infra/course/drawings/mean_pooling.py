"""Lab 05: how the vectors of word pieces become one vector."""

from __future__ import annotations

from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from course_lib.teaching.lab.figures.base import FAINT, PALETTE
from infra.course.drawings import arrow, box, canvas, label

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

    def number(x: float, row: int, value: float, padding: bool = False) -> None:
        face = "#f2f2f2" if padding else to_rgba(PALETTE[0], value)
        hatch = "////" if padding else None
        look = {"facecolor": face, "edgecolor": FAINT, "hatch": hatch, "linewidth": 0.8}
        box(axes, x - 0.24, 2.32 - 0.42 * row, 0.48, 0.36, **look)

    for column, piece in enumerate(PIECES):
        x, padding = 1.55 + 0.62 * column, column >= real
        ink = FAINT if padding else "black"
        axes.text(x, 3.1, piece, ha="center", family="monospace", color=ink)
        for row, values in enumerate(VALUES):
            number(x, row, values[column], padding)
        axes.text(x, 0.95, "0" if padding else "1", ha="center", weight="bold")
    label(axes, 0.1, 2.08, "token vectors")
    label(axes, 0.1, 0.99, "mask")
    for row, values in enumerate(VALUES):
        number(6.9, row, sum(values[:real]) / real)
    axes.text(6.9, 3.1, "mean", ha="center", weight="bold")
    arrow(axes, (5.7, 2.08), (6.55, 2.08), lw=2, color=PALETTE[1])
    told = "Each number of the mean is the sum over the columns with a 1,\n"
    label(axes, 1.25, 0.35, f"{told}divided by how many there are. Padding does not count.")
    return figure
