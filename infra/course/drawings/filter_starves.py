"""Lab 07: why a filter after an index search can leave fewer results than were asked for."""

from __future__ import annotations

from matplotlib.figure import Figure

from course_lib.teaching.lab.figures.base import FAINT, PALETTE
from infra.course.drawings import arrow, box, canvas, label

MATCHES = (0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 1)
"""Rows from the nearest to the farthest: 1 where the filter lets the row through."""

EF, WANTED = 8, 5


def draw() -> Figure:
    """Draw the same rows twice: a search that stops, and one that goes on."""
    figure, axes = canvas(7.4, 3.5)

    def rows(y: float, seen: int, title: str, result: str) -> None:
        label(axes, 0.2, y + 0.75, title, weight="bold")
        for place, passes in enumerate(MATCHES):
            x = 0.2 + 0.345 * place
            face = "white" if place >= seen else PALETTE[2] if passes else "#dcdcdc"
            box(axes, x, y, 0.3, 0.42, edgecolor=FAINT, facecolor=face)
            label(axes, x + 0.15, y + 0.2, "✓" if passes else "", ha="center", fontsize=13)
        end = 0.2 + 0.345 * seen - 0.02
        axes.plot([end, end], [y - 0.08, y + 0.5], color=PALETTE[1], lw=2.5)
        label(axes, 0.2, y - 0.25, result)

    label(axes, 0.2, 3.25, "nearest row", color=FAINT)
    label(axes, 7.1, 3.25, "farthest row", color=FAINT, ha="right")
    arrow(axes, (1.4, 3.25), (5.95, 3.25), color=FAINT)
    found = sum(MATCHES[:EF])
    rows(
        2.05, EF, f"The index gives the {EF} nearest (ef_search = {EF}), then the filter looks",
        f"{found} of {WANTED} results: the filter starves the search",
    )  # fmt: skip
    needed = [place for place, passes in enumerate(MATCHES) if passes][WANTED - 1] + 1
    rows(
        0.55, needed, "Iterative scan: the index goes on until enough rows have passed",
        f"{WANTED} of {WANTED} results, after {needed} rows",
    )  # fmt: skip
    return figure
