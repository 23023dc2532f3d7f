"""Figures of source code: which definitions a splitter leaves whole, and which it tears."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from course_lib.errors import InputError
from course_lib.records import Span
from course_lib.teaching.lab.figures.base import INK, Figure, chart, picture

WHOLE, TORN, LARGE = "whole", "torn", "larger than a piece"
LOOKS = {WHOLE: ("#009e73", ""), TORN: ("#d55e00", "////"), LARGE: ("#bbbbbb", "....")}
"""Verdict → colour and hatching."""


def torn(
    definitions: Sequence[tuple[str, Span]],
    splits: Mapping[str, Sequence[Span]],
    title: str = "",
    *,
    size: int = 512,
) -> Figure:
    """Draw a file's definitions as bars, a strip a splitter; black lines are where pieces begin.

    Parameters
    ----------
    definitions
        Name and place of each, side by side. One is whole if it lies in a single piece.
    splits
        Splitter → its pieces: anything with `start` and `end`, in characters.
    title
        Above the chart.
    size
        Characters of the largest piece; a definition longer than that cannot be whole.
    """
    if not definitions or not splits:
        raise InputError("There are no definitions or no pieces to draw")
    figure, axes = chart(7.6, 1.9 + 0.55 * len(splits))
    told = []
    for row, (splitter, pieces) in enumerate(splits.items()):
        verdicts = {name: _verdict(span, pieces, size) for name, span in definitions}
        for name, span in definitions:
            colour, hatch = LOOKS[verdicts[name]]
            axes.barh(
                row, span.end - span.start, left=span.start, height=0.5, color=colour,
                hatch=hatch, edgecolor="white",
            )  # fmt: skip
        cuts = sorted({piece.start for piece in pieces} - {0})
        axes.vlines(cuts, row - 0.4, row + 0.4, color=INK, linewidth=1.6)
        broken = [name for name, verdict in verdicts.items() if verdict == TORN]
        large = [name for name, verdict in verdicts.items() if verdict == LARGE]
        told.append(
            f"{splitter} tears {len(broken)} of {len(definitions)} definitions"
            + (f" ({', '.join(broken)})" if broken else "")
            + (f"; too large for a piece: {', '.join(large)}" if large else "")
        )
    for name, span in definitions:
        middle = (span.start + span.end) / 2
        axes.text(middle, -0.62, name, rotation=28, fontsize=8, color=INK)
    for verdict, (colour, hatch) in LOOKS.items():
        axes.bar(0, 0, color=colour, hatch=hatch, edgecolor="white", label=verdict)
    axes.plot([], [], color=INK, linewidth=1.6, label="a piece begins")
    axes.set_yticks(range(len(splits)), list(splits))
    axes.set_ylim(len(splits) - 0.4, -0.6)
    axes.set_xlim(0, max(span.end for _, span in definitions))
    axes.set_xlabel("characters from the start of the file")
    axes.legend(ncols=4, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.32))
    axes.set_title(title, loc="left", pad=46)
    about = f" of {title}" if title else ""
    return picture(figure, f"Strips{about}: {'. '.join(told)}.")


def _verdict(definition: Span, pieces: Sequence[Span], size: int) -> str:
    if any(one.start <= definition.start and definition.end <= one.end for one in pieces):
        return WHOLE
    return LARGE if definition.end - definition.start > size else TORN
