"""Copies are left out, and what repeats others comes later."""

from __future__ import annotations

import numpy as np
import pytest
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

ANGLES = np.radians([0, 5, 40, 90])
VECTORS = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1).astype(np.float32)


def order(diversity: float, count: int = 4, taken: list[int] | None = None) -> list[int]:
    worth = [1.0, 0.9, 0.6, 0.3]
    rows = None if taken is None else VECTORS[taken]
    return maximal_marginal_relevance(worth, VECTORS, count, diversity=diversity, taken=rows)


def test_by_hand() -> None:
    # 0 first; then of 1: 0.5*0.9-0.5*cos 5 = -0.05; 2: 0.3-0.38 = -0.08; 3: 0.15-0 = 0.15.
    assert order(0.5) == [0, 3, 1, 2]


def test_without_diversity_relevance_decides_alone() -> None:
    assert order(0) == [0, 1, 2, 3]


def test_what_is_in_the_context_counts_as_taken() -> None:
    assert order(0.5, 1, taken=[0]) == [3]
    assert order(0.5, 1, taken=[]) == [0]


@given(st.integers(0, 6), st.integers(0, 8), st.floats(0, 1), st.randoms())
def test_each_place_comes_once_and_as_many_as_are_wanted(
    size: int, count: int, diversity: float, random: object
) -> None:
    rng = np.random.default_rng(size * 100 + count)
    vectors = rng.normal(size=(size, 3)).astype(np.float32)
    places = maximal_marginal_relevance(by_place(size), vectors, count, diversity=diversity)
    assert len(places) == len(set(places)) == min(count, size)
    assert set(places) <= set(range(size))


def test_it_agrees_with_the_definition() -> None:
    """The slow way: at each step, the candidate for which the formula is largest."""
    rng = np.random.default_rng(4)
    vectors = rng.normal(size=(12, 5)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    worth = list(rng.random(12))
    expected: list[int] = []
    while len(expected) < 12:
        gains = {
            at: 0.6 * worth[at]
            - 0.4 * max([0.0, *(float(vectors[at] @ vectors[other]) for other in expected)])
            for at in range(12)
            if at not in expected
        }
        expected.append(max(gains, key=lambda at: gains[at]))
    assert maximal_marginal_relevance(worth, vectors, 12, diversity=0.4) == expected


def test_places_become_relevances() -> None:
    assert by_place(0) == []
    assert by_place(2) == pytest.approx([1, 0.5])
