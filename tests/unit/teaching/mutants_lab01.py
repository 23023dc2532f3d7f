"""Wrong answers to lab 01 that a learner would plausibly write.

`MUTANTS` holds, for each exercise, the wrong versions and a piece of the message by which the
check has to name the case that broke them. `test_exercises.py` runs them all; a new lab adds a
file like this one.
"""

import re
from itertools import count, pairwise

from course_lib.loader.recursive import (
    SEPARATORS,
    check_arguments,
    find_cut,
    next_start,
    split_text,
)
from course_lib.records import Span

# --- 1.1 find_cut ---


def takes_the_first_boundary(text, start, limit, floor=0, separators=SEPARATORS):
    for separator in separators:
        at = text.find(separator, start, limit)
        if separator and at >= 0:
            return at + len(separator)
    return limit


def forgets_the_separators_width(text, start, limit, floor=0, separators=SEPARATORS):
    for separator in separators:
        at = text.rfind(separator, start, limit)
        if at >= 0:
            return at
    return limit


def takes_the_nearest_of_all(text, start, limit, floor=0, separators=SEPARATORS):
    ends = [
        text.rfind(s, start, limit) + len(s) for s in separators if s and s in text[start:limit]
    ]
    return max(ends, default=limit)


def counts_from_the_window(text, start, limit, floor=0, separators=SEPARATORS):
    window = text[start:limit]
    for separator in separators:
        at = window.rfind(separator)
        if at >= 0:
            return at + len(separator)
    return limit


def looks_before_the_start(text, start, limit, floor=0, separators=SEPARATORS):
    for separator in separators:
        at = text.rfind(separator, 0, limit)
        if at >= 0:
            return at + len(separator)
    return limit


def overlooks_offset_zero(text, start, limit, floor=0, separators=SEPARATORS):
    for separator in separators:
        at = text.rfind(separator, max(start, floor + 1 - len(separator)), limit)
        if at > 0:
            return at + len(separator)
    return limit


def ignores_the_floor(text, start, limit, floor=0, separators=SEPARATORS):
    for separator in separators:
        at = text.rfind(separator, start, limit)
        if at >= 0:
            return at + len(separator)
    return limit


def searches_from_the_floor(text, start, limit, floor=0, separators=SEPARATORS):
    for separator in separators:
        at = text.rfind(separator, max(start, floor), limit)
        if at >= 0:
            return at + len(separator)
    return limit


def ignores_the_separators(text, start, limit, floor=0, separators=SEPARATORS):
    return find_cut(text, start, limit, floor)


def reaches_beyond_the_limit(text, start, limit, floor=0, separators=SEPARATORS):
    return find_cut(text, start, limit + 1, floor, separators)


def stops_at_the_end_of_the_text(text, start, limit, floor=0, separators=SEPARATORS):
    return find_cut(text, start, min(limit, len(text)), floor, separators)


def returns_nothing_without_a_boundary(text, start, limit, floor=0, separators=SEPARATORS):
    for separator in separators:
        at = text.rfind(separator, max(start, floor + 1 - len(separator)), limit)
        if separator and at >= 0:
            return at + len(separator)


def takes_sentence_ends_before_line_ends(text, start, limit, floor=0, separators=SEPARATORS):
    if tuple(separators) == SEPARATORS:
        separators = ("\n\n", ". ", "\n", " ", "")
    return find_cut(text, start, limit, floor, separators)


def forgets_to_escape_the_separator(text, start, limit, floor=0, separators=SEPARATORS):
    for separator in filter(None, separators):
        ends = [one.end() for one in re.compile(separator).finditer(text, start, limit)]
        if after := [end for end in ends if end > floor]:
            return after[-1]
    return limit


def finds_no_separators_that_overlap(text, start, limit, floor=0, separators=SEPARATORS):
    for separator in filter(None, separators):
        pattern = re.compile(re.escape(separator))
        ends = [one.end() for one in pattern.finditer(text, start, limit)]
        if after := [end for end in ends if end > floor]:
            return after[-1]
    return limit


def gives_up_where_the_strongest_is_before_the_floor(
    text, start, limit, floor=0, separators=SEPARATORS
):
    for separator in separators:
        at = text.rfind(separator, start, limit)
        if at >= 0:
            return at + len(separator) if at + len(separator) > floor else limit
    return limit


def counts_the_floor_from_the_start(text, start, limit, floor=0, separators=SEPARATORS):
    return find_cut(text, start, limit, start + floor, separators)


def skips_the_empty_separator(text, start, limit, floor=0, separators=SEPARATORS):
    return find_cut(text, start, limit, floor, list(filter(None, separators)))


# --- 1.2 next_start ---


def has_no_overlap(text, end, chunk_overlap, *, snap_to_words=False):
    return end


def never_snaps(text, end, chunk_overlap, *, snap_to_words=False):
    return next_start(text, end, chunk_overlap)


def always_snaps(text, end, chunk_overlap, *, snap_to_words=False):
    return next_start(text, end, chunk_overlap, snap_to_words=True)


def snaps_to_spaces_only(text, end, chunk_overlap, *, snap_to_words=False):
    start = next_start(text, end, chunk_overlap)
    if snap_to_words:
        at = text.find(" ", start - 1, end - 1)
        return at + 1 if at >= 0 else start
    return start


def gives_up_the_overlap_without_a_word(text, end, chunk_overlap, *, snap_to_words=False):
    start = next_start(text, end, chunk_overlap)
    if snap_to_words:
        while start < end and not (text[start - 1].isspace() and not text[start].isspace()):
            start += 1
    return start


def leaves_out_the_word_at_the_start(text, end, chunk_overlap, *, snap_to_words=False):
    begin = next_start(text, end, chunk_overlap)
    for at in range(begin + 1, end) if snap_to_words else ():
        if text[at - 1].isspace() and not text[at].isspace():
            return at
    return begin


def snaps_to_letters_only(text, end, chunk_overlap, *, snap_to_words=False):
    start = next_start(text, end, chunk_overlap)
    words = re.compile(r"(?<=\s)\w").finditer(text, start, end) if snap_to_words else ()
    return next((word.start() for word in words), start)


def snaps_to_the_word_after_the_overlap(text, end, chunk_overlap, *, snap_to_words=False):
    start = next_start(text, end, chunk_overlap)
    for at in range(start, end + 1) if snap_to_words else ():
        if at < len(text) and text[at - 1].isspace() and not text[at].isspace():
            return at
    return start


# --- 1.3 split_text ---


def _loop(
    text,
    chunk_size=512,
    chunk_overlap=64,
    separators=SEPARATORS,
    *,
    snap_to_words=False,
    check=check_arguments,
    find=find_cut,
    begin=next_start,
):
    """Split rightly, unless one of the steps is replaced by a wrong one."""
    check(text, chunk_size, chunk_overlap, separators)
    spans, start = [], 0
    while start + chunk_size < len(text):
        limit, floor = start + chunk_size, start + chunk_overlap
        end = find(text, start, limit, floor, separators)
        spans.append(Span(start, end, text[start:end]))
        start = begin(text, end, chunk_overlap, snap_to_words=snap_to_words)
    return spans + [Span(start, len(text), text[start:])] * bool(text)


def cuts_by_size_alone(*given, **named):
    return _loop(*given, **named, find=lambda text, start, limit, *_: limit)


def checks_no_sizes(text, chunk_size=512, chunk_overlap=64, *given, **named):
    size = max(chunk_size, 1)
    return _loop(text, size, max(0, min(chunk_overlap, size - 1)), *given, **named)


def has_no_chunks_of_an_empty_text_whatever_the_sizes(text, *given, **named):
    return [] if text == "" else _loop(text, *given, **named)


def never_ends(text, chunk_size=512, chunk_overlap=64, separators=SEPARATORS, **named):
    spans, start = [], 0
    while start < len(text):
        limit = start + chunk_size
        end = len(text)
        if limit < end:
            end = find_cut(text, start, limit, start + chunk_overlap, separators)
        spans.append(Span(start, end, text[start:end]))
        start = next_start(text, end, chunk_overlap)
    return spans


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
        return _loop(text, chunk_size, *given, **named)
    return cuts_the_whole_text_and_the_remainder(text, chunk_size, *given, **named)


def cuts_what_would_fit(text, *given, **named):
    kept = [span for span in _loop(text + "\0", *given, **named) if span.start < len(text)]
    return [Span(start, min(end, len(text)), text[start:end]) for start, end, _ in kept]


def cuts_the_remainder_again(text, chunk_size=512, chunk_overlap=64, *given, **named):
    spans = _loop(text, chunk_size, chunk_overlap, *given, **named)
    while spans and (start := spans[-1].end - chunk_overlap) > spans[-1].start and chunk_overlap:
        spans.append(Span(start, len(text), text[start:]))
    return spans


def strips_its_chunks(*given, **named):
    spans = _loop(*given, **named)
    return [Span(span.start, span.end, span.text.strip()) for span in spans]


def looks_its_offsets_up(text, *given, **named):
    spans = _loop(text, *given, **named)
    starts = [text.find(span.text) for span in spans]
    return [Span(at, at + len(s.text), s.text) for at, s in zip(starts, spans, strict=True)]


def loses_the_tail(text, chunk_size=512, *given, **named):
    spans = _loop(text, chunk_size, *given, **named)
    return [span for span in spans if len(span.text) > chunk_size // 3] or spans


def returns_strings(*given, **named):
    return [span.text for span in _loop(*given, **named)]


def puts_the_floor_one_too_far(*given, **named):
    def find(text, start, limit, floor, separators):
        return find_cut(text, start, limit, min(floor + 1, limit - 1), separators)

    return _loop(*given, **named, find=find)


def drops_the_caller_s_separators(text, *given, **named):
    return _loop(text, *given[:2], **named)


def adds_the_default_separators(*given, **named):
    def find(text, start, limit, floor, separators):
        return find_cut(text, start, limit, floor, (*separators, *SEPARATORS))

    return _loop(*given, **named, find=find)


def drops_snap_to_words(*given, snap_to_words=False, **named):
    return _loop(*given, **named)


def snaps_at_the_first_two_cuts(*given, **named):
    cuts = count()

    def begin(text, end, chunk_overlap, *, snap_to_words):
        snaps = snap_to_words and next(cuts) < 2
        return next_start(text, end, chunk_overlap, snap_to_words=snaps)

    return _loop(*given, **named, begin=begin)


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


def copies_what_is_left(*given, **named):
    def find(text, start, limit, floor, separators):
        return start + find_cut(text[start:], 0, limit - start, floor - start, separators)

    return _loop(*given, **named, find=find)


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


def ends_with_the_text_at_last(text, start, limit, floor=0, separators=SEPARATORS):
    return min(find_cut(text, start, limit, floor, separators), len(text))


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
    "1.1": {
        takes_the_first_boundary: "find_cut('a b c d e', 0, 6)",
        forgets_the_separators_width: "find_cut('ab cd. ef gh', 0, 8)",
        takes_the_nearest_of_all: "'. ' is stronger than ' '",
        takes_sentence_ends_before_line_ends: "a line end is stronger than '. '",
        forgets_to_escape_the_separator: "exactly these two characters",
        finds_no_separators_that_overlap: "shares a line end with the one at 1",
        counts_from_the_window: "it is not counted from start",
        looks_before_the_start: "find_cut('ab cd. ef gh ij', 7, 13)",
        overlooks_offset_zero: "find_cut(' abcdefgh', 0, 5)",
        ignores_the_floor: "find_cut('ab cdefghij', 0, 8, 3)",
        searches_from_the_floor: "find_cut('ab--cdefgh', 0, 8, 3, ('--',))",
        gives_up_where_the_strongest_is_before_the_floor: "the space is the next strongest",
        counts_the_floor_from_the_start: "it is not counted from start",
        stops_at_the_end_of_the_text: "find_cut('ab', 0, 8, 0, (';',))",
        skips_the_empty_separator: "'' cuts at the limit",
        ignores_the_separators: "find_cut('a,b;c,d', 0, 6, 0, (';', ','))",
        reaches_beyond_the_limit: "find_cut('abcdefghij', 0, 8)",
        returns_nothing_without_a_boundary: "find_cut('abcdefghij', 0, 8)",
        ends_with_the_text_at_last: "even if the text ends before it",
        lets_a_separator_begin_before: "which is before start",
    },
    "1.2": {
        has_no_overlap: "next_start('abcdefghij', 8, 3)",
        leaves_out_the_word_at_the_start: "so no word is skipped",
        never_snaps: "next_start('the quick brown fox', 16, 8, snap_to_words=True)",
        always_snaps: "next_start('the quick brown fox', 16, 8)",
        snaps_to_spaces_only: "next_start('one\\ntwo three', 8, 6, snap_to_words=True)",
        snaps_to_letters_only: "whatever its first character is",
        gives_up_the_overlap_without_a_word: "next_start('abcdefghij', 8, 3, snap_to_words=True)",
        snaps_to_the_word_after_the_overlap: "the word 'cd' begins at `end`",
        begins_after_any_white_space: "does not begin with white space",
    },
    "1.3": {
        cuts_by_size_alone: "the strongest boundary within reach",
        checks_no_sizes: "split_text('', 0, 0)",
        has_no_chunks_of_an_empty_text_whatever_the_sizes: "split_text('', 0, 0)",
        never_ends: "so it is the last one",
        cuts_the_remainder_again: "there is nothing left to cut",
        cuts_the_whole_text_and_the_remainder: "the whole text fits",
        cuts_the_remainder: "the rest of the text, from 6 on, fits",
        cuts_what_would_fit: "the whole text fits",
        has_no_floor: "a chunk must end after start + chunk_overlap",
        puts_the_floor_one_too_far: "which is after start + chunk_overlap = 2",
        strips_its_chunks: "do not strip it",
        looks_its_offsets_up: "the same text may occur in several places",
        loses_the_tail: "the end of the text is lost",
        returns_strings: "not Span",
        counts_bytes: "not bytes",
        calls_itself_for_what_is_left: "use a loop",
        copies_what_is_left: "if each cut copies the rest",
        drops_the_caller_s_separators: "split_text('a;b,c,d', 4, 0, (';', ','))",
        adds_the_default_separators: "so a space is not a boundary",
        drops_snap_to_words: "split_text('the quick brown fox jumps', 16, 8, snap_to_words=True)",
        snaps_at_the_first_two_cuts: "not only the first ones",
        unifies_line_ends: "do not strip it, change it",
        keeps_the_chunks_of_earlier_calls: "chunks of an earlier call",
        checks_the_default_separators: "1 is not a text",
    },
    "1.4": {
        adds_up_lengths: "joined, the spans look like the text",
        joins_the_texts: "overlap loses nothing",
        looks_at_the_ends_only: "offset 3 is in no span",
        believes_the_offsets: "a space was stripped",
        compares_lengths_only: "not at their offsets",
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
