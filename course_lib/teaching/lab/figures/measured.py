"""Charts of what was measured: recall against its price, and gains with their intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from course_lib.teaching.lab.figures.base import (
    DPI,
    INK,
    MARKERS,
    PAPER,
    Figure,
    about,
    chart,
    colour,
    picture,
)

Frame = Any  # a pandas DataFrame


def recall_by_pages(measured: Frame, exact: float, title: str = "") -> Figure:
    """Draw recall against visited pages: a line an index, hollow where it was built first.

    Parameters
    ----------
    measured
        Columns index, built (before or after the rows), setting, recall and pages.
    exact
        The pages that an exact scan visits.
    title
        Above the chart.
    """
    figure, axes = chart(title, "pages a search visits", "recall", height=3.6)
    names = list(dict.fromkeys(measured["index"]))
    for (name, built), group in measured.groupby(["index", "built"]):
        at, later = names.index(name), built == "after"
        axes.plot(
            group.pages, group.recall, color=colour(at), marker=MARKERS[at], markersize=9,
            linestyle="-" if later else "--", mfc=colour(at) if later else "none",
            label=f"{name}, built {built} the rows",
        )  # fmt: skip
        for one in group.itertuples() if later else ():
            text, at_point = one.setting.partition(".")[2], (one.pages, one.recall)
            beside = (9, -12) if one.recall < 0.9 else (-12, 10)  # not on the line below
            axes.annotate(text, at_point, beside, textcoords="offset points")
    axes.plot(exact, 1, color=INK, marker="*", markersize=14, linestyle="", label="exact scan")
    axes.set_ylim(0.2, 1.1)
    axes.legend(loc="lower right", frameon=False)
    told = "; ".join(
        f"{one.index} built {one.built}, {one.setting}: "
        f"recall {one.recall:.2f}, {one.pages:.0f} pages"
        for one in measured.itertuples(index=False)
    )
    told += f"; exact scan: {exact:.0f} pages"
    return picture(figure, f"Recall and pages{about(title)}: {told}.")


def pages_and_recall(ways: Frame, title: str = "") -> Figure:
    """Draw the pages that each way to search visits as bars, and write its recall beside each.

    Parameters
    ----------
    ways
        Columns pages and recall, by (filter, way).
    title
        Above the chart.
    """
    figure, axes = chart(title, "pages a search visits", height=0.5 * len(ways) + 1)
    filters = list(dict.fromkeys(filter for filter, _ in ways.index))
    told = []
    for place, ((filter, way), one) in enumerate(ways.iterrows()):
        bar = axes.barh(place, one.pages, color=colour(filters.index(filter)))
        axes.bar_label(bar, [f" {one.pages:,.0f} pages, recall {one.recall:.2f}"], fontsize=9)
        told.append(f"{filter}, {way}: {one.pages:.0f} pages, recall {one.recall:.2f}")
    axes.set_yticks(range(len(ways)), [f"{filter}, {way}" for filter, way in ways.index])
    axes.invert_yaxis()  # the first bar at the top
    axes.set_xscale("log")
    axes.set_xlim(1, 100 * ways.pages.max())
    return picture(figure, f"Pages and recall{about(title)}: {'; '.join(told)}.")


def gains(measured: Mapping[str, Frame], across: str, up: str) -> Figure:
    """Draw for each group a gain with a band for its 95 % interval, and mark the highest.

    Parameters
    ----------
    measured
        Group → columns gain, low and high, by what was tried.
    across, up
        What was tried, and what was gained.
    """
    from matplotlib.figure import Figure as Chart

    figure = Chart(figsize=(8, 3.4), layout="constrained", facecolor=PAPER, dpi=DPI)
    panels = figure.subplots(1, len(measured), sharey=True, squeeze=False)[0]
    told = []
    for axes, (name, each) in zip(panels, measured.items(), strict=True):
        best = each.gain.idxmax()
        axes.axhline(0, color=INK, linewidth=1)
        axes.fill_between(each.index, each.low, each.high, alpha=0.25, label="95 % interval")
        axes.plot(each.index, each.gain, label="gain")
        axes.scatter(best, each.gain[best], color=INK, marker="D", zorder=3, label="highest")
        gain, low, high = each.loc[best, ["gain", "low", "high"]]
        interval = f"{gain:+.2f} [{low:+.2f}, {high:+.2f}]"
        axes.set(title=f"{name}: highest at {best}\n{interval}", xlabel=across)
        told.append(f"{name}, highest at {best}: {each.loc[best].round(3).to_dict()}")
    panels[0].set_ylabel(up)
    panels[-1].legend(loc="lower right", frameon=False)
    return picture(figure, f"{up}, by {across}, with a band for its interval. {'; '.join(told)}.")
