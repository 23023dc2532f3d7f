"""Strips: pieces of something long, a row for each kind, as time lines and budgets have them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from course_lib.teaching.lab.figures.base import Figure, about, chart, picture

if TYPE_CHECKING:
    import pandas as pd
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


SHARES = (("#0072b2", ""), ("#e69f00", "//"), ("#d55e00", ".."))


def shares(table: pd.DataFrame, across: str, title: str = "") -> Figure:
    """Draw a table of per cents: a strip for each row, and in it a part for each column.

    Parameters
    ----------
    table
        At most three columns.
    across, title
        Below the chart and above it.
    """
    looks = [Look(*look, name) for look, name in zip(SHARES, table.columns, strict=False)]
    parts: list[Strip] = []
    for row, values in enumerate(table.to_numpy().tolist()):
        for at, look in enumerate(looks):
            parts.append(Strip(row, sum(values[:at]), values[at], look))
    figure, axes = strips([str(name) for name in table.index], parts, title)
    for row, start, length, _ in parts:
        if length:
            middle = axes.text(start + length / 2, row, f"{length:.0f}", ha="center", va="center")
            middle.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 1})
    axes.set_xlim(0, 100)
    axes.set_xlabel(across)
    told = [
        f"{name}: " + ", ".join(f"{value:.0f} {part}" for part, value in row.items())
        for name, row in table.iterrows()
    ]
    return picture(figure, f"Strips{about(title)}, {across}. {'; '.join(told)}.")
