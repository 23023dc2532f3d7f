"""Lab 01, where to cut: the recursive splitter of the textbooks, and the one on offsets."""

from __future__ import annotations

from inspect import isgeneratorfunction
from itertools import pairwise
from random import Random
from typing import Any

from course_lib.loader.recursive import SEPARATORS as SEPARATORS_OF_TEXT
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


@drawn(200)
def any_recursion(random: Draws) -> Call:
    """Draw a text and a size, and at times other separators."""
    written = random.text(random.choice((2, 6, 20))) * random.choice((1, 1, 1, 1, 0))
    size = random.randint(1, random.choice((4, 12, 40)))
    if random.chance(0.4):
        others = random.some([one for one in SEPARATORS if one])
        return given(written, size, (*others, ""))
    return given(written, size)


@exercise("1.1", "split_recursively", 3, time_limit=3, draws=any_recursion)
def check_split_recursively(call: Probe) -> None:
    """Test each rule on a small text, then what is true of every text."""
    if isgeneratorfunction(call.given):
        call.fail("split_recursively('ab cd.', 8)", got="a generator", expected="a list of chunks",
                  because="the lab counts the chunks; a generator has no length")  # fmt: skip
    for about, texts in (
        ("a text that fits, and the strongest separator", RECURSIONS[:2]),
        ("pieces that join, or are too long, and other separators", RECURSIONS[2:]),
    ):
        with call.part(1, about):
            for (text, size, *others), chunks, because in texts:
                case = call(text, size, *others)
                if not isinstance(case.error, RecursionError | None):
                    case.gives(chunks, because=because)
                ends_and_is_whole(case, text, size)
                case.gives(chunks, because=because)
    random = Random(1)
    texts_drawn = ["".join(random.choices("ab. \n", k=random.randrange(30))) for _ in range(200)]
    with call.part(1, "what is true of every text"):
        for text in (*sorted(texts_drawn, key=len), *[PROSE] * 3):
            size = random.randint(1, 8 if len(text) < 30 else 40)
            ends_and_is_whole(call(text, size), text, size)


RECURSIONS: tuple[tuple[tuple[Any, ...], list[str], str], ...] = (
    (("ab cd.", 8), ["ab cd."], "a text that fits is one chunk"),
    (("ab cd. ef gh", 8), ["ab cd. ", "ef gh"],
     "'. ' is the strongest separator that occurs, and it stays with the piece that it ends"),
    (("abcdefghij", 4), ["abcd", "efgh", "ij"], "only '' occurs, which is between all characters"),
    (("a b c d", 4), ["a b ", "c d"],
     "a piece joins the last chunk if both together are not longer than size"),
    (("One.\n\nTwo three four. Five.", 16), ["One.\n\n", "Two three four. ", "Five."],
     "the second piece is too long: it is split at '. ', a weaker separator"),
    (("ab cd\nef. gh", 6), ["ab cd\n", "ef. gh"],
     "the line end is stronger than '. ' and ' ', which occur, too"),
    (("ab\n\ncd\nef gh ij", 6), ["ab\n\n", "cd\n", "ef gh ", "ij"],
     "each piece that is too long is split with weaker separators, again and again"),
    (("abcdefgh ij", 6), ["abcdef", "gh ij"],
     "the last chunk is 'gh ' when 'ij' comes, and both together fit"),
    (("abcdefgh", 8), ["abcdefgh"], "a text of exactly size characters fits"),
    (("ab", 1), ["a", "b"], "a piece of exactly size characters is not too long"),
    (("aa\n\na\n\n", 3), ["aa\n", "\n", "a\n\n"],
     "blank lines first: the second piece is 'a\\n\\n', and the rest of the first is too much"),
    (("a\nb cdefg", 4), ["a\n", "b ", "cdef", "g"],
     "the chunks of a piece that is too long follow as they are: they do not join 'a\\n'"),
    (("a;b,c;d", 3, (";", ",", "")), ["a;", "b,", "c;d"],
     "the caller gives the separators, for the pieces, too"),
    (("a b;cd", 3, (";", "")), ["a b", ";cd"], "a space is not one of the separators given"),
    (("ab  cd", 3), ["ab ", " cd"], "the second of two spaces is a piece of its own"),
    (("", 8), [], "an empty text has no chunks"),
    (("a ÖÖÖ", 5), ["a ÖÖÖ"], "sizes count characters, not bytes of UTF-8"),
)  # fmt: skip
"""Arguments, chunks, and why."""


def ends_and_is_whole(case: Case, text: str, size: int) -> None:
    """Expect chunks that fit and together are the text, and a recursion that ends."""
    if isinstance(case.error, RecursionError):
        case.holds(
            False, "a recursion that ends", got=f"RecursionError: {case.error}",
            because=_goes_on(text, size),
        )  # fmt: skip
    chunks: list[str] = case.returns(list[str])
    case.holds(
        all(len(chunk) <= size for chunk in chunks), f"chunks of at most {size} characters",
        got=repr(chunks),
        because="what is too long is split further, and what is joined has to fit",
    )  # fmt: skip
    case.holds(
        "".join(chunks) == text, f"chunks that together are {text!r}", got=repr(chunks),
        because=_lost(text, chunks),
    )  # fmt: skip
    case.holds(
        all(chunks), "no empty chunk", got=repr(chunks),
        because="an empty chunk holds nothing that could be found",
    )  # fmt: skip


def _goes_on(text: str, size: int) -> str:
    """Return with what the first piece that is too long has to be split."""
    separator = next((one for one in SEPARATORS_OF_TEXT if one in text), "")
    pieces = [piece + separator for piece in text.split(separator)] if separator else [text]
    piece = next((one for one in pieces if len(one) > size), text)
    return f"split {piece!r} only with the separators weaker than {separator!r}"


def _lost(text: str, chunks: list[str]) -> str:
    """Return why chunks are not the text, and say so where only white space was stripped."""
    end = 0
    for chunk in chunks:
        at = text.find(chunk, end)
        if at < 0 or text[end:at].strip():
            break
        if at > end:
            return (
                f"text[{end}:{at}], which is {text[end:at]!r}, is missing: do not strip the chunks"
            )
        end = at + len(chunk)
    return "each separator stays with the piece that it ends, and no piece is left out"


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


@exercise("1.2", "loader.recursive:find_cut", 3, time_limit=2, draws=any_window)
def check_find_cut(call: Probe) -> None:
    """Test each rule once: strongest first, last of its kind, in reach, after the floor."""
    with call.part(1, "the strongest separator in reach, and the last of its kind", needed=False):
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
            ((" abcdefgh", 0, 5), 1, "a boundary at offset 0 counts, too"),
        )  # fmt: skip
    with call.part(1, "the start and the floor"):
        call.cases(
            (("xx ab cdefghij", 3, 11), 6,
             "the space ends at 6, an offset in the whole text: it is not counted from start"),
            (("ab cd. ef gh ij", 7, 13), 13,
             "the separator must begin at start or later; or the chunk is empty"),
            (("ab cdefghij", 0, 8, 2), 3, "3 is after floor=2"),
            (("ab cdefghij", 0, 8, 3), 8, "the cut must be after floor=3, not at it"),
            (("xx ab cdefghij", 3, 11, 5), 6,
             "floor=5 is an offset in the text, like limit: it is not counted from start"),
            (("a\n\nb cdefgh", 0, 9, 4), 5,
             "the blank line ends before floor=4, and the space is the next strongest"),
        )  # fmt: skip
    with call.part(1, "separators that the caller gives"):
        call.cases(
            (("a,b;c,d", 0, 6, 0, (";", ",")), 4, "the caller gives the separators"),
            (("ab. cdefghij", 3, 9, 0, (". ",)), 9,
             "'. ' begins at 2, which is before start, although it ends after start"),
            (("abcdefgh", 0, 4, 0, (" ",)), 4, "without '' in the list the limit holds, too"),
            (("ab", 0, 8, 0, (";",)), 8,
             "no separator counts, so the cut is at limit, even if the text ends before it"),
            (("ab cdef", 0, 5, 0, ("", " ")), 5,
             "'' cuts at the limit, and here it comes before ' ' in the list"),
            (("ab", 0, 8), 2,
             "'' is everywhere in the text, and the last one is at its end, before limit"),
            (("ab--cdefgh", 0, 8, 3, ("--",)), 4,
             "'--' begins before floor=3, but the cut, at its end, is after it"),
            (("ab", 0, 8, 2), 8,
             "the last '' ends at 2, which is not after floor=2, so no separator counts"),
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
    "1.3", "loader.recursive:split_text", 4, waits_for=("1.2",), time_limit=3, draws=any_split
)
def check_split_text(call: Probe) -> None:
    """Test each rule on a small text, then many texts, a long one, and wrong arguments."""
    with call.part(1, "chunks that are cut where they should be"):
        for text in ("first", "second"):
            case = call(text, 8, 0)
            if case.error is None and isinstance(case.value, list) and len(case.value) > 1:
                case.gives(
                    [Span(0, len(text), text)],
                    because="the text fits, so it is one chunk; chunks of an earlier call are not "
                    "among its chunks",
                )
        _splits(call, SPLITS[:5])
    with call.part(1, "the floor, separators that are given, whole words, short texts"):
        _splits(call, SPLITS[5:])
        for text, (size, overlap), spans, because in SNAPPED:
            call(text, size, overlap, snap_to_words=True).gives(spans, because=because)
        call("", chunk_size=8, chunk_overlap=0).gives([], because="an empty text has no chunks")
        call("short").gives([Span(0, 5, "short")], because="a text that fits is one chunk")
    with call.part(1, "texts of all sorts, and a long one"):
        random = Random(1)
        texts = ["".join(random.choices("ab. \n", k=random.randrange(14))) for _ in range(300)]
        for text in (*sorted(texts, key=len), *[PROSE] * 6):
            size = random.randint(1, 6 if len(text) < 14 else 60)
            overlap = random.randrange(size)
            keeps_the_laws(call(text, size, overlap), text, size, overlap)
            for snap in (False, True):
                call(text, size, overlap, snap_to_words=snap).gives(
                    split_text(text, size, overlap, snap_to_words=snap),
                    because="a chunk ends where find_cut says, with the floor at start + "
                    "chunk_overlap; the next begins where next_start says",
                )
        is_linear(call)
    with call.part(1, "arguments that are refused"):
        for args, wanted, mentions, because in (
            (("", 0, 0), ValueError, "chunk_size", "a size of 0 is wrong even if the text is "
             "empty"),
            (("text", 0, 0), ValueError, "chunk_size", "a chunk holds at least one character"),
            (("text", 4, 4), ValueError, "chunk_overlap", "the next chunk would never start later"),
            (("text", 4, -1), ValueError, "chunk_overlap", "the next chunk would leave a gap"),
            ((None,), TypeError, "text", "None is not a text"),
            (("text", 8, 0, (1,)), TypeError, "",
             "the separators are checked, too, and 1 is not a text"),
        ):  # fmt: skip
            call(*args).raises(wanted, mentions=mentions, because=because)


Splits = tuple[tuple[str, tuple[Any, ...], list[Span], str], ...]
"""Text, arguments, spans, and why."""

SPLITS: Splits = (
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

SNAPPED = (
    ("the quick brown fox jumps", (16, 8),
     [Span(0, 16, "the quick brown "), Span(10, 25, "brown fox jumps")],
     "with snap_to_words the overlap begins with a word"),
    ("ab cd ef gh ij", (7, 4),
     [Span(0, 6, "ab cd "), Span(3, 9, "cd ef "), Span(6, 12, "ef gh "), Span(9, 14, "gh ij")],
     "with snap_to_words every overlap begins with a word, not only the first ones"),
)  # fmt: skip
"""Text, sizes, spans with `snap_to_words`, and why."""


def _splits(call: Probe, splits: Splits) -> None:
    for text, sizes, spans, because in splits:
        comes_to_an_end(call, text, *sizes, because=because)
        case = call(text, *sizes)
        keeps_the_laws(case, text, sizes[0], sizes[1])
        case.gives(spans, because=because)


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
