"""A figure of a service over time: which requests were answered with what, and what happened."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from course_lib.errors import InputError
from course_lib.teaching.lab.figures.base import INK, Figure, about, picture
from course_lib.teaching.lab.figures.strips import Look, Strip, strips

if TYPE_CHECKING:
    from course_lib.teaching.lab.serving import Seen

LOOKS = {
    2: Look("#009e73", "", "2xx: answered"),
    4: Look("#e69f00", "....", "4xx: refused"),
    5: Look("#d55e00", "////", "5xx: failed"),
    0: Look("#444444", "xxxx", "no answer"),
}
"""First digit of the status → how its bars look."""

NARROW = 0.06
"""Seconds that a bar is wide at least, so that a quick answer can be seen."""


def timeline(
    seen: Iterable[Seen], marks: Sequence[tuple[float, str]] = (), title: str = ""
) -> Figure:
    """Draw the answers to repeated requests as bars over time, a strip for each request.

    Parameters
    ----------
    seen
        The answers.
    marks
        Seconds and what happened then, as dashed lines.
    title
        Above the chart.
    """
    answers = sorted(seen, key=lambda one: one.at)
    if not answers:
        raise InputError("There are no answers to draw")
    requests = sorted({one.request for one in answers})
    pieces, told = [], []
    for row, request in enumerate(requests):
        own = [one for one in answers if one.request == request]
        for one in own:
            look = LOOKS.get(one.status // 100, LOOKS[0])
            pieces.append(Strip(row, one.at, max(one.seconds, NARROW), look))
        runs = [(status, next(run).at) for status, run in groupby(own, key=lambda one: one.status)]
        told.append(request + " " + ", ".join(f"{s or 'nothing'} from {t:.1f} s" for s, t in runs))
    figure, axes = strips(requests, pieces)
    for at, what in marks:
        axes.axvline(at, color=INK, linestyle="--", linewidth=1.4)
        axes.text(at, -0.68, what, ha="center", fontsize=9, color=INK)
        told.append(f"{what} at {at:.1f} s")
    axes.set_xlim(0, 1.01 * max(one.at + max(one.seconds, NARROW) for one in answers))
    axes.set_xlabel("seconds")
    axes.set_title(title, loc="left", pad=20 if marks else None)
    return picture(figure, f"Timeline{about(title)}: {'; '.join(told)}.")
