"""Plain charts: bars, a histogram, and the spread of latencies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import quantiles

from course_lib.errors import InputError
from course_lib.teaching.lab.figures.base import HATCHES, Figure, chart, colour, number, picture


def bars(values: Mapping[str, float], title: str = "", unit: str = "") -> Figure:
    """Draw one horizontal bar a value, the first on top, each with its number.

    Parameters
    ----------
    values
        Name → number.
    title
        Above the chart.
    unit
        Behind each number, as in ``"ms"``.
    """
    if not values:
        raise InputError("There are no values to draw")
    figure, axes = chart(height=0.9 + 0.38 * len(values))
    names = list(values)
    drawn = axes.barh(
        range(len(names)),
        list(values.values()),
        color=[colour(i) for i in range(len(names))],
        edgecolor="white",
        hatch=[HATCHES[i % len(HATCHES)] for i in range(len(names))],
    )
    labels = [f"{number(value)} {unit}".strip() for value in values.values()]
    axes.bar_label(drawn, labels=labels, padding=4)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.set_title(title, loc="left")
    axes.set_xlabel(unit)
    told = ", ".join(f"{name} {label}" for name, label in zip(names, labels, strict=True))
    return picture(figure, f"Bar chart{_about(title)}: {told}.")


def histogram(
    values: Sequence[float], title: str = "", unit: str = "", *, limit: float | None = None
) -> Figure:
    """Draw how often values of which size occur.

    Parameters
    ----------
    values
        Any numbers.
    title, unit
        Above the chart and below its axis.
    limit
        Draws a dashed line at this value and counts what lies beyond it.
    """
    if len(values) == 0:
        raise InputError("There are no values to draw")
    figure, axes = chart()
    axes.hist([float(v) for v in values], bins="auto", color=colour(0), edgecolor="white")
    axes.set_title(title, loc="left")
    axes.set_xlabel(unit)
    axes.set_ylabel("how many")
    told = f"{len(values)} values from {number(min(values))} to {number(max(values))} {unit}"
    if limit is not None:
        beyond = sum(v > limit for v in values)
        axes.axvline(limit, color=colour(1), linestyle="--", linewidth=2)
        label = f" {number(limit)}: {beyond} beyond"
        axes.text(limit, axes.get_ylim()[1], label, color=colour(1), va="top")
        told += f"; {beyond} lie beyond {number(limit)}"
    return picture(figure, f"Histogram{_about(title)}: {told.strip()}.")


def latencies(samples: Mapping[str, Sequence[float]] | Sequence[float], title: str = "") -> Figure:
    """Draw latencies as dots, with the median (bar) and the 95th percentile (cross) of each series.

    Parameters
    ----------
    samples
        Milliseconds, or name → milliseconds.
    title
        Above the chart.
    """
    series = samples if isinstance(samples, Mapping) else {"": samples}
    if not series or any(len(values) == 0 for values in series.values()):
        raise InputError("There are no samples to draw")
    figure, axes = chart(height=1.1 + 0.55 * len(series))
    told = []
    for row, (name, values) in enumerate(series.items()):
        ordered = [float(v) for v in values]
        cuts = quantiles(ordered, n=100, method="inclusive") if len(ordered) > 1 else ordered * 99
        heights = [row + ((i * 7) % 11 - 5) / 25 for i in range(len(ordered))]  # spread, not random
        axes.plot(ordered, heights, ".", color=colour(row), alpha=0.5)
        axes.plot([cuts[49]] * 2, [row - 0.32, row + 0.32], color="black", linewidth=2.5)
        axes.plot(cuts[94], row, "x", color="black", markersize=9, markeredgewidth=2)
        told.append(f"{name} median {number(cuts[49])} ms, p95 {number(cuts[94])} ms".strip())
    axes.set_yticks(range(len(series)), list(series))
    axes.set_ylim(len(series) - 0.5, -0.5)
    axes.set_xlim(left=0)
    axes.set_xlabel("ms   (bar: median, cross: 95th percentile)")
    axes.set_title(title, loc="left")
    return picture(figure, f"Latencies{_about(title)}: {'; '.join(told)}.")


def _about(title: str) -> str:
    return f" of {title}" if title else ""
