"""Strips: pieces of something long, a row for each kind, as time lines and budgets have them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from course_lib.teaching.lab.figures.base import chart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Chart


class Look(NamedTuple):
    """What tells pieces of a kind from others, and what the legend calls them."""

    colour: str
    hatch: str
    name: str


class Strip(NamedTuple):
    """A piece of a row: where it begins, how long it is, and its look."""

    row: int
    start: float
    length: float
    look: Look


def strips(rows: Sequence[str], pieces: Iterable[Strip], title: str = "") -> tuple[Chart, Axes]:
    """Return a chart with a row for each name, its pieces, and a legend of their looks below."""
    from matplotlib.patches import Patch

    figure, axes = chart(title, width=7.6, height=1.5 + 0.36 * len(rows))
    looks: dict[Look, None] = {}
    for row, start, length, look in pieces:
        looks[look] = None
        axes.barh(
            row, length, left=start, height=0.6, color=look.colour, hatch=look.hatch,
            edgecolor="white", linewidth=0.4,
        )  # fmt: skip
    axes.set_yticks(range(len(rows)), rows)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    handles = [
        Patch(facecolor=look.colour, hatch=look.hatch, edgecolor="white", label=look.name)
        for look in looks
    ]
    figure.legend(handles=handles, ncols=3, frameon=False, loc="outside lower center")
    return figure, axes
