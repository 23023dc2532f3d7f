"""Lab 01: a chunk, its overlap with the next one, and where a cut may be."""

from __future__ import annotations

from matplotlib.figure import Figure

from course_lib.teaching.lab.figures.base import FAINT, PALETTE
from infra.course.drawings import arrow, box, canvas, label

LEFT, WIDTH = 0.3, 6.8
START, SIZE, OVERLAP, CUT, END = 0, 40, 10, 33, 64
"""In characters: the window of the first chunk, its overlap, its cut, and the end of the text."""


def draw() -> Figure:
    """Draw a text as a bar, two chunks above each other, and the floor within the first."""
    figure, axes = canvas(7.4, 3.5)

    def at(character: float) -> float:
        return LEFT + WIDTH * character / END

    def chunk(first: float, last: float, y: float, colour: str, name: str) -> None:
        size = at(last) - at(first)
        box(axes, at(first), y, size, 0.36, facecolor=colour, alpha=0.35)
        box(axes, at(first), y, size, 0.36, fill=False, edgecolor=colour, lw=2)
        label(axes, at(first) + 0.1, y + 0.18, name)

    floor = START + OVERLAP
    box(axes, at(0), 1.75, WIDTH, 0.3, facecolor="#e8e8e8", edgecolor=FAINT)
    label(axes, at(END) - 0.08, 1.9, "the text", ha="right")
    chunk(START, CUT, 1.2, PALETTE[0], "first chunk")
    chunk(CUT - OVERLAP, END - 4, 0.62, PALETTE[2], "next chunk: it begins OVERLAP before the cut")
    axes.axvspan(at(CUT - OVERLAP), at(CUT), 0.17, 0.6, color=PALETTE[4], alpha=0.25, lw=0)
    axes.text(at(CUT - OVERLAP / 2), 0.3, "overlap: in both chunks", ha="center")
    for character, text, height, align in (
        (START, "start", 2.5, "left"),
        (floor, "floor = start + overlap", 2.85, "left"),
        (CUT, "cut", 2.5, "center"),
        (SIZE, "start + size", 2.85, "left"),
    ):
        axes.plot([at(character)] * 2, [1.75, height], color="black", lw=1, ls=":")
        axes.text(at(character), height + 0.06, text, ha=align)
    look = {"arrowstyle": "<->", "color": PALETTE[1], "lw": 2, "shrinkA": 0, "shrinkB": 0}
    arrow(axes, (at(floor), 2.2), (at(SIZE), 2.2), **look)
    axes.text(at(floor) + 0.1, 2.27, "cuts that count", color=PALETTE[1])
    return figure
