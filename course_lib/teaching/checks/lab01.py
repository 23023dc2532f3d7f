"""Lab 01, where to cut: the recursive splitter in three steps, and a proof of it."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

from course_lib.loader.recursive import split_text
from course_lib.records import Span
from course_lib.teaching.checks.drawn import Call, Draws, drawn, given
from course_lib.teaching.checks.probe import Case, Probe, exercise

PROSE = (
    "# Deployments\n\nWatch what it says\nas much as whether it answers. Drift is silent: every "
    "request returns 200.\n\n- data\n- code\n- model\n\nKeep three versions. Label them.\n"
)


SEPARATORS = (";", ",", "--", " ", ". ", "", "\n")


PARTS = ("a", "bc", "def", "ghij", " ", " ", ". ", "\n", "\n\n", ", ", "--", ";")


@drawn(250)
def any_window(random: Draws) -> Call:
    """Draw a window of a text, and at times a floor and other separators."""
    written = random.text() if random.chance(0.3) else "".join(random.choices(PARTS, k=6))
    written += "ab"
    start = random.choice((0, random.randrange(len(written) - 1)))
    limit = min(start + random.randint(1, random.choice((4, 8, 20))), len(written))
    floor = random.choice((0, random.randrange(start, limit), max(limit - 3, start)))
    if random.chance(0.4):
        return given(written, start, limit, floor, tuple(random.some(SEPARATORS)))
    return given(written, start, limit, floor) if floor else given(written, start, limit)


@exercise("1.1", "loader.recursive:find_cut", 3, time_limit=2, draws=any_window)
def check_find_cut(call: Probe) -> None:
    """Test each rule once: strongest first, last of its kind, in reach, after the floor."""
    call.cases(
        (("ab cd. ef gh", 0, 8), 7,
         "'. ' is the strongest separator in reach; it ends at 7 and stays with its chunk"),
        (("ab. cd ef gh", 0, 8), 4,
         "'. ' is stronger than ' ', and it means exactly these two characters"),
        (("abcdefghij", 0, 8), 8, "without a boundary the cut is at the limit"),
        (("a b c d e", 0, 6), 6, "of equal boundaries, the last one that fits counts"),
        (("a\n\n\nbcdef", 0, 6), 4,
         "the last blank line begins at 2; it shares a line end with the one at 1"),
        (("one.\n\ntwo. three four", 0, 18), 6,
         "a blank line is stronger than '. ' and ' ', even if it is far before the limit"),
        (("a\nb. cdefgh", 0, 8), 2, "a line end is stronger than '. '"),
        (("abc. def", 0, 4), 4, "'. ' ends at 5, which is after the limit"),
        (("xx ab cdefghij", 3, 11), 6,
         "the space ends at 6, an offset in the whole text: it is not counted from start"),
        (("ab cd. ef gh ij", 7, 13), 13,
         "the separator must begin at start or later; or the chunk is empty"),
        ((" abcdefgh", 0, 5), 1, "a boundary at offset 0 counts, too"),
        (("ab cdefghij", 0, 8, 2), 3, "3 is after floor=2"),
        (("ab cdefghij", 0, 8, 3), 8, "the cut must be after floor=3, not at it"),
        (("xx ab cdefghij", 3, 11, 5), 6,
         "floor=5 is an offset in the text, like limit: it is not counted from start"),
        (("a\n\nb cdefgh", 0, 9, 4), 5,
         "the blank line ends before floor=4, and the space is the next strongest"),
        (("a,b;c,d", 0, 6, 0, (";", ",")), 4, "the caller gives the separators"),
        (("ab. cdefghij", 3, 9, 0, (". ",)), 9,
         "'. ' begins at 2, which is before start, although it ends after start"),
        (("abcdefgh", 0, 4, 0, (" ",)), 4, "without '' in the list the limit holds, too"),
        (("ab", 0, 8, 0, (";",)), 8,
         "no separator counts, so the cut is at limit, even if the text ends before it"),
        (("ab cdef", 0, 5, 0, ("", " ")), 5,
         "'' cuts at the limit, and here it comes before ' ' in the list"),
        (("ab--cdefgh", 0, 8, 3, ("--",)), 4,
         "'--' begins before floor=3, but the cut, at its end, is after it"),
    )  # fmt: skip


@drawn(250)
def any_end(random: Draws) -> Call:
    """Draw where a chunk ended and an overlap that does not reach the beginning of the text."""
    written = random.text() + random.choice(("(b", "\t\n"))
    end = random.randint(1, len(written))
    overlap = random.choice((0, random.randrange(end), random.randrange(min(end, 8))))
    snaps = {"snap_to_words": True} if random.chance(0.5) else {}
    return given(written, end, overlap, **snaps)


@exercise("1.2", "loader.recursive:next_start", 2, time_limit=2, draws=any_end)
def check_next_start(call: Probe) -> None:
    """Look at the plain overlap and at the start of a word."""
    quick = "the quick brown fox"
    call("abcdefghij", 8, 3).gives(5, because="three characters are shared: offsets 5, 6 and 7")
    call("abcdefghij", 4, 0).gives(4, because="no overlap: it begins where the last one ended")
    call(quick, 16, 8).gives(8, because="words count only with snap_to_words=True")
    call.cases(
        ((quick, 16, 8), 10, "'brown' is the first word that begins in the overlap"),
        (("ab cd ef", 6, 3), 3, "a word begins exactly there"),
        (("one two three four", 14, 10), 4,
         "the overlap begins with the word 'two', so no word is skipped"),
        (("one\ntwo three", 8, 6), 4, "a line end separates words, as a space does"),
        (("the  quick fox", 10, 7), 5,
         "two spaces are before 'quick': a word does not begin with white space"),
        (("ab (cd) ef", 8, 6), 3,
         "a word begins after white space, whatever its first character is"),
        (("abcdefghij", 8, 3), 5, "no word begins in the overlap, so the start does not change"),
        (("ab cd", 3, 2), 1, "the word 'cd' begins at `end`, which is after the overlap"),
        snap_to_words=True,
    )  # fmt: skip


@drawn(150)
def any_split(random: Draws) -> Call:
    """Draw sizes, the wrong ones among them."""
    written = random.text(random.choice((2, 12, 60))) * random.choice((1, 1, 1, 0))
    size = random.randint(1, random.choice((6, 20, 100)))
    if random.chance(0.1):
        return given(written, *random.choice(((0, 0), (-size, 0), (size, size), (size, -1))))
    if random.chance(0.03):
        return given(random.choice((None, size)))
    overlap = random.randrange(size)
    snaps = {"snap_to_words": True} if random.chance(0.4) else {}
    if random.chance(0.4):
        return given(written, size, overlap, tuple(random.some(SEPARATORS)[:3]), **snaps)
    return given(written, size, overlap, **snaps)


@exercise(
    "1.3", "loader.recursive:split_text", 3, waits_for=("1.1", "1.2"), time_limit=3, draws=any_split
)
def check_split_text(call: Probe) -> None:
    """Test each rule on a small text, then many texts, a long one, and wrong arguments."""
    for text in ("first", "second"):
        case = call(text, 8, 0)
        if case.error is None and isinstance(case.value, list) and len(case.value) > 1:
            case.gives(
                [Span(0, len(text), text)],
                because="the text fits, so it is one chunk; chunks of an earlier call are not "
                "among its chunks",
            )
    for text, sizes, spans, because in SPLITS:
        comes_to_an_end(call, text, *sizes, because=because)
        case = call(text, *sizes)
        keeps_the_laws(case, text, sizes[0], sizes[1])
        case.gives(spans, because=because)
    for text, (size, overlap), spans, because in SNAPPED:
        call(text, size, overlap, snap_to_words=True).gives(spans, because=because)
    call("", chunk_size=8, chunk_overlap=0).gives([], because="an empty text has no chunks")
    call("short").gives([Span(0, 5, "short")], because="a text that fits is one chunk")
    random = Random(1)
    texts = ["".join(random.choices("ab. \n", k=random.randrange(14))) for _ in range(300)]
    for text in (*sorted(texts, key=len), *[PROSE] * 6):
        size = random.randint(1, 6 if len(text) < 14 else 60)
        overlap = random.randrange(size)
        keeps_the_laws(call(text, size, overlap), text, size, overlap)
        for snap in (False, True):
            call(text, size, overlap, snap_to_words=snap).gives(
                split_text(text, size, overlap, snap_to_words=snap),
                because="a chunk ends where find_cut says, with the floor at start + chunk_overlap;"
                " the next begins where next_start says",
            )
    is_linear(call)
    for args, wanted, mentions, because in (
        (("", 0, 0), ValueError, "chunk_size", "a size of 0 is wrong even if the text is empty"),
        (("text", 0, 0), ValueError, "chunk_size", "a chunk holds at least one character"),
        (("text", 4, 4), ValueError, "chunk_overlap", "the next chunk would never start later"),
        (("text", 4, -1), ValueError, "chunk_overlap", "the next chunk would leave a gap"),
        ((None,), TypeError, "text", "None is not a text"),
        (("text", 8, 0, (1,)), TypeError, "",
         "the separators are checked, too, and 1 is not a text"),
    ):  # fmt: skip
        call(*args).raises(wanted, mentions=mentions, because=because)


SPLITS: tuple[tuple[str, tuple[Any, ...], list[Span], str], ...] = (
    ("ab cd. e", (8, 0), [Span(0, 8, "ab cd. e")],
     "the whole text fits, so it is one chunk and needs no cut"),
    ("abcdef gh", (6, 0), [Span(0, 6, "abcdef"), Span(6, 9, " gh")],
     "the rest of the text, from 6 on, fits: it is the last chunk and needs no cut"),
    ("ab cd. ef gh", (8, 0), [Span(0, 7, "ab cd. "), Span(7, 12, "ef gh")],
     "the first chunk ends after '. ', the strongest boundary within reach"),
    ("abcdefghij", (6, 2), [Span(0, 6, "abcdef"), Span(4, 10, "efghij")],
     "the second chunk reaches the end of the text, so it is the last one"),
    ("abababab", (4, 2), [Span(0, 4, "abab"), Span(2, 6, "abab"), Span(4, 8, "abab")],
     "work with offsets: the same text occurs in several places"),
    ("ab cdefghij", (8, 3), [Span(0, 8, "ab cdefg"), Span(5, 11, "efghij")],
     "a chunk must end after start + chunk_overlap: if the first ended at 3, the second would "
     "begin at 0 again"),
    ("ab cdefghij", (8, 2), [Span(0, 3, "ab "), Span(1, 9, "b cdefgh"), Span(7, 11, "ghij")],
     "the first chunk ends at 3, which is after start + chunk_overlap = 2"),
    ("a;b,c,d", (4, 0, (";", ",")), [Span(0, 2, "a;"), Span(2, 6, "b,c,"), Span(6, 7, "d")],
     "the caller gives the separators"),
    ("ab cd;ef gh", (4, 0, (";",)),
     [Span(0, 4, "ab c"), Span(4, 6, "d;"), Span(6, 10, "ef g"), Span(10, 11, "h")],
     "';' is the only separator given, so a space is not a boundary"),
    ("Grüße aus Köln", (8, 0), [Span(0, 6, "Grüße "), Span(6, 14, "aus Köln")],
     "sizes and offsets count characters, not bytes of UTF-8"),
    ("ab\r\ncd ef", (5, 0), [Span(0, 4, "ab\r\n"), Span(4, 9, "cd ef")],
     "the text stays as it is: its line ends with CRLF, two characters"),
)  # fmt: skip
"""Text, arguments, spans, and why."""

SNAPPED = (
    ("the quick brown fox jumps", (16, 8),
     [Span(0, 16, "the quick brown "), Span(10, 25, "brown fox jumps")],
     "with snap_to_words the overlap begins with a word"),
    ("ab cd ef gh ij", (7, 4),
     [Span(0, 6, "ab cd "), Span(3, 9, "cd ef "), Span(6, 12, "ef gh "), Span(9, 14, "gh ij")],
     "with snap_to_words every overlap begins with a word, not only the first ones"),
)  # fmt: skip
"""Text, sizes, spans with `snap_to_words`, and why."""


@exercise("1.4", "lossless", 2, time_limit=2)
def check_lossless(call: Probe) -> None:
    """Expect True if the spans cover the text, and False for each way to lose some of it."""
    text = "ab cd. ef gh"
    head, tail = Span(0, 7, "ab cd. "), Span(7, 12, "ef gh")
    call.cases(
        ((text, [head, tail]), True, "both spans together are the text"),
        ((text, [head, Span(4, 12, "d. ef gh")]), True, "overlap loses nothing"),
        (("", []), True, "there is nothing to lose"),
        ((text, []), False, "there is a text, but no span"),
        ((text, [head]), False, "the end of the text is missing"),
        ((text, [tail]), False, "the beginning of the text is missing"),
        ((text, [Span(0, 3, "ab "), Span(4, 12, "d. ef gh")]), False, "offset 3 is in no span"),
        ((text, [Span(0, 2, "ab"), Span(3, 12, "cd. ef gh")]), False,
         "offset 2 is in no span, and a space is a character, too"),
        ((text, [Span(0, 7, "ab cd."), tail]), False,
         "the span's text is not the text at its offsets: a space was stripped"),
        (("abab", [Span(0, 2, "ab"), Span(0, 2, "ab")]), False,
         "joined, the spans look like the text, but its second half is in no span"),
        (("abcd", [Span(0, 2, "cd"), Span(2, 4, "ab")]), False,
         "both texts occur in the text, but not at their offsets"),
        (("abcd", [Span(0, 3, "abc"), Span(1, 2, "b"), Span(3, 4, "d")]), True,
         "a span may be inside another one: the text is still covered up to 3"),
        (("abcd", [Span(0, 4, "abcd"), Span(1, 2, "b")]), True,
         "the last span is inside the first, which covers the text up to 4"),
        (("abcd", [Span(0, 4, "abcd"), Span(1, 2, "x")]), False,
         "the second span's text is wrong, although the first reaches the end"),
    )  # fmt: skip


def keeps_the_laws(case: Case, text: str, size: int, overlap: int) -> None:
    """Expect of a split what is true for every text.

    Parameters
    ----------
    case
        The call, which returned the spans.
    text, size, overlap
        What it was called with.
    """
    spans: list[Span] = case.returns(list[Span])
    for span in spans:
        there = text[span.start : span.end]
        case.holds(
            there == span.text,
            f"text[{span.start}:{span.end}], which is {there!r}",
            got=repr(span),
            because="a span's text is the text at its offsets: do not strip it, change it "
            "or search for it",
        )
        case.holds(len(there) <= size, f"at most {size} characters", got=repr(span))
    for left, right in pairwise(spans):
        case.holds(
            left.start < right.start and left.end < right.end or left.end == len(text),
            "a second span that begins and ends after the first",
            got=f"{left} followed by {right}",
            because="work with offsets: the same text may occur in several places",
        )
    begin, end = (spans[0].start, spans[-1].end) if spans else (0, 0)
    case.holds(
        end <= len(text), f"a last span that ends at {len(text)}", got=f"it ends at {end}: {spans}",
        because=f"the text has {len(text)} characters; the rest that fits is the last span",
    )  # fmt: skip
    case.holds(
        begin == 0 and end == len(text),
        f"spans from 0 to {len(text)}",
        got=f"spans from {begin} to {end}: {spans}",
        because="the beginning of the text is lost" if begin else "the end of the text is lost",
    )
    for left, right in pairwise(spans):
        pair = f"{left} followed by {right}"
        case.holds(
            left.end < len(text), f"{left} as the last span", got=pair,
            because="it reaches the end of the text, so there is nothing left to cut",
        )  # fmt: skip
        case.holds(left.end >= right.start, "no gap", got=pair, because="characters are lost")
        case.holds(
            left.end - right.start == overlap,
            f"{overlap} shared characters",
            got=f"{pair}, which share {left.end - right.start}",
            because=f"the next chunk begins at {left.end} - {overlap}",
        )


def comes_to_an_end(call: Probe, text: str, *sizes: Any, because: str) -> None:
    """Expect that a split comes to an end; an endless loop that copies is stopped soon.

    Parameters
    ----------
    call
        The learner's function.
    text, sizes
        What to call it with.
    because
        Why a wrong one would not end.
    """
    case = call(counted(text, 20 * len(text) ** 2), *sizes)
    if isinstance(case.error, CopiedTooMuch):
        call.fail(
            case.label, got="chunks again and again, until it was stopped", expected="an end",
            because=because,
        )  # fmt: skip


def is_linear(call: Probe) -> None:
    """Expect that a long text needs neither recursion nor copies of its rest.

    Parameters
    ----------
    call
        The learner's function.
    """
    text, times = "ab cd. ", 5_000
    length = len(text) * times
    most = 50 * length
    called = f"split_text({text!r} * {times:_}, 8, 0)"
    case = call(counted(text * times, most), 8, 0)
    if isinstance(case.error, CopiedTooMuch):
        call.fail(
            called,
            got=f"copies of more than {most:,} characters in all",
            expected=f"copies of about {length:,}, the length of the text",
            because="if each cut copies the rest of the text, twice the text is four times the "
            "work: keep the text whole and work with offsets",
        )
    if isinstance(case.error, RecursionError):
        call.fail(
            called, got=f"RecursionError: {case.error}", expected=f"{times:,} spans",
            because="a text has more chunks than Python allows calls within calls: use a loop",
        )  # fmt: skip
    case.label = called
    found = [(span.start, span.end) for span in case.value]
    case.holds(
        found == [(at, at + 7) for at in range(0, length, 7)],
        f"{times:,} spans of 7 characters",
        got=f"{len(found):,} spans",
    )


class CopiedTooMuch(Exception):
    """More was copied out of a text than a splitter needs."""


class Counted(str):
    """A text that counts what is copied out of it, and out of the copies; see `counted`."""

    left: list[int]

    def __getitem__(self, key: Any) -> Counted:
        part = Counted(super().__getitem__(key))
        part.left = self.left
        self.left[0] -= len(part) + 1
        if self.left[0] < 0:
            raise CopiedTooMuch
        return part


def counted(text: str, most: int) -> Counted:
    """Return a text that raises `CopiedTooMuch` once more characters have been copied.

    Parameters
    ----------
    text
        The text.
    most
        How many characters.
    """
    copy = Counted(text)
    copy.left = [most]
    return copy
