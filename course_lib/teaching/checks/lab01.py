"""Lab 01, where to cut: the recursive splitter of the textbooks, and the one on offsets."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from course_lib.loader.recursive import SEPARATORS as SEPARATORS_OF_TEXT
from course_lib.records import Span
from course_lib.teaching.checks.definition import Parts, case, exercise, part
from course_lib.teaching.checks.drawn import Call, Draws, drawn, given

STRANGE = "\ufeffe\u0301 \u212b\tb. İ\r\nx\x0by\u2028z ﬁ"
"""A byte-order mark, what NFC or `lower` changes, and what `splitlines` takes for line ends."""

AS_IT_IS = "the text stays as it is: no character is changed, left out, or another line end"
SEPARATORS = (";", ",", "--", " ", ". ", "", "\n")
PARTS = ("a", "bc", "def", "ghij", " ", " ", ". ", "\n", "\n\n", ", ", "--", ";")


def _what_is_lost(
    value: Any, text: str, size: int, separators: Sequence[str] = SEPARATORS_OF_TEXT
) -> str:
    """Return what is not true of these chunks although it is of those of every text."""
    if isinstance(value, dict) and "iterator" in value:
        return "the lab counts the chunks; a generator has no length"
    if isinstance(value, dict) and value.get("raises", [""])[0] == "RecursionError":
        separator = next((one for one in separators if one in text), "")
        pieces = [piece + separator for piece in text.split(separator)] if separator else [text]
        piece = next((one for one in pieces if len(one) > size), text)
        return f"split {piece!r} only with the separators weaker than {separator!r}"
    if any(len(chunk) > size for chunk in value):
        return "what is too long is split further, and what is joined has to fit"
    if "".join(value) != text:
        is_stripped = "".join("".join(value).split()) == "".join(text.split())
        more = "; do not strip the chunks" if is_stripped else ""
        return f"each separator stays with the piece that it ends, and no piece is left out{more}"
    return "" if all(value) else "an empty chunk holds nothing that could be found"


@drawn(200, why=_what_is_lost, varies=(1, 2))
def any_recursion(random: Draws) -> Call:
    """Draw a text and a size, and at times other separators."""
    written = random.prose(random.choice((2, 6, 20))) * random.choice((1, 1, 1, 1, 0))
    size = random.randint(1, random.choice((4, 12, 40)))
    if random.chance(0.5):
        others = (*random.some([one for one in SEPARATORS if one]), "")
        return given(written, size, random.choice((tuple, list))(others))
    return given(written, size)


@exercise("1.1", "split_recursively", time_limit=3, draws=any_recursion)
def check_split_recursively() -> Parts:
    """Test each rule on a small text, then what is true of every text."""
    return [
        part(1, "a text that fits, and the strongest separator",
            (("ab cd.", 8), "a text that fits is one chunk"),
            (("ab cd. ef gh", 8), "'. ' is the strongest that occurs, and stays with its piece")),
        part(1, "pieces that join, or are too long, and other separators",
            (("abcdefghij", 4), "only '' occurs, which is between all characters"),
            (("One.\n\nTwo three four. Five.", 16),
             "the second piece is too long: it is split at '. ', a weaker separator"),
            (("ab cd\nef. gh", 6), "the line end is stronger than '. ' and ' ', which occur, too"),
            (("ab\n\ncd\nef gh ij", 6), "what is too long is split with weaker separators, again"),
            (("abcdefgh ij", 6), "the last chunk is 'gh ' when 'ij' comes, and both together fit"),
            (("ab", 1), "a piece of exactly size characters is not too long"),
            (("aa\n\na\n\n", 3), "blank lines first: the second piece is 'a\\n\\n'"),
            (("a\nb cdefg", 4), "a long piece's chunks stay as they are: none joins 'a\\n'"),
            (("a;b,c;d", 3, (";", ",", "")), "the caller gives the separators, also for pieces")),
        part(1, "what is true of every text",
            (("", 8), "an empty text has no chunks"),
            (("a ÖÖÖ", 5), "sizes count characters, not bytes of UTF-8"),
            ((STRANGE, 6), AS_IT_IS)),
    ]  # fmt: skip


@drawn(250, varies=(4,))
def any_window(random: Draws) -> Call:
    """Draw a window of a text, and at times a floor and other separators."""
    written = random.prose() if random.chance(0.3) else "".join(random.choices(PARTS, k=6))
    written += "ab"
    start = random.choice((0, random.randrange(len(written) - 1)))
    limit = min(start + random.randint(1, random.choice((4, 8, 20))), len(written))
    floor = random.choice((0, random.randrange(start, limit), max(limit - 3, start)))
    if random.chance(0.4):
        others = random.choice((tuple, list))(random.some(SEPARATORS))
        return given(written, start, limit, floor, others)
    return given(written, start, limit, floor) if floor else given(written, start, limit)


@exercise("1.2", "loader.recursive:find_cut", time_limit=2, draws=any_window)
def check_find_cut() -> Parts:
    """Test each rule once: strongest first, last of its kind, in reach, after the floor."""
    return [
        part(1, "the strongest separator in reach, and the last of its kind",
            (("ab cd. ef gh", 0, 8), "'. ' is the strongest in reach, and ends at 7"),
            (("ab. cd ef gh", 0, 8), "'. ' is stronger than ' ', and means these two characters"),
            (("abcdefghij", 0, 8), "without a boundary the cut is at the limit"),
            (("a b c d e", 0, 6), "of equal boundaries, the last one that fits counts"),
            (("a\n\n\nbcdef", 0, 6), "the last blank line, at 2, shares a line end with that at 1"),
            (("a\nb. cdefgh", 0, 8), "a line end is stronger than '. '"),
            ((" abcdefgh", 0, 5), "a boundary at offset 0 counts, too"), needed=False),
        part(1, "the start and the floor",
            (("xx ab cdefghij", 3, 11), "the space ends at 6: it is not counted from start"),
            (("ab cd. ef gh ij", 7, 13), "a separator begins at start or later"),
            (("ab cdefghij", 0, 8, 3), "the cut must be after floor=3, not at it"),
            (("xx ab cdefghij", 3, 11, 5), "floor=5, like limit: it is not counted from start"),
            (("a\n\nb cdefgh", 0, 9, 4), "the blank line ends before 4; the space is next")),
        part(1, "separators that the caller gives",
            (("a,b;c,d", 0, 6, 0, (";", ",")), "the caller gives the separators"),
            (("ab. cdefghij", 3, 9, 0, (". ",)), "'. ' begins at 2, which is before start=3"),
            (("ab", 0, 8, 0, (";",)), "no separator counts: the cut is at limit, after the text"),
            (("ab cdef", 0, 5, 0, ("", " ")), "'' cuts at the limit, and here it is before ' '"),
            (("ab", 0, 8), "'' is everywhere; the last one is at the text's end, before limit"),
            (("ab--cdefgh", 0, 8, 3, ("--",)), "'--' begins before floor=3, and ends after it"),
            (("ab", 0, 8, 2), "the last '' ends at 2, not after floor=2: no separator counts")),
    ]  # fmt: skip


class TooMuchCopied(Exception):
    """More was copied out of a text than a splitter needs."""


class Watched(str):
    """A text that stops who copies more than `left` characters out of it, and out of the copies."""

    left = 0

    def __getitem__(self, key: Any) -> Watched:
        part = Watched(super().__getitem__(key))
        Watched.left -= len(part) + 1
        if Watched.left < 0:
            raise TooMuchCopied("it copied the text again and again, until it was stopped")
        return part


def _split(function: Any, text: Any, *others: Any, **named: Any) -> Any:
    """Call it with a text that is watched; of a long one, see the last two spans."""
    if not isinstance(text, str):
        return function(text, *others, **named)
    Watched.left = 100 + 20 * len(text) * min(len(text), 50)
    spans = function(Watched(text), *others, **named)
    return spans if len(text) < 9_999 else {"the last two": spans[-2:]}


def _broken_law(value: Any, text: Any, *sizes: Any) -> str:
    """Return what is not true of these spans although it is of those of every text."""
    if isinstance(value, list) and any(isinstance(one, str) for one in value):
        return "a chunk is a Span: its start, its end, and the text between them"
    if len(text) <= sizes[0]:
        return ""
    spans = [Span(**one["record"]["fields"]) for one in value]
    if any(text[one.start : one.end] != one.text for one in spans):
        return (
            "a span's text is the one at its offsets: do not strip it, change it or search for it"
        )
    if any(len(one.text) > sizes[0] for one in spans):
        return f"a chunk has at most {sizes[0]} characters"
    for left, right in pairwise(spans):
        if left.end >= len(text):
            return f"{left} reaches the end of the text, so there is nothing left to cut"
        if left.start >= right.start or left.end >= right.end:
            return "work with offsets: the same text may occur in several places"
        if left.end < right.start:
            return f"text[{left.end}:{right.start}] is lost"
    if text and (not spans or spans[0].start > 0):
        return "the beginning of the text is lost"
    return "the end of the text is lost" if text and spans[-1].end < len(text) else ""


DEEP = {"RecursionError": "a text has more chunks than calls may be within calls: use a loop"}


@drawn(110, apply=_split, why=_broken_law, says=DEEP, varies=(1, 2, 3))
def any_split(random: Draws) -> Call:
    """Draw sizes, the wrong ones among them."""
    written = random.prose(random.choice((2, 12, 60))) * random.choice((1, 1, 1, 0))
    size = random.randint(1, random.choice((6, 20, 100)))
    if random.chance(0.1):
        return given(written, *random.choice(((0, 0), (-size, 0), (size, size), (size, -1))))
    if random.chance(0.03):
        return given(random.choice((None, size)))
    overlap = random.choice((0, random.randrange(min(size, 4)), random.randrange(size)))
    snaps = {"snap_to_words": True} if random.chance(0.4) else {}
    if random.chance(0.4):
        others = random.choice((tuple, list))(random.some(SEPARATORS)[:3])
        return given(written, size, overlap, others, **snaps)
    return given(written, size, overlap, **snaps)


@exercise("1.3", "loader.recursive:split_text", waits_for=("1.2",), time_limit=5, draws=any_split)
def check_split_text() -> Parts:
    """Test each rule on a small text, then unusual texts, a long one, and wrong arguments."""
    fits = "the text fits, so it is one chunk; chunks of an earlier call are not among its chunks"
    return [
        part(1, "chunks that are cut where they should be",
            (("first", 8, 0), fits),
            (("second", 8, 0), fits),
            (("ab cd. e", 8, 0), "the whole text fits, so it is one chunk and needs no cut"),
            (("abcdef gh", 6, 0), "the rest of the text, from 6 on, fits: it needs no cut"),
            (("ab cd. ef gh", 8, 0), "it ends after '. ', the strongest boundary within reach"),
            (("abcdefghij", 6, 2), "the second reaches the end of the text, so it is the last one"),
            (("abababab", 4, 2), "work with offsets: the same text occurs in several places")),
        part(1, "the floor, separators that are given, whole words, short texts",
            (("ab cdefghij", 8, 3), "with an end at 3, the second would begin at 0 again"),
            (("ab cdefghij", 8, 2), "the first ends at 3, after start + chunk_overlap = 2"),
            (("a;b,c,d", 4, 0, (";", ",")), "the caller gives the separators"),
            (("ab cd;ef gh", 4, 0, (";",)), "only ';' is given, so a space is not a boundary"),
            case("the quick brown fox jumps", 16, 8, snap_to_words=True,
                 because="with snap_to_words the overlap begins with a word"),
            case("ab cd ef gh ij", 7, 4, snap_to_words=True,
                 because="every overlap begins with a word, not only the first ones"),
            case("", chunk_size=8, chunk_overlap=0, because="an empty text has no chunks"),
            (("short",), "a text that fits is one chunk")),
        part(1, "texts of all sorts, and a long one",
            (("Grüße aus Köln", 8, 0), "sizes and offsets count characters, not bytes of UTF-8"),
            (("ab\r\ncd ef", 5, 0), "the text stays as it is: CRLF has two characters"),
            ((STRANGE, 6, 2), AS_IT_IS),
            (("ab cd. " * 5_000, 8, 0),
             "if each cut copies the rest, twice the text is four times the work: use offsets")),
        part(1, "arguments that are refused",
            case("", 0, 0, raises=ValueError, mentions="chunk_size", because="0 is never a size"),
            *(case("text", 4, one, raises=ValueError, mentions="chunk_overlap", because=because)
              for one, because in ((4, "the next chunk would never start later"),
                                   (-1, "the next chunk would leave a gap"))),
            case(None, raises=TypeError, mentions="text", because="None is not a text"),
            case("text", 8, 0, (1,), raises=TypeError, because="a separator is a text, not 1")),
    ]  # fmt: skip
