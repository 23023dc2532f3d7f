"""Plain charts: bars, and the spread of latencies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from course_lib.errors import InputError
from course_lib.teaching.lab.figures.base import (
    HATCHES,
    Figure,
    about,
    chart,
    colour,
    number,
    picture,
)


def bars(
    values: Mapping[str, float] | Mapping[str, Mapping[str, float]],
    title: str = "",
    unit: str = "",
    *,
    log: bool = False,
) -> Figure:
    """Draw one horizontal bar a value, the first on top, each with its number.

    Parameters
    ----------
    values
        Name → number, or group → name → number: then the bars of a group are together, and those
        of the same name look the same.
    title
        Above the chart.
    unit
        Below the axis, as in ``"ms"``.
    log
        Whether ten times as much is always as far, for numbers above 0 of very different size.
    """
    import pandas as pd

    if not values:
        raise InputError("There are no values to draw")
    first = next(iter(values.values()))
    is_grouped = isinstance(first, Mapping)
    table = pd.DataFrame(values if is_grouped else {name: {"": n} for name, n in values.items()}).T
    numbers = [float(value) for value in table.to_numpy().flat]
    across = f"{unit} (each step is ten times as much)".strip() if log else unit
    figure, axes = chart(title, across, height=0.9 + 0.38 * len(numbers))
    colours: Any = [colour(i) for i in range(len(table.columns))]
    table.plot.barh(ax=axes, width=0.7, color=colours, edgecolor="white", legend=False, logx=log)
    for index, series in enumerate(table):
        bars_of_series: Any = axes.containers[index]
        for bar in bars_of_series:
            bar.set_hatch(HATCHES[index % len(HATCHES)])
        labels = ["" if pd.isna(value) else number(value) for value in table[series]]
        axes.bar_label(bars_of_series, labels=labels, padding=4)
    axes.invert_yaxis()
    axes.margins(x=0.15)
    if not log and all(value.is_integer() for value in numbers):
        axes.locator_params(axis="x", integer=True)
    if log:
        axes.set_xlim(left=min(numbers) / 2)  # the shortest bar has a length, too
        axes.xaxis.set_major_formatter(lambda value, _: number(value))
    if is_grouped:
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.01, 0.5))
    told = ", ".join(
        f"{f'{row}, {name}' if is_grouped else row} {number(value)} {unit}".strip()
        for row, own in table.iterrows()
        for name, value in own.dropna().items()
    )
    return picture(figure, f"Bar chart{about(title)}: {told}.")


def latencies(samples: Mapping[str, Sequence[float]] | Sequence[float], title: str = "") -> Figure:
    """Draw latencies as box plots: half of them are in the box, 5 % are beyond the right whisker.

    Parameters
    ----------
    samples
        Milliseconds, or name → milliseconds.
    title
        Above the chart.
    """
    import numpy as np

    series = samples if isinstance(samples, Mapping) else {"": samples}
    if not series or any(len(values) == 0 for values in series.values()):
        raise InputError("There are no samples to draw")
    across = "ms (box: middle half, with the median; whiskers: 5 % and 95 %)"
    figure, axes = chart(title, across, height=1.1 + 0.55 * len(series))
    axes.boxplot(
        [*series.values()],
        orientation="horizontal",
        tick_labels=[*series],
        whis=(5, 95),
        widths=0.6,
        flierprops={"marker": ".", "markeredgecolor": colour(0)},
        medianprops={"color": colour(1), "linewidth": 2.5},
    )
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    told = []
    for name, values in series.items():
        median, late = np.percentile(values, [50, 95])
        told.append(f"{name} median {number(median)} ms, p95 {number(late)} ms".strip())
    return picture(figure, f"Latencies{about(title)}: {'; '.join(told)}.")
