"""Copies are left out; what repeats others comes later, as the check of lab 14 has it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from course_lib.answers import maximal_marginal_relevance, without_copies
from course_lib.answers.selection import by_place
from tests.unit.answers.made import make_result


def kept(*texts: str, taken: tuple[str, ...] = ()) -> list[str]:
    results = [make_result(text, f"{number}.md") for number, text in enumerate(texts)]
    return [one.content for one in without_copies(results, [make_result(text) for text in taken])]


def test_the_same_text_is_one_passage_whatever_its_spaces() -> None:
    assert kept("a b", "a  b\n", "A b") == ["a b", "A b"]


def test_a_part_of_a_text_is_a_copy_and_part_of_a_word_is_not() -> None:
    assert kept("drift is slow", "is slow", "low", "rift is") == ["drift is slow", "low", "rift is"]


def test_what_is_taken_already_is_not_taken_again() -> None:
    assert kept("a b", "c", taken=("x a b y",)) == ["c"]


def test_what_holds_nothing_is_no_passage() -> None:
    assert kept("", " \n", "a") == ["a"]


# --- maximal marginal relevance ---


@given(st.integers(0, 6), st.integers(0, 8), st.floats(0, 1), st.randoms())
def test_each_place_comes_once_and_as_many_as_are_wanted(
    size: int, count: int, diversity: float, random: object
) -> None:
    rng = np.random.default_rng(size * 100 + count)
    vectors = rng.normal(size=(size, 3)).astype(np.float32)
    places = maximal_marginal_relevance(by_place(size), vectors, count, diversity=diversity)
    assert len(places) == len(set(places)) == min(count, size)
    assert set(places) <= set(range(size))
