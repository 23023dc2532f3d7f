"""Strips: pieces of something long, such as a file or a run over time, a row for each kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from course_lib.records import Span
from course_lib.teaching.lab.figures.base import INK, PAPER, Figure, chart, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Chart

    from course_lib.pipeline.local import LocalRun
    from course_lib.teaching.lab.serving import Seen

GOOD, BAD, GREY = ("#009e73", ""), ("#d55e00", "////"), ("#bbbbbb", "....")
LOOKS = {
    "whole": GOOD,
    "torn": BAD,
    "larger than a piece": GREY,
    "succeeded": GOOD,
    "failed": BAD,
    "tried again": ("#0072b2", "xxxx"),
    "cached": GREY,
    "2xx: answered": GOOD,
    "4xx: refused": ("#e69f00", "...."),
    "5xx: failed": BAD,
    "no answer": ("#444444", "xxxx"),
}
"""What is said of a piece → its colour and its hatch."""

STATUSES = {2: "2xx: answered", 4: "4xx: refused", 5: "5xx: failed"}
NARROW = 1 / 75
"""The part of the whole length that a piece is wide at least, so that it can be seen."""


class Strip(NamedTuple):
    """A piece of a row: where it begins, how long it is, and what is said of it."""

    row: str
    start: float
    length: float
    verdict: str


def strips(pieces: Sequence[Strip], title: str, across: str, pad: float = 6) -> tuple[Chart, Axes]:
    """Return a chart with a row for each name, its pieces, and a legend of their looks below."""
    rows = list(dict.fromkeys(piece.row for piece in pieces))
    figure, axes = chart("", across, width=7.6, height=1.5 + 0.36 * len(rows))
    _bars(axes, pieces, rows, max(piece.start + piece.length for piece in pieces))
    axes.set_title(title, loc="left", pad=pad)
    figure.legend(ncols=3, frameon=False, loc="outside lower center")
    return figure, axes


def _bars(axes: Axes, pieces: Sequence[Strip], rows: Sequence[str], end: float) -> None:
    for verdict in dict.fromkeys(piece.verdict for piece in pieces):
        own = [piece for piece in pieces if piece.verdict == verdict]
        colour, hatch = LOOKS[verdict]
        axes.barh(
            [rows.index(piece.row) for piece in own],
            [max(piece.length, end * NARROW) for piece in own],
            left=[piece.start for piece in own],
            height=0.6, color=colour, hatch=hatch, edgecolor="white", linewidth=0.4, label=verdict,
        )  # fmt: skip
    axes.set(xlim=(0, 1.01 * end), ylim=(len(rows) - 0.4, -0.6))
    axes.set_yticks(range(len(rows)), rows)


def torn(
    definitions: Sequence[tuple[str, Span]],
    splits: Mapping[str, Sequence[Span]],
    title: str = "",
    *,
    size: int = 512,
) -> Figure:
    """Draw a file's definitions as bars, a strip for each splitter, with its cuts through them.

    Parameters
    ----------
    definitions
        Name and place of each, side by side. One is whole if a single piece holds all of it.
    splits
        Splitter → its pieces: anything with `start` and `end`, in characters.
    title
        Above the chart, before what each splitter tears.
    size
        Characters of the largest piece; a definition longer than that cannot be whole.
    """
    found = [
        Strip(splitter, one.start, one.end - one.start, _verdict(one, pieces, size))
        for splitter, pieces in splits.items()
        for _, one in definitions
    ]
    fit = sum(one.end - one.start <= size for _, one in definitions)
    marked = [one.row for one in found if one.verdict == "torn"]
    counted = ", ".join(f"{name} tears {marked.count(name)}" for name in splits)
    title = f"{title}: of {fit} that fit, {counted}".removeprefix(": ")
    across = "characters from the start of the file; a black line is a cut through a definition"
    figure, axes = strips(found, title, across, pad=46)
    for row, (splitter, pieces) in enumerate(splits.items()):
        # Pieces may overlap: one that ends inside a definition which another holds cuts nothing.
        cut = [one for one in found if one.row == splitter and one.verdict != "whole"]
        ends = [piece.end for piece in pieces]
        through = [at for at in ends if any(0 < at - one.start < one.length for one in cut)]
        axes.vlines(through, row - 0.4, row + 0.4, color=INK, linewidth=1.6)
    for name, span in definitions:
        axes.text((span.start + span.end) / 2, -0.62, name, rotation=28, fontsize=9, color=INK)
    names = [name for name, _ in definitions] * len(splits)
    told = [f"{one.row}: {name} {one.verdict}" for name, one in zip(names, found, strict=True)]
    return picture(figure, f"Strips, {title}. {'; '.join(told)}.")


def attempts(runs: Mapping[str, LocalRun]) -> Figure:
    """Draw the attempts of runs as bars over time: a panel for each run, a line for each task.

    An attempt after one that failed has a look of its own. A step from the cache takes no time, so
    the word is beside its bar.

    Parameters
    ----------
    runs
        Title of the panel → what `run_locally` returned.
    """
    from matplotlib.figure import Figure as Chart

    told = {title: _attempts(run) for title, run in runs.items()}
    pieces = [piece for one in told.values() for piece in one]
    steps = list(dict.fromkeys(piece.row.partition("[")[0] for piece in pieces))
    rows = sorted(
        {piece.row for piece in pieces}, key=lambda row: (steps.index(row.partition("[")[0]), row)
    )
    end = max(piece.start + piece.length for piece in pieces)
    size = (7.6, 1.5 + 0.3 * len(rows))
    figure = Chart(figsize=size, layout="constrained", facecolor=PAPER)
    panels = figure.subplots(1, len(told), sharex=True, sharey=True, squeeze=False)[0]
    shown: dict[str, Any] = {}
    for axes, (title, own) in zip(panels, told.items(), strict=True):
        _bars(axes, own, rows, end)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_title(title, loc="left", fontsize=10)
        axes.set_xlabel("seconds")
        for piece in own:
            if piece.verdict == "cached":
                place = piece.start + 2 * end * NARROW, rows.index(piece.row)
                axes.text(*place, "cached", va="center", fontsize=9, color=INK)
        shown |= {
            label: bars for bars, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
    figure.legend(shown.values(), shown.keys(), ncols=4, frameon=False, loc="outside lower center")
    words = [
        f"{title}: " + ", ".join(f"{one.row} {one.verdict}" for one in own)
        for title, own in told.items()
    ]
    return picture(figure, f"Time lines of runs. {'; '.join(words)}.")


def _attempts(run: LocalRun) -> list[Strip]:
    """Return the attempts of a run as pieces; cached ones of one step get numbers."""
    pieces: list[Strip] = []
    failed: set[str] = set()
    skipped = [one.task for one in run.attempts if one.outcome == "cached"]
    numbers = {task: iter(range(skipped.count(task))) for task in skipped}
    for one in run.attempts:
        row, verdict = one.task, str(one.outcome)
        if verdict == "cached" and skipped.count(row) > 1:
            row = f"{row}[{next(numbers[row])}]"
        if verdict == "succeeded" and row in failed:
            verdict = "tried again"
        if verdict == "failed":
            failed.add(row)
        pieces.append(Strip(row, one.at, one.seconds, verdict))
    return pieces


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
    answers = sorted(seen, key=lambda one: (one.request, one.at))
    pieces = [
        Strip(one.request, one.at, one.seconds, STATUSES.get(one.status // 100, "no answer"))
        for one in answers
    ]
    figure, axes = strips(pieces, title, "seconds", pad=20)
    for at, what in marks:
        axes.axvline(at, color=INK, linestyle="--", linewidth=1.4)
        axes.text(at, -0.68, what, ha="center", fontsize=9, color=INK)
    runs = groupby(answers, key=lambda one: (one.request, one.status))
    told = [
        f"{request} {status or 'nothing'} from {next(run).at:.1f} s"
        for (request, status), run in runs
    ]
    told += [f"{what} at {at:.1f} s" for at, what in marks]
    return picture(figure, f"Time line, {title}: {'; '.join(told)}.")


def _verdict(definition: Span, pieces: Sequence[Span], size: int) -> str:
    if any(one.start <= definition.start and definition.end <= one.end for one in pieces):
        return "whole"
    return "larger than a piece" if definition.end - definition.start > size else "torn"
