"""Figures of a text and its chunks: where it was cut, what neighbours share, what a piece holds."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import accumulate, pairwise

from course_lib.records import Span
from course_lib.teaching.lab.figures.base import INK, PAPER, Figure, boxed, colour

MOST = 3_000
"""Characters of a text that a figure shows without being asked for more."""

PRE = f"color: {INK}; background-color: {PAPER}; margin: 0px; "
TEXT = (
    # nbconvert breaks lines within words, which would look like cuts.
    f"{PRE}white-space: pre-wrap; word-break: normal; overflow-wrap: break-word; "
    "font-size: 13px; line-height: 1.7; max-height: 420px; overflow-y: auto"
)
CODE = f"{PRE}white-space: pre; overflow-x: auto; font-size: 12px; line-height: 1.4"
MARK = f"color: {INK}; background-color: #f0e442; font-weight: bold"
BAD = "background-color: #d55e00; color: #ffffff; font-weight: bold"
GOOD = "background-color: #cfe8de; color: #00543d"
TINTS = ("#dcecf8", "#fdeccb")
SHARED = "background-color: #c9b6dc; border-bottom: 2px dotted #3b1d57"
BADGE = f"background-color: {INK}; color: #ffffff; font-size: 10px; padding: 0px 4px"


def cuts(text: str, chunks: Sequence[str], *, first: int = 0, most: int = MOST) -> Figure:
    """Draw each cut over the text: scissors on red where it goes through a word, a bar elsewhere.

    Parameters
    ----------
    text
        The whole text.
    chunks
        Its pieces in their order, side by side.
    first
        The first character to show.
    most
        Characters to show. The others are left out, and their cuts are counted all the same.

    Returns
    -------
    Figure
    """
    places = list(accumulate(map(len, chunks[:-1])))
    last = min(len(text), first + most)
    parts = [f"<b>{first:,} characters before …</b>\n"] if first else []
    for begin, end in pairwise([first, *(at for at in places if first < at < last), last]):
        parts += [escape(text[begin:end]), _sign(text, end) if end < last else ""]
    through = sum(_is_through_word(text, at) for at in places)
    verdict = f"{through} of {len(places)} cuts go through a word"
    legend = (
        f'<span style="{BAD}">✂</span> through a word &nbsp; '
        f'<span style="{GOOD}">┃</span> between words &nbsp; <b>{verdict}</b>'
    )
    return _under_legend(legend, [*parts, _rest(text, last)], f"The text with its cuts: {verdict}.")


def spans(text: str, spans: Sequence[Span], *, most: int = MOST) -> Figure:
    """Colour the chunks over the text, in two tints by turns, and mark what neighbours share.

    Parameters
    ----------
    text
        The whole text.
    spans
        Its chunks. What is in more than one is violet with a dotted line below.
    most
        Characters to show.
    """
    points = sorted({0, min(len(text), most)} | {p for s in spans for p in s[:2] if p < most})
    starts = {span.start: index for index, span in reversed(list(enumerate(spans)))}
    parts = []
    for begin, end in pairwise(points):
        if begin in starts:
            parts.append(f'<span style="{BADGE}">{starts[begin] + 1}</span>')
        covering = [i for i, span in enumerate(spans) if span.start <= begin < span.end]
        tint = SHARED if len(covering) > 1 else f"background-color: {TINTS[sum(covering) % 2]}"
        piece = escape(text[begin:end])  # what is in no chunk is lost
        parts.append(f'<span style="{tint}">{piece}</span>' if covering else f"<s>{piece}</s>")
    sizes = [len(span.text) for span in spans]
    shared = [left.end - right.start for left, right in pairwise(spans)] or [0]
    share = " to ".join(map(str, sorted({min(shared), max(shared)})))
    caption = (
        f"{len(spans)} chunks of {min(sizes)} to {max(sizes)} characters; "
        f"neighbours share {share} characters"
    )
    legend = (
        f'<span style="{BADGE}">1</span> a chunk begins &nbsp; '
        f'<span style="{SHARED}">in more than one chunk</span> &nbsp; <b>{caption}</b>'
    )
    alt = f"The text with its chunks coloured in: {caption}."
    return _under_legend(legend, [*parts, _rest(text, most)], alt)


def pieces(labelled: Sequence[tuple[str, str]], *, mark: str = "") -> Figure:
    """Show pieces of a text under their labels, folded, those with a marked phrase open.

    Parameters
    ----------
    labelled
        Label and text of each piece; pieces with the same label have the same colour.
    mark
        A phrase. The pieces that hold it are open, and it is marked in them.
    """
    colours = {label: colour(at) for at, label in enumerate(dict(labelled))}
    parts = []
    for label, text in labelled:
        shown = escape(text.strip("\n"))
        if is_open := bool(mark) and mark in text:
            shown = shown.replace(escape(mark), f'<span style="{MARK}">{escape(mark)}</span>')
        parts.append(
            f'<details{" open" if is_open else ""} style="border-left: 5px solid {colours[label]}; '
            f'padding-left: 8px; margin: 3px 0px"><summary style="color: {INK}; font-size: 12px">'
            f"<b>{escape(label)}</b> {len(text):,} characters</summary>"
            f'<pre style="{CODE}">{shown}</pre></details>'
        )
    opened = [label for label, text in labelled if mark and mark in text]
    told = f"{len(labelled)} pieces: {', '.join(label for label, _ in labelled)}"
    told += f". {mark!r} is in {', '.join(opened) or 'none of them'}" if mark else ""
    return boxed("".join(parts), f"{told}.", caption="Click a label to unfold its piece.")


def _is_through_word(text: str, at: int) -> bool:
    """Tell whether a cut at this offset has letters or digits on both sides."""
    return text[at - 1].isalnum() and text[at].isalnum()


def _sign(text: str, at: int) -> str:
    style, sign = (BAD, "✂") if _is_through_word(text, at) else (GOOD, "┃")
    return f'<span style="{style}">{sign}</span>'


def _under_legend(legend: str, parts: Sequence[str], alt: str) -> Figure:
    head = f'<p style="font-size: 12px; margin: 0px 0px 6px 0px; color: {INK}">{legend}</p>'
    return boxed(f'{head}<pre style="{TEXT}">{"".join(parts)}</pre>', alt)


def _rest(text: str, most: int) -> str:
    left = len(text) - most
    return f"\n<b>… and {left:,} characters more</b>" if left > 0 else ""
