"""Wrong answers to lab 01 that a learner would plausibly write.

`MUTANTS` holds, for each exercise, the wrong versions and a piece of the message by which the
check has to name the case that broke them. `test_exercises.py` runs them all; a new lab adds a
file like this one. A mistake in a place or two is written as an edit of the library's function
(`edits`), and only what is built otherwise as a function.
"""

import re

from course_lib.loader.recursive import (
    SEPARATORS,
    check_arguments,
    find_cut,
    next_start,
    split_text,
)
from course_lib.records import Span
from tests.unit.teaching.edits import edits

# --- 1.1 split_recursively ---


def split_after(text, separator):
    *ended, last = text.split(separator) if separator else [*text, ""]
    return [piece + separator for piece in ended] + [last] * bool(last)


def split_recursively(text, size, separators=SEPARATORS):
    """Return chunks of at most `size` characters: the right version."""
    separator = next(one for one in separators if one in text)
    chunks = [""]
    for piece in split_after(text, separator):
        if len(piece) > size:
            chunks += split_recursively(piece, size, separators[1:])
        elif len(chunks[-1]) + len(piece) <= size:
            chunks[-1] += piece
        else:
            chunks.append(piece)
    return [chunk for chunk in chunks if chunk]


def puts_the_separator_before(text, size, separators=SEPARATORS):
    separator = next(one for one in separators if one in text)
    first, *others = text.split(separator) if separator else ["", *text]
    chunks = [""]
    for piece in [first, *(separator + one for one in others)]:
        if len(piece) > size:
            chunks += puts_the_separator_before(piece[:size], size, separators[1:])
            chunks += puts_the_separator_before(piece[size:], size, separators[1:])
        elif len(chunks[-1]) + len(piece) <= size:
            chunks[-1] += piece
        else:
            chunks.append(piece)
    return [chunk for chunk in chunks if chunk]


def joins_within_a_level_only(text, size, separators=SEPARATORS):
    separator = next(one for one in separators if one in text)
    chunks, window = [], ""
    for piece in split_after(text, separator):
        if len(window) + len(piece) <= size:
            window += piece
            continue
        chunks.append(window)
        window = ""
        if len(piece) > size:
            chunks += joins_within_a_level_only(piece, size, separators[1:])
        else:
            window = piece
    return [chunk for chunk in [*chunks, window] if chunk]


def joins_the_parts_of_a_long_piece_to_the_last_chunk(text, size, separators=SEPARATORS):
    chunks = [""]
    for piece in split_after(text, next(one for one in separators if one in text)):
        parts = [piece]
        if len(piece) > size:
            parts = joins_the_parts_of_a_long_piece_to_the_last_chunk(piece, size, separators[1:])
        for part in parts:
            if len(chunks[-1]) + len(part) <= size:
                chunks[-1] += part
            else:
                chunks.append(part)
    return [chunk for chunk in chunks if chunk]


def puts_long_pieces_last(text, size, separators=SEPARATORS):
    pieces = split_after(text, next(one for one in separators if one in text))
    chunks = [""]
    for piece in pieces:
        if len(piece) <= size:
            if len(chunks[-1]) + len(piece) <= size:
                chunks[-1] += piece
            else:
                chunks.append(piece)
    for piece in pieces:
        if len(piece) > size:
            chunks += puts_long_pieces_last(piece, size, separators[1:])
    return [chunk for chunk in chunks if chunk]


CHUNKS_KEPT = []


def keeps_its_list(text, size, separators=SEPARATORS):
    CHUNKS_KEPT.extend(split_recursively(text, size, separators))
    return list(CHUNKS_KEPT)


def yields_chunks(text, size, separators=SEPARATORS):
    yield from split_recursively(text, size, separators)


def never_calls_itself(text, size, separators=SEPARATORS):
    return [span.text for span in split_text(text, size, 0, separators)]


# --- 1.2 find_cut ---


def takes_the_nearest_of_all(text, start, limit, floor=0, separators=SEPARATORS):
    ends = [
        text.rfind(s, start, limit) + len(s) for s in separators if s and s in text[start:limit]
    ]
    return max(ends, default=limit)


def takes_sentence_ends_before_line_ends(text, start, limit, floor=0, separators=SEPARATORS):
    if tuple(separators) == SEPARATORS:
        separators = ("\n\n", ". ", "\n", " ", "")
    return find_cut(text, start, limit, floor, separators)


def finds_no_separators_that_overlap(text, start, limit, floor=0, separators=SEPARATORS):
    for separator in filter(None, separators):
        pattern = re.compile(re.escape(separator))
        ends = [one.end() for one in pattern.finditer(text, start, limit)]
        if after := [end for end in ends if end > floor]:
            return after[-1]
    return limit


# --- 1.3 split_text ---


def has_no_floor(text, chunk_size=512, chunk_overlap=64, separators=SEPARATORS, **named):
    spans, start = [], 0
    while start < len(text) and len(spans) < 1000:
        limit = start + chunk_size
        end = len(text) if limit >= len(text) else find_cut(text, start, limit, 0, separators)
        spans.append(Span(start, end, text[start:end]))
        if end == len(text):
            break
        start = next_start(text, end, chunk_overlap, **named)
    return spans


def cuts_the_whole_text_and_the_remainder(
    text, chunk_size=512, chunk_overlap=64, separators=SEPARATORS, **named
):
    spans, start = [], 0
    while start < len(text):
        limit = min(start + chunk_size, len(text))
        end = find_cut(text, start, limit, 0, separators)
        spans.append(Span(start, end, text[start:end]))
        start = next_start(text, end, chunk_overlap, **named) if end < len(text) else end
    return spans


def cuts_the_remainder(text, chunk_size=512, *given, **named):
    if len(text) <= chunk_size:
        return split_text(text, chunk_size, *given, **named)
    return cuts_the_whole_text_and_the_remainder(text, chunk_size, *given, **named)


def cuts_what_would_fit(text, *given, **named):
    kept = [span for span in split_text(text + "\0", *given, **named) if span.start < len(text)]
    return [Span(start, min(end, len(text)), text[start:end]) for start, end, _ in kept]


def cuts_the_remainder_again(text, chunk_size=512, chunk_overlap=64, *given, **named):
    spans = split_text(text, chunk_size, chunk_overlap, *given, **named)
    while spans and (start := spans[-1].end - chunk_overlap) > spans[-1].start and chunk_overlap:
        spans.append(Span(start, len(text), text[start:]))
    return spans


def looks_its_offsets_up(text, *given, **named):
    spans = split_text(text, *given, **named)
    starts = [text.find(span.text) for span in spans]
    return [Span(at, at + len(s.text), s.text) for at, s in zip(starts, spans, strict=True)]


def loses_the_tail(text, chunk_size=512, *given, **named):
    spans = split_text(text, chunk_size, *given, **named)
    return [span for span in spans if len(span.text) > chunk_size // 3] or spans


def counts_bytes(text, chunk_size=512, *given, **named):
    spans = split_text(text, chunk_size, *given, **named)
    if all(len(span.text.encode()) <= chunk_size for span in spans):
        return spans
    return split_text(text, chunk_size - 1, *given, **named)


def calls_itself_for_what_is_left(
    text, chunk_size=512, chunk_overlap=64, separators=SEPARATORS, **named
):
    def spans_from(start):
        limit, floor = start + chunk_size, start + chunk_overlap
        if limit >= len(text):
            return [Span(start, len(text), text[start:])] * bool(text)
        end = find_cut(text, start, limit, floor, separators)
        begin = next_start(text, end, chunk_overlap, **named)
        return [Span(start, end, text[start:end]), *spans_from(begin)]

    return spans_from(0)


# --- found by playing learners ---


def unifies_line_ends(
    text, chunk_size=512, chunk_overlap=64, separators=SEPARATORS, *, snap_to_words=False
):
    text = text.replace("\r\n", "\n") if isinstance(text, str) else text
    return split_text(text, chunk_size, chunk_overlap, separators, snap_to_words=snap_to_words)


def checks_the_default_separators(
    text, chunk_size=512, chunk_overlap=64, separators=SEPARATORS, *, snap_to_words=False
):
    check_arguments(text, chunk_size, chunk_overlap, SEPARATORS)
    if 0 < len(text) <= chunk_size:
        return [Span(0, len(text), text)]
    return split_text(text, chunk_size, chunk_overlap, separators, snap_to_words=snap_to_words)


KEPT = []


def keeps_the_chunks_of_earlier_calls(
    text, chunk_size=512, chunk_overlap=64, separators=SEPARATORS, *, snap_to_words=False
):
    KEPT.extend(
        split_text(text, chunk_size, chunk_overlap, separators, snap_to_words=snap_to_words)
    )
    return list(KEPT)


MUTANTS = {
    "1.1": edits(
        split_recursively,
        takes_the_weakest_separator=(
            "for one in separators if one in text -> for one in separators[::-1] if one in text",
            "'. ' is the strongest separator that occurs",
        ),
        takes_the_separator_that_occurs_first=(
            "next(one for one in separators if one in text)"
            " -> min((one for one in separators[:-1] if one in text), key=text.find, default='')",
            "the line end is stronger",
        ),
        gives_the_recursion_all_separators=(
            "separators[1:] -> separators",
            "only with the separators weaker than",
        ),
        gives_the_recursion_none=(
            "size, separators[1:]) -> size)",
            "only with the separators weaker than",
        ),
        leaves_long_pieces_as_they_are=(
            "chunks += split_recursively(piece, size, separators[1:]) -> chunks.append(piece)",
            "what is too long is split further",
        ),
        cuts_long_pieces_at_the_size=(
            "chunks += split_recursively(piece, size, separators[1:])"
            " -> chunks += [piece[at : at + size] for at in range(0, len(piece), size)]",
            "is split with weaker separators",
        ),
        cuts_long_pieces_into_characters=(
            "chunks += split_recursively(piece, size, separators[1:]) -> chunks += list(piece)",
            "it is split at '. ', a weaker separator",
        ),
        joins_nothing=(
            "elif len(chunks[-1]) + len(piece) <= size -> elif False",
            "fits is one chunk",
        ),
        joins_only_what_is_shorter=(
            "+ len(piece) <= size -> + len(piece) < size",
            "expected  'abcd'",
        ),
        forgets_the_length_of_the_piece=(
            "len(chunks[-1]) + len(piece) <= size -> len(chunks[-1]) < size",
            "what is joined has to fit",
        ),
        splits_a_piece_that_just_fits=(
            "len(piece) > size -> len(piece) >= size",
            "called    split_recursively('ab', 1)",
        ),
        keeps_empty_chunks=("if chunk] -> ]", "an empty chunk"),
        forgets_the_last_chunk=("in chunks if chunk -> in chunks[:-1] if chunk", "is left out"),
        strips_its_chunks=("[chunk for -> [chunk.strip() for", "do not strip the chunks"),
        ignores_the_separators=(
            "for one in separators if one in text -> for one in SEPARATORS if one in text",
            "only with the separators weaker than",
        ),
        counts_bytes=("len(piece) > size -> len(piece.encode()) > size", "not bytes of UTF-8"),
        returns_one_text=(
            "return [chunk for -> return '|'.join(chunk for",
            "if chunk] -> if chunk)",
            ", a str",
        ),
        loses_the_separators=(
            "split_after(text, separator) -> text.split(separator) if separator else text",
            "each separator stays with the piece",
        ),
    )
    | {
        puts_the_separator_before: "it stays with the piece that it ends",
        joins_within_a_level_only: "the last chunk is 'gh ' when 'ij' comes",
        joins_the_parts_of_a_long_piece_to_the_last_chunk: "they do not join 'a\\n'",
        puts_long_pieces_last: "no piece is left out",
        keeps_its_list: "chunks that together are",
        yields_chunks: "generator",
        never_calls_itself: "blank lines first",
    },
    "1.2": edits(
        find_cut,
        forgets_the_separators_width=(
            "return at + width -> return at",
            "find_cut('ab cd. ef gh', 0, 8)",
        ),
        counts_from_the_window=(
            "text.rfind(separator, max(start, floor + 1 - width), limit)"
            " -> text[start:limit].rfind(separator)",
            "it is not counted from start",
        ),
        looks_before_the_start=(
            "max(start, floor + 1 - width) -> 0",
            "find_cut('ab cd. ef gh ij', 7, 13)",
        ),
        overlooks_offset_zero=("at >= 0 -> at > 0", "find_cut(' abcdefgh', 0, 5)"),
        ignores_the_floor=(
            "max(start, floor + 1 - width) -> start",
            "find_cut('ab cdefghij', 0, 8, 3)",
        ),
        searches_from_the_floor=(
            "floor + 1 - width -> floor",
            "find_cut('ab--cdefgh', 0, 8, 3, ('--',))",
        ),
        gives_up_where_the_strongest_is_before_the_floor=(
            "max(start, floor + 1 - width) -> start",
            "return at + width -> return at + width if at + width > floor else limit",
            "the space is the next strongest",
        ),
        counts_the_floor_from_the_start=(
            "floor + 1 -> start + floor + 1",
            "it is not counted from start",
        ),
        stops_at_the_end_of_the_text=(
            "return limit -> return min(limit, len(text))",
            "find_cut('ab', 0, 8, 0, (';',))",
        ),
        cuts_at_the_limit_for_the_empty_separator=(
            "return at + width -> return at + width if separator else limit",
            "the last one is at its end, before limit",
        ),
        skips_the_empty_separator=(
            "in separators -> in filter(None, separators)",
            "'' cuts at the limit",
        ),
        ignores_the_separators=(
            "in separators -> in SEPARATORS",
            "find_cut('a,b;c,d', 0, 6, 0, (';', ','))",
        ),
        reaches_beyond_the_limit=(
            ", limit) -> , limit + 1)",
            "return limit -> return limit + 1",
            "find_cut('abcdefghij', 0, 8)",
        ),
        returns_nothing_without_a_boundary=(
            "if at >= 0 -> if separator and at >= 0",
            "return limit -> return None",
            "find_cut('abcdefghij', 0, 8)",
        ),
        takes_the_first_boundary=(
            "rfind -> find",
            "if at >= 0 -> if separator and at >= 0",
            "find_cut('a b c d e', 0, 6)",
        ),
        lets_a_separator_begin_before=(
            "max(start, floor + 1 - width) -> max(0, max(start, floor) + 1 - width)",
            "which is before start",
        ),
        asks_no_floor_of_the_empty_separator=(
            "floor + 1 - width) -> floor + 1 - width if separator else 0)",
            "so no separator counts",
        ),
    )
    | {
        takes_the_nearest_of_all: "'. ' is stronger than ' '",
        takes_sentence_ends_before_line_ends: "a line end is stronger than '. '",
        finds_no_separators_that_overlap: "shares a line end with the one at 1",
    },
    "1.3": edits(
        split_text,
        cuts_by_size_alone=(
            "end = find_cut( -> end = start + chunk_size or (",
            "the strongest boundary within reach",
        ),
        has_no_chunks_of_an_empty_text_whatever_the_sizes=(
            '    check_arguments ->     if text == "":\n        return []\n    check_arguments',
            "split_text('', 0, 0)",
        ),
        never_ends=(
            "start + chunk_size < len(text) -> start < len(text)",
            "end = find_cut( -> end = len(text) if start + chunk_size >= len(text) else find_cut(",
            "    if text:\n ->     if False:\n",
            "so it is the last one",
        ),
        puts_the_floor_one_too_far=(
            "start + chunk_overlap, -> min(start + chunk_overlap + 1, start + chunk_size - 1),",
            "which is after start + chunk_overlap = 2",
        ),
        strips_its_chunks=(
            "return spans -> return [Span(one.start, one.end, one.text.strip()) for one in spans]",
            "do not strip it",
        ),
        returns_strings=("return spans -> return [span.text for span in spans]", "not Span"),
        copies_what_is_left=(
            "find_cut(text, start, start + chunk_size, start + chunk_overlap, separators)"
            " -> start + find_cut(text[start:], 0, chunk_size, chunk_overlap, separators)",
            "if each cut copies the rest",
        ),
        drops_the_caller_s_separators=(
            "start + chunk_overlap, separators) -> start + chunk_overlap)",
            "split_text('a;b,c,d', 4, 0, (';', ','))",
        ),
        adds_the_default_separators=(
            "chunk_overlap, separators) -> chunk_overlap, (*separators, *SEPARATORS))",
            "check_arguments(text, chunk_size, chunk_overlap, (*separators, *SEPARATORS))"
            " -> check_arguments(text, chunk_size, chunk_overlap, separators)",
            "so a space is not a boundary",
        ),
        drops_snap_to_words=(
            ", snap_to_words=snap_to_words -> ",
            "split_text('the quick brown fox jumps', 16, 8, snap_to_words=True)",
        ),
        snaps_at_the_first_two_cuts=(
            "=snap_to_words) -> =snap_to_words and len(spans) < 3)",
            "not only the first ones",
        ),
    )
    | {
        cuts_the_remainder_again: "there is nothing left to cut",
        cuts_the_remainder: "the rest of the text, from 6 on, fits",
        cuts_what_would_fit: "the whole text fits",
        has_no_floor: "a chunk must end after start + chunk_overlap",
        looks_its_offsets_up: "the same text may occur in several places",
        loses_the_tail: "the end of the text is lost",
        counts_bytes: "not bytes",
        calls_itself_for_what_is_left: "use a loop",
        unifies_line_ends: "do not strip it, change it",
        keeps_the_chunks_of_earlier_calls: "chunks of an earlier call",
        checks_the_default_separators: "1 is not a text",
    },
}
