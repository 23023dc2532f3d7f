"""Lab 04: what happens to a record on its way from a splitter into the store."""

from __future__ import annotations

from matplotlib.figure import Figure

from course_lib.teaching.lab.figures.base import FAINT, PALETTE
from infra.course.drawings import arrow, canvas, label

STEPS = (
    ("splitter", "yours, ours,\na tenant's", "exercise 4.3"),
    ("check_record", "does it keep\nthe contract?", "exercise 4.1"),
    ("stamp", "whose is it\nreally?", ""),
    ("content_hash", "is this piece\nknown?", "exercise 4.2"),
    ("store", "a row with\nits vector", ""),
)
"""The name of each step, what it answers, and the exercise that writes it."""

DOWN = {1: "broken: a Rejection\nwith code and field", 3: "new: encode it;\nknown: keep its vector"}


def draw() -> Figure:
    """Draw the steps from left to right; below two of them, what else can come out."""
    figure, axes = canvas(7.4, 2.6)
    for at, (name, asks, exercise) in enumerate(STEPS):
        x = 0.75 + 1.475 * at
        shape = {
            "boxstyle": "round,pad=0.35",
            "facecolor": "#e5f0f8" if exercise else "#f2f2f2",
            "edgecolor": PALETTE[0] if exercise else FAINT,
        }
        label(axes, x, 1.9, name, ha="center", bbox=shape, family="monospace", size=9)
        label(axes, x, 2.4, exercise, ha="center", color=PALETTE[0], weight="bold", size=9)
        label(axes, x, 1.35, asks, ha="center", color=FAINT, size=9)
        if at:
            arrow(axes, (x - 0.87, 1.9), (x - 0.62, 1.9), color=FAINT, lw=1.4)
        if at in DOWN:
            arrow(axes, (x, 1.08), (x, 0.68), color=PALETTE[1], lw=1.4)
            label(axes, x, 0.4, DOWN[at], ha="center", color=PALETTE[1], size=9)
    return figure
