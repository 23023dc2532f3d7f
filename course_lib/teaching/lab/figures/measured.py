"""Charts of what was measured: gains, intervals, and pairs of results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

from course_lib.teaching.lab.figures.base import HATCHES, INK, PAPER, Figure, chart, colour, picture
from course_lib.teaching.lab.figures.strips import BAD, GOOD, GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Frame = Any  # a pandas DataFrame
Array = Any  # of NumPy


def bars(
    measured: Frame,
    across: str,
    up: str = "",
    *,
    title: str = "",
    labels: Sequence[str] = (),
    digits: int = 0,
) -> Figure:
    """Draw numbers as horizontal bars, the first row at the top; each series has its own hatch.

    Parameters
    ----------
    measured
        A row for each bar or group of bars, and a column for each series.
    across, up
        What the numbers are, and what the rows are.
    title
        Above the chart.
    labels
        What is written beside the bars of a single series; by default its numbers.
    digits
        Of the numbers beside the bars, after the point.
    """
    rows, series = len(measured), len(measured.columns)
    figure, axes = chart(title, across, up, height=1.2 + 0.3 * rows * (0.4 + 0.4 * series))
    at = range(series)[::-1]  # pandas draws the lowest bar first
    colours, hatches = [colour(one) for one in at], [HATCHES[one % len(HATCHES)] for one in at]
    measured.iloc[::-1, at].plot.barh(
        ax=axes, width=0.75, legend=False, color=colours, xlabel=across, ylabel=up
    )
    containers: list[Any] = axes.containers  # all of them are bars
    for drawn, hatch in zip(containers, hatches, strict=True):
        for patch in drawn:
            patch.set_hatch(hatch)
        texts = [f"{one:.{digits}f}" for one in drawn.datavalues]
        axes.bar_label(drawn, [*labels][::-1] or texts, padding=3)
    if series > 1:
        place = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5), "reverse": True}
        axes.legend(**place, frameon=False)
    axes.margins(x=0.12)
    return picture(figure, f"{title or across}, as bars.\n{measured.round(digits).to_string()}.")


def intervals(measured: Frame, across: str, *, zero: bool = True) -> Figure:
    """Draw a mean with its interval for each row, the last row at the top.

    Parameters
    ----------
    measured
        Columns mean, low and high. If a row's name has two levels, the second one is a group, and
        each group has a panel. A dot is hollow if its interval contains 0.
    across
        What was measured.
    zero
        Whether a line shows 0, which only a change or a gain needs.
    """
    from matplotlib.figure import Figure as Chart

    groups = {"": measured}
    if measured.index.nlevels > 1:
        groups = {name: each.droplevel(-1) for name, each in measured.groupby(level=-1)}
    rows = len(measured) / len(groups)
    hollow = (measured.low <= 0) & (measured.high >= 0)
    figure = Chart(figsize=(8, 1.1 + 0.35 * rows), layout="constrained", facecolor=PAPER)
    panels = figure.subplots(1, len(groups), sharex=True, sharey=True, squeeze=False)[0]
    told = []
    for axes, (group, every) in zip(panels, groups.items(), strict=True):
        if zero:
            axes.axvline(0, color=INK, linestyle=":", marker="", linewidth=1)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_title(group, loc="left")
        for name, each in every.iterrows():
            ends = [[each["mean"] - each.low], [each.high - each["mean"]]]
            inside = PAPER if each.low <= 0 <= each.high else "C0"
            axes.errorbar(each["mean"], name, xerr=ends, fmt="o", capsize=4, color="C0", mfc=inside)
            told.append(
                "{}: {:.2f} [{:.2f}, {:.2f}]".format(
                    f"{group}, {name}" if group else name, each["mean"], each.low, each.high
                )
            )
        axes.margins(y=0.5 / rows)
    note = " (a hollow dot: the interval contains 0)" if hollow.any() else ""
    figure.supxlabel(fill(f"{across}, with its interval of 95 %{note}", 100), size="medium")
    return picture(figure, f"{across}, each with its interval. {'; '.join(told)}.")


def changes(compared: Mapping[str, tuple[Array, Array]], across: str) -> Figure:
    """Draw how much each `after` is above its `before`, with the paired interval; first on top.

    Parameters
    ----------
    compared
        Name → the results before and after, of the same questions. Marks are told by their number,
        other results by their mean.
    across
        What the change is a change of.
    """
    import numpy as np
    import pandas as pd

    from course_lib.evaluation.statistics import paired_interval

    rows = {}
    for name, both in compared.items():
        before, after = (np.asarray(each) for each in both)
        is_mark = before.dtype == bool
        told = (f"{each.sum()}" if is_mark else f"{each.mean():.2f}" for each in (before, after))
        rows[f"{name}: {' → '.join(told)}"] = paired_interval([*(before * 1.0)], [*(after * 1.0)])
    table = pd.DataFrame(rows, index=["mean", "low", "high"]).T
    return intervals(table[::-1], across)


def pairs(before: Array, after: Array, names: tuple[str, str], across: str) -> Figure:
    """Draw the two results of each question, from 0 to 1; equal ones are on a line.

    Parameters
    ----------
    before, after
        The results, of the same questions.
    names
        What each of the two is called.
    across
        What a result is.
    """
    figure, axes = chart("", f"{across}, {names[0]}", f"{across}, {names[1]}", width=4, height=4)
    points = Counter(zip(before, after, strict=True))  # several questions can be one point
    axes.axline((0, 0), (1, 1), linestyle=":", marker="", color="gray", zorder=0)
    across_at, up_at = zip(*points, strict=True)
    axes.scatter(across_at, up_at, s=[40 * count for count in points.values()])
    axes.set(xlim=(-0.1, 1.1), ylim=(-0.1, 1.1), aspect="equal")
    told = (
        f"{sum(after > before)} {names[1]} better",
        f"{sum(after == before)} equal",
        f"{sum(after < before)} {names[0]} better",
    )
    for text, place in zip(told, ((0.35, 0.75), (1.08, 0.8), (1.08, 0)), strict=True):
        axes.text(*place, text, ha="right", size=9)
    return picture(figure, f"Of {len(before)} questions, by {across}: {', '.join(told)}.")


def waits(measured: Mapping[str, Frame]) -> Figure:
    """Draw for each route when its requests waited: a bar from the beginning to the end.

    Parameters
    ----------
    measured
        Route → columns begin and end, in seconds, a row for each request.
    """
    from matplotlib.figure import Figure as Chart

    figure = Chart(figsize=(8, 2.2), layout="constrained", facecolor=PAPER)
    panels = figure.subplots(1, len(measured), sharex=True, squeeze=False)[0]
    for axes, (path, each) in zip(panels, measured.items(), strict=True):
        axes.barh(each.index + 1, each.end - each.begin, left=each.begin)
        axes.set(title=path, xlabel="seconds", yticks=each.index + 1)
        axes.invert_yaxis()
    panels[0].set_ylabel("request")
    begins = {path: each.begin.round(1).to_list() for path, each in measured.items()}
    return picture(figure, f"A bar for each request. They begin after so many seconds: {begins}.")


def stacked(measured: Mapping[str, Frame], across: str = "") -> Figure:
    """Draw numbers as stacked bars, with each number on its part, a panel for each table.

    Parameters
    ----------
    measured
        Title → a bar for each row, in it a part for each of up to three columns: what is good, what
        is bad, and the rest.
    across
        What was counted.
    """
    from matplotlib.figure import Figure as Chart

    tables = list(measured.values())
    alike = len({tuple(table) for table in tables}) == 1
    figure = Chart(figsize=(8, 1.2 + 0.42 * len(tables[0])), layout="constrained", facecolor=PAPER)
    panels = figure.subplots(1, len(tables), sharex=alike, sharey=True, squeeze=False)[0]
    for axes, (title, table) in zip(panels, measured.items(), strict=True):
        _stack(axes, table)
        axes.set_title(title, loc="left", size=11)
        axes.set_xlabel(across)
    panels[0].set_yticks(range(len(tables[0])), tables[0].index)
    panels[0].invert_yaxis()
    if len(tables[-1].columns) > 1:
        handles, names = panels[-1].get_legend_handles_labels()
        figure.legend(handles, names, ncols=3, frameon=False, loc="outside lower center")
    told = [f"{title}: {table.to_dict('index')}" for title, table in measured.items()]
    return picture(figure, f"Bars of {across or 'numbers'}. {'; '.join(told)}.")


def _stack(axes: Axes, table: Frame) -> None:
    """Draw a bar for each row; the number of a narrow part is above it."""
    left, narrow = table.sum(axis=1) * 0, table.sum(axis=1).max() / 30
    one = len(table.columns) == 1
    for name, (inside, hatch) in zip(table, (GOOD, BAD, GREY), strict=False):
        bars = axes.barh(
            range(len(table)), table[name], left=left, label=name,
            height=0.6, color=inside, hatch=hatch, edgecolor="white", linewidth=0.4,
        )  # fmt: skip
        shown = [f"{count:g}" if count or one else "" for count in table[name]]
        places = {"label_type": "edge", "padding": 3} if one else {"label_type": "center"}
        for label, count in zip(
            axes.bar_label(bars, shown, size=9, **places), table[name], strict=True
        ):
            if count > narrow and not one:
                label.set_bbox({"color": PAPER, "pad": 1})
            elif count and not one:
                label.set(position=(7, 14), color=inside, weight="bold")
        left = left + table[name]
    if one:
        axes.margins(x=0.2)
    axes.spines[["top", "right"]].set_visible(False)
