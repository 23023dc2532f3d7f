"""Lab 01, where to cut: the recursive splitter in three steps, and a proof of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from course_lib.records import Span
from course_lib.teaching.checks.probe import Case, Probe, exercise

LIBRARY = "course_lib.loader.recursive"

PROSE = (
    "# Deployments\n\nA model that nobody can roll back is one that nobody dares to replace. "
    "Keep the last three versions. Label them.\n\n"
    "Watch what it says\nas much as whether it answers. "
    "Drift is silent: every request returns 200, and the numbers are wrong.\n\n"
    "- data\n- code\n- model\n\n"
) * 3
WINDOWS = PROSE.replace("\n", "\r\n")
PERIODIC = "ab" * 150


@exercise(
    "1.1",
    function="find_cut",
    points=3,
    library=LIBRARY,
    time_limit=2,
    hints=(
        "Go through the separators in their order and stop at the first one that has a boundary "
        "within reach. `str.rfind(separator, from, to)` finds the last one between two offsets.",
        "`rfind` returns where the separator begins, or -1; the chunk ends behind it, at "
        "`at + len(separator)`. `rfind(…, limit)` already leaves out what reaches beyond `limit`.",
        "The cut has to be larger than `floor`: search from `floor + 1 - len(separator)`, and "
        "never from before `start`. After the loop, `return limit`.",
    ),
)
def check_find_cut(call: Probe) -> None:
    """Take one case a rule: strongest first, last of its kind, wholly within, behind the floor."""
    call("ab cd. ef gh", 0, 8).gives(
        7, because="'. ' is the strongest boundary within reach, and it stays with its chunk"
    )
    call("abcdefghij", 0, 8).gives(8, because="without a boundary the cut is at the limit")
    call("a b c d e", 0, 6).gives(6, because="among equals the last one that fits is taken")
    call("one.\n\ntwo. three four", 0, 18).gives(
        6, because="a blank line is stronger than '. ' and ' ', however far back it lies"
    )
    call("abc. def", 0, 4).gives(4, because="'. ' ends at 5, which lies behind the limit")
    call("ab cd. ef gh ij", 7, 13).gives(
        13, because="the separator has to begin at start or later; a cut at start is an empty chunk"
    )
    call("x. abcdefghij", 3, 10).gives(10, because="what lies before start is another chunk's")
    call(" abcdefgh", 0, 5).gives(1, because="a boundary at offset 0 is one, too")
    call("ab cdefghij", 0, 8, 2).gives(3, because="3 lies behind floor=2")
    call("ab cdefghij", 0, 8, 3).gives(8, because="the cut has to lie behind floor=3, not at it")
    call("a,b;c,d", 0, 6, 0, (";", ",")).gives(4, because="the separators are the caller's")
    call("abcdefgh", 0, 4, 0, (" ",)).gives(4, because="the limit holds without '' in the list")
    call("ab--cdefgh", 0, 8, 3, ("--",)).gives(
        4, because="'--' begins before floor=3, but the cut, at its end, lies behind it"
    )


@exercise(
    "1.2",
    function="next_start",
    points=2,
    library=LIBRARY,
    time_limit=2,
    hints=(
        "The overlap is counted backwards from `end`: `end - chunk_overlap`.",
        "`keep_crlf(text, offset)` moves an offset out of a CRLF pair: pass the start through it.",
        "With `snap_to_words`, look at each offset from the start up to `end`: a word begins where "
        "the character before is white space (`str.isspace`) and the character itself is not. "
        "Return the first such offset, and the plain start if there is none.",
    ),
)
def check_next_start(call: Probe) -> None:
    """Look at the plain overlap, the CRLF pair and the word's start."""
    quick = "the quick brown fox"
    call("abcdefghij", 8, 3).gives(5, because="three characters are shared: offsets 5, 6 and 7")
    call("abcdefghij", 4, 0).gives(4, because="no overlap: it begins where the last one ended")
    call(quick, 16, 8).gives(8, because="words count only with snap_to_words=True")
    call("ab\r\ncdef", 6, 3).gives(4, because="offset 3 lies inside a CRLF pair")
    call(quick, 16, 8, snap_to_words=True).gives(
        10, because="'brown' is the first word that begins within the overlap"
    )
    call("ab cd ef", 6, 3, snap_to_words=True).gives(3, because="a word begins right there")
    call("one\ntwo three", 8, 6, snap_to_words=True).gives(
        4, because="a line end separates words as a space does"
    )
    call("abcdefghij", 8, 3, snap_to_words=True).gives(
        5, because="no word begins within the overlap, so it stays as it is"
    )


@exercise(
    "1.3",
    function="split_text",
    points=3,
    library=LIBRARY,
    waits_for=("1.1", "1.2"),
    time_limit=3,
    hints=(
        "Keep one number, `start`. Each turn finds the end of its chunk with `find_cut`, appends a "
        "`Span`, and sets `start` to `next_start(…)`.",
        "When `start + chunk_size` reaches the end of the text, the chunk ends there and the loop "
        "is over. If it does not stop there, the last overlap is cut again and again.",
        "The floor is what guarantees progress: `find_cut(text, start, start + chunk_size, "
        "start + chunk_overlap, separators)` ends far enough for the next chunk to start later "
        "than this one.",
        "A cut inside a CRLF pair: `keep_crlf(text, end) > end` tells. Move it by one, forward "
        "where the limit allows it, else backward; but never back to the floor, or the next chunk "
        "does not get ahead.",
    ),
)
def check_split_text(call: Probe) -> None:
    """Begin by hand, go on with the laws on prose, CRLF and periodic text, end with wrong sizes."""
    call("ab cd. ef gh", chunk_size=8, chunk_overlap=0).gives(
        [Span(0, 7, "ab cd. "), Span(7, 12, "ef gh")], because="it is the example worked by hand"
    )
    call("ab cd. ef gh", chunk_size=8, chunk_overlap=3).gives(
        [Span(0, 7, "ab cd. "), Span(4, 12, "d. ef gh")],
        because="the second chunk begins three characters before the end of the first",
    )
    call("", chunk_size=8, chunk_overlap=0).gives([], because="an empty text has no chunks")
    call("short").gives([Span(0, 5, "short")], because="a text that fits is one chunk")
    call("a;b,c,d", 4, 0, (";", ",")).gives(
        [Span(0, 2, "a;"), Span(2, 6, "b,c,"), Span(6, 7, "d")],
        because="the separators are the caller's",
    )
    call("the quick brown fox jumps", 16, 8, snap_to_words=True).gives(
        [Span(0, 16, "the quick brown "), Span(10, 25, "brown fox jumps")],
        because="with snap_to_words the overlap begins with a word",
    )
    for text, size, overlap in (
        (PROSE, 120, 0),
        (PROSE, 120, 30),
        (PROSE, 7, 6),
        (PERIODIC, 50, 10),
        (WINDOWS, 60, 20),
        (WINDOWS, 5, 2),
        (WINDOWS, 4, 2),
        (WINDOWS, 7, 6),
    ):
        case = call(text, chunk_size=size, chunk_overlap=overlap)
        keeps_the_laws(case, text, size, overlap)
    case = call(PROSE, chunk_size=120, chunk_overlap=10)
    spans = case.returns(list[Span])
    case.holds(
        PROSE[: spans[0].end].endswith("\n\n"),
        "the first chunk ends at a blank line, the strongest boundary within reach",
        got=f"it ends with {spans[0].text[-12:]!r}",
    )
    call("text", chunk_size=0).raises(ValueError, mentions="chunk_size")
    call("text", chunk_size=4, chunk_overlap=4).raises(
        ValueError, mentions="chunk_overlap", because="the next chunk would never get ahead"
    )
    call("text", chunk_size=4, chunk_overlap=-1).raises(ValueError, mentions="chunk_overlap")
    call(None).raises(TypeError, mentions="text")


@exercise(
    "1.4",
    function="lossless",
    points=2,
    time_limit=2,
    hints=(
        "Two things have to hold: each span says the truth about its place, and no character of "
        "the text is left out.",
        "The truth: `text[span.start:span.end] == span.text`, for all spans.",
        "Nothing left out: remember how far the text is covered, from 0 on. A span that starts "
        "behind that leaves a gap; otherwise it covers up to its end. At the end that has to be "
        "`len(text)`.",
    ),
)
def check_lossless(call: Probe) -> None:
    """Expect True for what covers the text, False for each way of losing some of it."""
    text = "ab cd. ef gh"
    head, tail = Span(0, 7, "ab cd. "), Span(7, 12, "ef gh")
    call(text, [head, tail]).gives(True, because="both spans together are the text")
    call(text, [head, Span(4, 12, "d. ef gh")]).gives(True, because="overlap loses nothing")
    call("", []).gives(True, because="there is nothing to lose")
    call(text, []).gives(False, because="no span, but a text")
    call(text, [head]).gives(False, because="the end of the text is missing")
    call(text, [tail]).gives(False, because="the beginning of the text is missing")
    call(text, [Span(0, 3, "ab "), Span(4, 12, "d. ef gh")]).gives(
        False, because="offset 3 lies in no span"
    )
    call(text, [Span(0, 7, "ab cd."), tail]).gives(
        False, because="the span's text is not what stands at its offsets: a space was stripped"
    )
    call("abab", [Span(0, 2, "ab"), Span(0, 2, "ab")]).gives(
        False, because="the texts add up, but the second half of the text is in no span"
    )


def keeps_the_laws(case: Case, text: str, chunk_size: int, chunk_overlap: int) -> None:
    """Expect of a split what holds for every text.

    Parameters
    ----------
    case
        The call, which returned the spans.
    text, chunk_size, chunk_overlap
        What it was called with.
    """
    spans: list[Span] = case.returns(list[Span])
    for index, span in enumerate(spans):
        found = f"span {index} is {span.start}:{span.end} with {len(span.text)} characters"
        case.holds(
            text[span.start : span.end] == span.text,
            "text[span.start:span.end] == span.text for every span",
            got=f"span {index} says {span.text[:30]!r} at {span.start}:{span.end}, "
            f"where the text is {text[span.start : span.end][:30]!r}",
        )
        case.holds(len(span.text) <= chunk_size, f"no span longer than {chunk_size}", got=found)
    case.holds(
        bool(spans) and spans[0].start == 0 and spans[-1].end == len(text),
        f"the first span starts at 0 and the last ends at {len(text)}",
        got=_outline(spans),
    )
    for left, right in pairwise(spans):
        pair = f"{left.start}:{left.end} followed by {right.start}:{right.end}"
        case.holds(
            left.start < right.start and left.end < right.end,
            "starts and ends strictly increase",
            got=pair,
        )
        fewer = text[right.start - 2 : right.start] == "\r\n"
        case.holds(
            left.end - right.start
            in ((chunk_overlap, chunk_overlap - 1) if fewer else (chunk_overlap,)),
            f"neighbours share exactly {chunk_overlap} characters",
            got=f"{pair}, which share {left.end - right.start}",
        )
        case.holds(
            chunk_size - chunk_overlap < 3 or not _inside_crlf(text, left.end),
            "no cut between \\r and \\n",
            got=f"a span that ends at {left.end}, between them",
        )


def _inside_crlf(text: str, offset: int) -> bool:
    return text[offset - 1 : offset + 1] == "\r\n"


def _outline(spans: Sequence[Span]) -> str:
    if not spans:
        return "no spans"
    return f"{len(spans)} spans, from {spans[0].start} to {spans[-1].end}"
