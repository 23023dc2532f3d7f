"""The recursive splitter: a text goes in, overlapping spans that fit a size come out.

"Recursive" names the idea: a weaker separator is tried where no stronger one is in reach. The
function itself is a loop on offsets: `str.rfind` looks backwards in a window for the strongest
boundary, and nothing is copied until a span is cut out. Every character of the text is in some
span, and neighbouring spans share the overlap that was asked for, or a little less: see
`next_start`. Twice the text takes twice the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from course_lib.records import Span
from course_lib.settings import CHUNK_OVERLAP, CHUNK_SIZE

SEPARATORS = ("\n\n", "\n", ". ", " ", "")
"""Boundaries from the strongest to the weakest; the empty one cuts anywhere.

If you change them, change the version of the parsers of prose, too: then indexed files are
split again.
"""


def find_cut(
    text: str, start: int, limit: int, floor: int = 0, separators: Sequence[str] = SEPARATORS
) -> int:
    """Return where the chunk that begins at `start` ends.

    A separator counts if

    - it begins at `start` or later,
    - it ends after `floor`, and
    - it ends at `limit` or before.

    1. Cut after the strongest separator that counts.
    2. If it occurs several times, take the last.
    3. If none counts, cut at `limit`.

    Parameters
    ----------
    text
        The whole text.
    start
        Offset of the chunk's first character.
    limit
        Largest offset at which the chunk may end.
    floor
        Only cuts after this offset count.
    separators
        From the strongest to the weakest. An empty string is everywhere in the text, also at its
        end.

    Examples
    --------
    >>> find_cut("ab cd. ef gh", 0, 8)
    7
    >>> find_cut("abcdefghij", 0, 8)
    8
    """
    for separator in separators:
        width = len(separator)
        # The end of what is found, at + width, has to come after the floor.
        at = text.rfind(separator, max(start, floor + 1 - width), limit)
        if at >= 0:
            return at + width
    return limit


def next_start(text: str, end: int, chunk_overlap: int, *, snap_to_words: bool = False) -> int:
    r"""Return where the chunk after the one that ends at `end` begins.

    That is `chunk_overlap` characters before `end`. With `snap_to_words`, it is the first place in
    the overlap at which a word starts; the first character of the overlap can be this place. Where
    no word starts in the overlap, `snap_to_words` changes nothing. A word starts where white space
    is followed by something else.

    Examples
    --------
    >>> text = "the quick brown fox"
    >>> text[next_start(text, 16, 8):16]
    'k brown '
    >>> text[next_start(text, 16, 8, snap_to_words=True):16]
    'brown '
    """
    start = end - chunk_overlap
    if snap_to_words:
        for at in range(max(start, 1), end):
            if text[at - 1].isspace() and not text[at].isspace():
                return at
    return start


def split_text(
    text: str,
    chunk_size: int = CHUNK_SIZE,
    chunk_overlap: int = CHUNK_OVERLAP,
    separators: Sequence[str] = SEPARATORS,
    *,
    snap_to_words: bool = False,
) -> list[Span]:
    """Split a text at its strongest boundaries into overlapping spans.

    Parameters
    ----------
    text
        What to split; an empty text gives no spans.
    chunk_size
        Most characters in a span.
    chunk_overlap
        How many characters neighbouring spans share.
    separators
        From the strongest to the weakest.
    snap_to_words
        Passed on to `next_start`.

    Returns
    -------
    list of Span
        Each with the text at its offsets. Every character of the text is in at least one.

    Raises
    ------
    TypeError, ValueError
        As `check_arguments` does.

    Examples
    --------
    >>> [span.text for span in split_text("ab cd. ef gh", chunk_size=8, chunk_overlap=0)]
    ['ab cd. ', 'ef gh']
    >>> [span.text for span in split_text("ab cd. ef gh", chunk_size=8, chunk_overlap=3)]
    ['ab cd. ', 'd. ef gh']
    """
    check_arguments(text, chunk_size, chunk_overlap, separators)
    spans, start = [], 0
    while start + chunk_size < len(text):
        end = find_cut(text, start, start + chunk_size, start + chunk_overlap, separators)
        spans.append(Span(start, end, text[start:end]))
        start = next_start(text, end, chunk_overlap, snap_to_words=snap_to_words)
    if text:
        spans.append(Span(start, len(text), text[start:]))
    return spans


def split_prose(text: str, chunk_size: int, chunk_overlap: int) -> list[Span]:
    r"""Split a text as the parsers do: overlaps begin at words, and CRLF pairs stay whole.

    Examples
    --------
    >>> [span.text for span in split_prose("abcdef\r\ngh", 7, 2)]
    ['abcdef', 'ef\r\ngh']
    """
    spans = keep_crlf(text, split_text(text, chunk_size, chunk_overlap, snap_to_words=True))
    if chunk_size > 1 and any(end - start > chunk_size for start, end, _ in spans):
        # A full chunk got the carriage return of the one before it: leave room for one more.
        smaller = split_text(
            text, chunk_size - 1, min(chunk_overlap, chunk_size - 2), snap_to_words=True
        )
        return keep_crlf(text, smaller)
    return spans


def keep_crlf(text: str, spans: Iterable[Span]) -> list[Span]:
    r"""Return the spans, with no start and no end between the ``\r`` and the ``\n`` of a pair.

    Such an end moves back by one, and the start after it as well, so that the overlap stays as it
    is; that span may become one character longer. Another start in a pair moves forward.

    Parameters
    ----------
    text
        What was split.
    spans
        In order.

    Examples
    --------
    >>> keep_crlf("ab\r\ncd", [Span(0, 3, "ab\r"), Span(3, 6, "\ncd")])
    [Span(start=0, end=2, text='ab'), Span(start=2, end=6, text='\r\ncd')]
    """
    kept, back = [], 0
    for start, end, _ in spans:
        start -= back
        start += in_crlf(text, start)
        back = in_crlf(text, end)
        end -= back
        if start < end:
            kept.append(Span(start, end, text[start:end]))
    return kept


def in_crlf(text: str, offset: int) -> bool:
    r"""Tell whether an offset is between ``\r`` and ``\n``.

    Examples
    --------
    >>> in_crlf("ab\r\ncd", 3)
    True
    """
    return offset > 0 and text[offset - 1 : offset + 1] == "\r\n"


def check_arguments(
    text: object, chunk_size: object, chunk_overlap: object, separators: object = SEPARATORS
) -> None:
    """Refuse what no text can be split with.

    Raises
    ------
    TypeError
        If `text` or a separator is not a string, or a size is not an integer.
    ValueError
        If `chunk_size` is below 1, `chunk_overlap` is negative or not smaller than `chunk_size`.

    Examples
    --------
    >>> check_arguments("", 8, 8)
    Traceback (most recent call last):
    ValueError: chunk_overlap must be between 0 and chunk_size - 1 = 7, not 8
    """
    if not isinstance(text, str):
        raise TypeError(f"text must be a string, not {type(text).__name__}")
    for name, value in (("chunk_size", chunk_size), ("chunk_overlap", chunk_overlap)):
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"{name} must be an integer, not {value!r}")
    assert isinstance(chunk_size, int) and isinstance(chunk_overlap, int)
    if chunk_size < 1:
        raise ValueError(f"chunk_size must be at least 1, not {chunk_size}")
    if not 0 <= chunk_overlap < chunk_size:
        raise ValueError(
            f"chunk_overlap must be between 0 and chunk_size - 1 = {chunk_size - 1}, "
            f"not {chunk_overlap}"
        )
    if not isinstance(separators, (tuple, list)):
        raise TypeError(f"separators must be a tuple or list of strings, not {separators!r}")
    for separator in separators:
        if not isinstance(separator, str):
            raise TypeError(f"separators must hold strings, not {separator!r}")
