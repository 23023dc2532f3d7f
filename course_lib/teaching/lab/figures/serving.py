"""A figure of a service over time: which requests were answered with what, and what happened."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Protocol

from course_lib.errors import InputError
from course_lib.teaching.lab.figures.base import INK, Figure, chart, picture

LOOKS = {
    2: ("#009e73", "", "2xx: answered"),
    4: ("#e69f00", "....", "4xx: refused"),
    5: ("#d55e00", "////", "5xx: failed"),
    0: ("#444444", "xxxx", "no answer"),
}
"""First digit of the status → colour, hatching and name."""

NARROW = 0.06
"""Seconds that a bar is wide at least, so that a quick answer can be seen."""


class Answer(Protocol):
    """What is drawn: when a request was sent, how long its answer took, and its status."""

    @property
    def at(self) -> float:
        """Seconds since the beginning."""
        ...

    @property
    def seconds(self) -> float:
        """How long it took."""
        ...

    @property
    def request(self) -> str:
        """Such as ``"GET /ready"``."""
        ...

    @property
    def status(self) -> int:
        """HTTP status, 0 for none."""
        ...


def timeline(
    seen: Iterable[Answer], marks: Sequence[tuple[float, str]] = (), title: str = ""
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
    figure, axes = chart(7.6, 1.9 + 0.5 * len(requests))
    told = []
    for row, request in enumerate(requests):
        own = [one for one in answers if one.request == request]
        for one in own:
            colour, hatch, _ = LOOKS[one.status // 100 if one.status // 100 in LOOKS else 0]
            axes.barh(
                row, max(one.seconds, NARROW), left=one.at, height=0.6, color=colour,
                hatch=hatch, edgecolor="white", linewidth=0.4,
            )  # fmt: skip
        runs = [(status, next(run).at) for status, run in groupby(own, key=lambda one: one.status)]
        told.append(request + " " + ", ".join(f"{s or 'nothing'} from {t:.1f} s" for s, t in runs))
    for at, what in marks:
        axes.axvline(at, color=INK, linestyle="--", linewidth=1.4)
        axes.text(at, -0.62, what, ha="center", fontsize=9, color=INK)
        told.append(f"{what} at {at:.1f} s")
    for digit, (colour, hatch, name) in LOOKS.items():
        if any(one.status // 100 == digit for one in answers):
            axes.bar(0, 0, color=colour, hatch=hatch, edgecolor="white", label=name)
    axes.set_yticks(range(len(requests)), requests)
    axes.set_ylim(len(requests) - 0.4, -0.6)
    axes.set_xlim(0, max(one.at + one.seconds for one in answers))
    axes.set_xlabel("seconds")
    axes.legend(ncols=4, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.25))
    axes.set_title(title, loc="left", pad=20 if marks else None)
    about = f" of {title}" if title else ""
    return picture(figure, f"Timeline{about}: {'; '.join(told)}.")
