"""The splitter: its laws on any text, and how much of a text it looks at."""

from itertools import pairwise
from typing import Any, SupportsIndex

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from course_lib.loader import split_text
from course_lib.loader.recursive import SEPARATORS, in_crlf, next_start, split_prose

ALPHABETS = ["\r\n. ab", "\r\n", "\n", "ab", "a. ", "é\U0001f600 \u2028\n"]
texts = st.one_of(
    *(st.text(alphabet=alphabet, max_size=120) for alphabet in ALPHABETS),
    st.text(max_size=60),
    st.builds(
        lambda word, times: word * times, st.text("\r\n ab.", max_size=5), st.integers(0, 60)
    ),
)
sizes = st.integers(1, 40).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1)))
separators = st.one_of(
    st.just(SEPARATORS),
    st.lists(st.text("\r\n. ab", max_size=3), max_size=4),
    st.just(("ab" * 30, "\n")),
    st.just(("a",)),
    st.just(()),
)


@settings(max_examples=250)
@given(texts, sizes, separators, st.booleans())
@example("\r\n", (1, 0), SEPARATORS, False)
@example("a\r\nb", (2, 1), SEPARATORS, False)
@example("\r\n" * 9, (2, 0), SEPARATORS, True)
@example("\r\n" * 9, (3, 0), SEPARATORS, False)
@example("\r\r\n\n" * 9, (4, 1), ("\r",), False)
@example(" \r\n a" * 9, (7, 6), (" ", "\r"), True)
def test_the_laws_hold_for_every_text(
    text: str, sizes: tuple[int, int], separators: tuple[str, ...], snap_to_words: bool
) -> None:
    size, overlap = sizes
    spans = split_text(text, size, overlap, separators, snap_to_words=snap_to_words)
    assert bool(spans) == bool(text)
    if not text:
        return
    assert (spans[0].start, spans[-1].end) == (0, len(text))
    for span in spans:
        assert text[span.start : span.end] == span.text
        assert 0 < len(span.text) <= size
    for left, right in pairwise(spans):
        assert left.start < right.start <= left.end < right.end
        shared = left.end - right.start
        assert shared <= overlap if snap_to_words else shared == overlap


@given(texts, sizes)
@example("x" * 7 + "\r\n" + "y" * 7, (8, 0))
@example("\r\n" * 9, (2, 1))
def test_no_chunk_of_prose_is_longer_than_its_size(text: str, given: tuple[int, int]) -> None:
    size, overlap = given
    spans = split_prose(text, size, overlap)
    assert all(0 < len(span.text) <= max(size, 2) for span in spans)
    assert not any(in_crlf(text, at) for start, end, _ in spans for at in (start, end))
    assert {at for start, end, _ in spans for at in range(start, end)} == set(range(len(text)))


@given(texts, sizes)
def test_it_ends_at_the_strongest_boundary_in_reach(text: str, sizes: tuple[int, int]) -> None:
    size, overlap = sizes
    for span in split_text(text.replace("\r", ""), size, overlap)[:-1]:
        reach = range(span.start + overlap + 1, span.start + size + 1)
        cuts = {
            separator: [end for end in reach if text_before(text, span.start, end, separator)]
            for separator in SEPARATORS
        }
        strongest = next(ends for ends in cuts.values() if ends)
        assert span.end == strongest[-1]


def text_before(text: str, start: int, end: int, separator: str) -> bool:
    """Whether the separator ends at `end` and begins in the chunk."""
    text = text.replace("\r", "")
    return text[max(start, end - len(separator)) : end].endswith(separator)


class Watched(str):
    """A text that counts how many of its characters are searched or copied."""

    seen = 0

    def rfind(self, sub: str, start: Any = 0, end: Any = None) -> int:
        self.seen += max(0, min(end, len(self)) - start)
        return super().rfind(sub, start, end)

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        part = super().__getitem__(key)
        self.seen += len(part)
        return part


def strong_boundaries_just_out_of_reach(length: int) -> str:
    """Blank lines right after the floor of each window, so that cuts are as short as can be."""
    return ("x" * 65 + "\n\n" + "y" * 60 + "\n" + "z" * 60 + ". " + "w " * 160) * (length // 512)


@pytest.mark.parametrize("snap_to_words", [False, True])
@pytest.mark.parametrize(
    "make",
    [
        lambda length: "x" * length,
        lambda length: "\r\n" * (length // 2),
        strong_boundaries_just_out_of_reach,
    ],
)
def test_what_is_looked_at_grows_with_the_text_and_no_faster(
    make: Any, snap_to_words: bool
) -> None:
    seen = []
    for length in (20_000, 40_000, 80_000):
        text = Watched(make(length))
        split_text(text, 512, 64, snap_to_words=snap_to_words)
        seen.append(text.seen)
        # Each of the five separators looks at a window, each span is copied, each overlap walked.
        assert text.seen < 15 * len(text)
    assert seen[2] / seen[1] == pytest.approx(2, rel=0.1)
    assert seen[1] / seen[0] == pytest.approx(2, rel=0.1)


def test_no_word_starts_before_the_text() -> None:
    assert next_start("b", 1, 4, snap_to_words=True) == -3
    assert next_start("b ", 2, 2, snap_to_words=True) == 0
    assert next_start("a b", 3, 9, snap_to_words=True) == 2
