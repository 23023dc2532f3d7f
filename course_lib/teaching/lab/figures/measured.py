"""Charts of what was measured: gains, intervals, and pairs of results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from course_lib.teaching.lab.figures.base import INK, PAPER, Figure, chart, picture

Frame = Any  # a pandas DataFrame
Array = Any  # of NumPy


def gains(measured: Frame, across: str, up: str) -> Figure:
    """Draw for each group a gain with a band for its 95 % interval, and mark the highest.

    Parameters
    ----------
    measured
        Columns mean, low and high, a row for each thing that was tried and each group.
    across, up
        What was tried, and what was gained.
    """
    from matplotlib.figure import Figure as Chart

    groups = {name: each.droplevel(-1) for name, each in measured.groupby(level=-1)}
    figure = Chart(figsize=(8, 3.4), layout="constrained", facecolor=PAPER)
    panels = figure.subplots(1, len(groups), sharey=True, squeeze=False)[0]
    told = []
    for axes, (name, each) in zip(panels, groups.items(), strict=True):
        gain = each["mean"]
        best = gain.idxmax()
        axes.axhline(0, color=INK, linewidth=1)
        axes.fill_between(each.index, each.low, each.high, alpha=0.25, label="95 % interval")
        gain.plot.line(ax=axes, xlabel=across, ylabel=up, label="gain")
        axes.scatter(best, gain[best], color=INK, marker="D", zorder=3, label="highest")
        interval = "{:+.2f} [{:+.2f}, {:+.2f}]".format(*each.loc[best, ["mean", "low", "high"]])
        axes.set_title(f"{name}: highest at {best}\n{interval}")
        told.append(f"{name}: highest at {best}, {interval}")
    panels[-1].legend(loc="lower right", frameon=False)
    return picture(figure, f"{up}, by {across}, with a band for its interval. {'; '.join(told)}.")


def intervals(measured: Frame, across: str) -> Figure:
    """Draw a mean with its interval for each row, the last row at the top.

    Parameters
    ----------
    measured
        Columns mean, low and high. If a row's name has two levels, the second one is a group, and
        each group has a panel. A dot is hollow if its interval contains 0.
    across
        What was measured.
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
        axes.axvline(0, color=INK, linestyle=":", marker="", linewidth=1)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_title(group, loc="left")
        for name, each in every.iterrows():
            ends = [[each["mean"] - each.low], [each.high - each["mean"]]]
            fill = PAPER if each.low <= 0 <= each.high else "C0"
            axes.errorbar(each["mean"], name, xerr=ends, fmt="o", capsize=4, color="C0", mfc=fill)
            told.append(
                "{}: {:.2f} [{:.2f}, {:.2f}]".format(
                    f"{group}, {name}" if group else name, each["mean"], each.low, each.high
                )
            )
        axes.margins(y=0.5 / rows)
    note = " (a hollow dot: the interval contains 0)" if hollow.any() else ""
    figure.supxlabel(f"{across}, with its interval of 95 %{note}", size="medium")
    return picture(figure, f"{across}, each with its interval. {'; '.join(told)}.")


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
