"""Figures of source code: which definitions a splitter leaves whole, and which it tears."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from course_lib.errors import InputError
from course_lib.records import Span
from course_lib.teaching.lab.figures.base import INK, Figure, about, picture
from course_lib.teaching.lab.figures.strips import Look, Strip, strips

WHOLE = Look("#009e73", "", "whole")
TORN = Look("#d55e00", "////", "torn")
LARGE = Look("#bbbbbb", "....", "larger than a piece")


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
        Above the chart.
    size
        Characters of the largest piece; a definition longer than that cannot be whole.
    """
    if not definitions or not splits:
        raise InputError("There are no definitions or no pieces to draw")
    strip_of, cuts, told = [], [], []
    for row, (splitter, pieces) in enumerate(splits.items()):
        verdicts = {name: _verdict(span, pieces, size) for name, span in definitions}
        strip_of += [
            Strip(row, span.start, span.end - span.start, verdicts[name])
            for name, span in definitions
        ]
        # Pieces may overlap: one that ends inside a definition which another holds cuts nothing.
        cut = [span for name, span in definitions if verdicts[name] != WHOLE]
        ends = [piece.end for piece in pieces]
        cuts += [(row, at) for at in ends if any(span.start < at < span.end for span in cut)]
        broken = [name for name, verdict in verdicts.items() if verdict == TORN]
        large = [name for name, verdict in verdicts.items() if verdict == LARGE]
        told.append(
            f"{splitter} tears {len(broken)} of {len(definitions)} definitions"
            + (f" ({', '.join(broken)})" if broken else "")
            + (f"; too large for a piece: {', '.join(large)}" if large else "")
        )
    figure, axes = strips([*splits], strip_of)
    for row, at in cuts:
        axes.vlines(at, row - 0.4, row + 0.4, color=INK, linewidth=1.6)
    for name, span in definitions:
        axes.text((span.start + span.end) / 2, -0.62, name, rotation=28, fontsize=9, color=INK)
    axes.set_xlim(0, max(span.end for _, span in definitions))
    axes.set_xlabel(
        "characters from the start of the file; a black line is a cut through a definition"
    )
    axes.set_title(title, loc="left", pad=46)
    return picture(figure, f"Strips{about(title)}: {'. '.join(told)}.")


def _verdict(definition: Span, pieces: Sequence[Span], size: int) -> Look:
    if any(one.start <= definition.start and definition.end <= one.end for one in pieces):
        return WHOLE
    return LARGE if definition.end - definition.start > size else TORN
