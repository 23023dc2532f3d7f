"""A figure of transactions over time: who did which step, in which order."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from course_lib.errors import InputError
from course_lib.teaching.lab.figures.base import FAINT, INK, PAPER, Figure, colour, picture


def turns(runs: Mapping[str, Sequence[tuple[str, str]]]) -> Figure:
    """Draw steps as boxes in their order, a line for each transaction; its last step is filled.

    Parameters
    ----------
    runs
        Title → steps in their order: whose transaction it is, and what the step did.
    """
    if not all(runs.values()):
        raise InputError("There are no steps to draw")
    # matplotlib says on standard error that it builds its font cache, the first time.
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    from matplotlib.figure import Figure as Chart

    figure = Chart(figsize=(9.5, 2 * len(runs)), layout="constrained", facecolor=PAPER)
    told = []
    panels = figure.subplots(len(runs), squeeze=False).flat
    for axes, (title, steps) in zip(panels, runs.items(), strict=True):
        names = sorted({who for who, _ in steps}, reverse=True)
        for row, name in enumerate(names):
            places = [place for place, (who, _) in enumerate(steps) if who == name]
            axes.hlines(row, places[0], places[-1], color=colour(row), linewidth=3)
            for place in places:
                is_last = place == places[-1]  # the commit, which makes all of it visible
                axes.text(place, row, steps[place][1], ha="center", va="center", parse_math=False,
                          color=PAPER if is_last else INK,
                          bbox={"facecolor": colour(row) if is_last else PAPER,
                                "edgecolor": colour(row)})  # fmt: skip
        axes.set_title(title, loc="left", parse_math=False)
        axes.set(xticks=[], xlim=(-0.6, len(steps) - 0.4), ylim=(-0.6, len(names) - 0.4))
        axes.set_yticks(range(len(names)), names)
        axes.spines[["top", "right"]].set_visible(False)
        told.append(f"{title}: {', then '.join(f'{who} {what}' for who, what in steps)}")
    axes.set_xlabel("time (a line is a transaction)", color=FAINT)
    return picture(figure, f"Time lines of transactions. {'; '.join(told)}.")
