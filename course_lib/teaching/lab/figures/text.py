"""Figures of a text and its chunks: where it was cut, and what neighbours share."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise

from course_lib.errors import InputError
from course_lib.records import Span
from course_lib.teaching.lab.figures.base import INK, Figure, boxed

MOST = 3_000
"""Characters of a text that a figure shows without being asked for more."""

PRE = (
    # nbconvert breaks lines within words, which would look like cuts.
    "white-space: pre-wrap; word-break: normal; overflow-wrap: break-word; "
    f"color: {INK}; background-color: #ffffff; font-size: 13px; "
    "line-height: 1.7; max-height: 420px; overflow-y: auto; margin: 0px"
)
BAD = "background-color: #d55e00; color: #ffffff; font-weight: bold"
GOOD = "background-color: #cfe8de; color: #00543d"
TINTS = ("#dcecf8", "#fdeccb")
SHARED = "background-color: #c9b6dc; border-bottom: 2px dotted #3b1d57"
BADGE = f"background-color: {INK}; color: #ffffff; font-size: 10px; padding: 0px 4px"


def cuts(
    text: str, chunks: Sequence[str] | Sequence[Span], *, first: int = 0, most: int = MOST
) -> Figure:
    """Draw each cut over the text: scissors on red where it goes through a word, a bar elsewhere.

    Parameters
    ----------
    text
        The whole text.
    chunks
        Its pieces in their order, as strings or as spans.
    first
        The first character to show.
    most
        Characters to show. The others are left out, and their cuts are counted all the same.

    Returns
    -------
    Figure
    """
    places = sorted({span.end for span in located(text, chunks)} - {len(text)})
    through = [at for at in places if through_word(text, at)]
    last = min(len(text), first + most)
    parts = [f"<b>{first:,} characters before …</b>\n"] if first else []
    for begin, end in pairwise([first, *(at for at in places if first < at < last), last]):
        parts.append(escape(text[begin:end]))
        if end in places and end < last:
            bad = through_word(text, end)
            parts.append(f'<span style="{BAD if bad else GOOD}">{"✂" if bad else "┃"}</span>')
    verdict = f"{len(through)} of {len(places)} cuts go through a word"
    legend = (
        f'<span style="{BAD}">✂</span> through a word &nbsp; '
        f'<span style="{GOOD}">┃</span> between words &nbsp; <b>{verdict}</b>'
    )
    alt = f"The text with {len(places)} cuts drawn in: {verdict}."
    return _under_legend(legend, [*parts, _rest(text, last)], alt)


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
        parts.append(_tinted(text[begin:end], covering))
    sizes = [len(span.text) for span in spans]
    overlaps = [left.end - right.start for left, right in pairwise(spans)]
    caption = f"{len(spans)} chunks"
    if sizes:
        caption += f" of {min(sizes)} to {max(sizes)} characters"
    if overlaps:
        least, largest = min(overlaps), max(overlaps)
        shared = str(least) if least == largest else f"{least} to {largest}"
        caption += f"; neighbours share {shared} characters"
    legend = (
        f'<span style="{BADGE}">1</span> a chunk begins &nbsp; '
        f'<span style="{SHARED}">in more than one chunk</span> &nbsp; <b>{escape(caption)}</b>'
    )
    alt = f"The text with its chunks coloured in: {caption}."
    return _under_legend(legend, [*parts, _rest(text, most)], alt)


def located(text: str, chunks: Sequence[str] | Sequence[Span]) -> list[Span]:
    """Return chunks as spans; strings are looked up in the text, each after the start of the last.

    Raises
    ------
    InputError
        If a chunk is not part of the text.

    Examples
    --------
    >>> [span.start for span in located("ab ab cd", ["ab ", "ab ", "cd"])]
    [0, 3, 6]
    """
    found: list[Span] = []
    for chunk in chunks:
        if isinstance(chunk, Span):
            found.append(chunk)
            continue
        start, end = (found[-1].start + 1, found[-1].end) if found else (0, 0)
        at = end if text.startswith(chunk, end) else text.find(chunk, start)
        if at < 0:
            raise InputError(
                f"The chunk {chunk[:40]!r} is not in the text",
                hint="Something in it was changed, perhaps white space at its ends.",
            )
        found.append(Span(at, at + len(chunk), chunk))
    return found


def through_word(text: str, at: int) -> bool:
    """Tell whether a cut at this offset has letters or digits on both sides.

    Examples
    --------
    >>> through_word("ab cd", 1), through_word("ab cd", 2)
    (True, False)
    """
    return 0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum()


def _under_legend(legend: str, parts: Sequence[str], alt: str) -> Figure:
    head = f'<p style="font-size: 12px; margin: 0px 0px 6px 0px; color: {INK}">{legend}</p>'
    return boxed(f'{head}<pre style="{PRE}">{"".join(parts)}</pre>', alt)


def _tinted(piece: str, covering: list[int]) -> str:
    if len(covering) > 1:
        style = SHARED
    elif covering:
        style = f"background-color: {TINTS[covering[0] % 2]}"
    else:
        return f"<s>{escape(piece)}</s>"  # in no chunk: lost
    return f'<span style="{style}">{escape(piece)}</span>'


def _rest(text: str, most: int) -> str:
    left = len(text) - most
    return f"\n<b>… and {left:,} characters more</b>" if left > 0 else ""
