"""Wrong answers to lab 01 that a learner would plausibly write.

`MUTANTS` holds, for each exercise, the wrong versions and a piece of the message by which the
check has to name the case that broke them. `test_exercises.py` runs them all; a new lab adds a
file like this one. A mistake in a place or two is written as an edit of the library's function
(`edits`), and only what is built otherwise as a function.
"""

import re
from itertools import pairwise

from course_lib.loader.recursive import (
    SEPARATORS,
    check_arguments,
    find_cut,
    next_start,
    split_text,
)
from course_lib.records import Span
from tests.unit.teaching.edits import edits

# --- 1.1 find_cut ---


def takes_the_first_boundary(text, start, limit, floor=0, separators=SEPARATORS):
    for separator in separators:
        at = text.find(separator, start, limit)
        if separator and at >= 0:
            return at + len(separator)
    return limit


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


# --- 1.4 lossless ---


def adds_up_lengths(text, spans):
    return sum(len(span.text) for span in spans) >= len(text)


def joins_the_texts(text, spans):
    return "".join(span.text for span in spans) == text


def looks_at_the_ends_only(text, spans):
    if not spans:
        return not text
    return spans[0].start == 0 and spans[-1].end == len(text)


def believes_the_offsets(text, spans):
    covered = 0
    for span in spans:
        if span.start > covered:
            return False
        covered = max(covered, span.end)
    return covered == len(text)


def compares_lengths_only(text, spans):
    covered = 0
    for span in spans:
        if span.start > covered or span.end - span.start != len(span.text):
            return False
        covered = max(covered, span.end)
    return covered == len(text)


def looks_for_the_texts_anywhere(text, spans):
    return compares_lengths_only(text, spans) and all(span.text in text for span in spans)


def looks_at_neighbours_only(text, spans):
    if not spans:
        return not text
    told = all(text[span.start : span.end] == span.text for span in spans)
    joined = all(left.end >= right.start for left, right in pairwise(spans))
    return told and joined and spans[0].start == 0 and spans[-1].end == len(text)


def believes_the_texts(text, spans):
    return all(text[span.start : span.end] == span.text for span in spans)


def returns_what_is_missing(text, spans):
    return len(text) - max((span.end for span in spans), default=0)


class _EqualToEverything:
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0


def claims_to_equal_everything(text, spans):
    return _EqualToEverything()


# --- found by playing learners ---


def begins_after_any_white_space(text, end, chunk_overlap, *, snap_to_words=False):
    start = end - chunk_overlap
    if snap_to_words:
        return next((at for at in range(start, end) if text[at - 1].isspace()), start)
    return start


def unifies_line_ends(
    text, chunk_size=512, chunk_overlap=64, separators=SEPARATORS, *, snap_to_words=False
):
    text = text.replace("\r\n", "\n") if isinstance(text, str) else text
    return split_text(text, chunk_size, chunk_overlap, separators, snap_to_words=snap_to_words)


def forgives_lost_spaces(text, spans):
    reached = 0
    for span in spans:
        if text[span.start : span.end] != span.text or text[reached : span.start].strip():
            return False
        reached = max(reached, span.end)
    return reached >= len(text)


def wants_the_last_span_at_the_end(text, spans):
    reached = 0
    for span in spans:
        if text[span.start : span.end] != span.text or span.start > reached:
            return False
        reached = max(reached, span.end)
    return (spans[-1].end if spans else 0) == len(text)


def lets_a_separator_begin_before(text, start, limit, floor=0, separators=SEPARATORS):
    for separator in separators:
        at = text.rfind(separator, max(start - len(separator) + 1, 0), limit)
        if at >= 0 and at + len(separator) > max(floor, start):
            return at + len(separator)
    return limit


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


def stops_at_the_end(text, spans):
    reached = 0
    for span in spans:
        if text[span.start : span.end] != span.text or span.start > reached:
            return False
        reached = max(reached, span.end)
        if reached == len(text):
            return True
    return reached == len(text)


MUTANTS = {
    "1.1": edits(
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
    )
    | {
        takes_the_first_boundary: "find_cut('a b c d e', 0, 6)",
        takes_the_nearest_of_all: "'. ' is stronger than ' '",
        takes_sentence_ends_before_line_ends: "a line end is stronger than '. '",
        finds_no_separators_that_overlap: "shares a line end with the one at 1",
        lets_a_separator_begin_before: "which is before start",
    },
    "1.2": edits(
        next_start,
        has_no_overlap=("end - chunk_overlap -> end", "next_start('abcdefghij', 8, 3)"),
        leaves_out_the_word_at_the_start=(
            "range(start, end) -> range(start + 1, end)",
            "so no word is skipped",
        ),
        never_snaps=(
            "if snap_to_words -> if False",
            "next_start('the quick brown fox', 16, 8, snap_to_words=True)",
        ),
        always_snaps=("if snap_to_words -> if True", "next_start('the quick brown fox', 16, 8)"),
        snaps_to_spaces_only=(
            'text[at - 1].isspace() and not text[at].isspace() -> text[at - 1] == " "',
            "next_start('one\\ntwo three', 8, 6, snap_to_words=True)",
        ),
        snaps_to_letters_only=(
            "not text[at].isspace() -> text[at].isalnum()",
            "whatever its first character is",
        ),
        gives_up_the_overlap_without_a_word=(
            "    return start ->     return end if snap_to_words else start",
            "next_start('abcdefghij', 8, 3, snap_to_words=True)",
        ),
        snaps_to_the_word_after_the_overlap=(
            "range(start, end) -> range(start, min(end + 1, len(text)))",
            "the word 'cd' begins at `end`",
        ),
    )
    | {
        begins_after_any_white_space: "does not begin with white space",
    },
    "1.3": edits(
        split_text,
        cuts_by_size_alone=(
            "end = find_cut(text, start, limit, floor, separators) -> end = limit",
            "the strongest boundary within reach",
        ),
        has_no_chunks_of_an_empty_text_whatever_the_sizes=(
            '    check_arguments ->     if text == "":\n        return []\n    check_arguments',
            "split_text('', 0, 0)",
        ),
        never_ends=(
            "start + chunk_size < len(text) -> start < len(text)",
            "end = find_cut( -> end = len(text) if limit >= len(text) else find_cut(",
            "    if text:\n ->     if False:\n",
            "so it is the last one",
        ),
        puts_the_floor_one_too_far=(
            "start + chunk_size, start + chunk_overlap"
            " -> start + chunk_size, min(start + chunk_overlap + 1, start + chunk_size - 1)",
            "which is after start + chunk_overlap = 2",
        ),
        strips_its_chunks=(
            "return spans -> return [Span(one.start, one.end, one.text.strip()) for one in spans]",
            "do not strip it",
        ),
        returns_strings=("return spans -> return [span.text for span in spans]", "not Span"),
        copies_what_is_left=(
            "find_cut(text, start, limit, floor, separators)"
            " -> start + find_cut(text[start:], 0, limit - start, floor - start, separators)",
            "if each cut copies the rest",
        ),
        drops_the_caller_s_separators=(
            "floor, separators) -> floor)",
            "split_text('a;b,c,d', 4, 0, (';', ','))",
        ),
        adds_the_default_separators=(
            "floor, separators) -> floor, (*separators, *SEPARATORS))",
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
    "1.4": {
        adds_up_lengths: "joined, the spans look like the text",
        joins_the_texts: "overlap loses nothing",
        looks_at_the_ends_only: "offset 3 is in no span",
        believes_the_offsets: "a space was stripped",
        looks_for_the_texts_anywhere: "not at their offsets",
        looks_at_neighbours_only: "a span may be inside another one",
        believes_the_texts: "there is a text, but no span",
        returns_what_is_missing: "True (bool)",
        claims_to_equal_everything: "True (bool)",
        forgives_lost_spaces: "a space is a character, too",
        wants_the_last_span_at_the_end: "the last span is inside the first",
        stops_at_the_end: "although the first reaches the end",
    },
}
