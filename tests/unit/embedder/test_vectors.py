"""The steps around a model, on numbers that were worked by hand."""

import numpy as np
import pytest

from course_lib.embedder.vectors import cosine_similarity, encode_in_batches, mean_pool, unread

A, B = np.array([4.0, 3.0]), np.array([3.0, 4.0])
ROWS = np.array([[4.0, 3.0], [0.0, 5.0], [6.0, 8.0]])


@pytest.mark.parametrize(
    ("a", "b", "similarity"),
    [
        (A, B, 0.96),
        (A, np.array([-4.0, -3.0]), -1.0),
        (np.array([1, 2, 2]), np.array([2, 2, 1]), 8 / 9),
        (ROWS, B, [0.96, 0.8, 1.0]),
        (ROWS, ROWS[:2], [[1.0, 0.6], [0.6, 1.0], [0.96, 0.8]]),
        (np.array([4e-100, 3e-100]), B, 0.96),
        (B, np.array([[6.0, 8.0], [0.0, 0.0]]), [1.0, 0.0]),
    ],
)
def test_a_cosine_is_the_inner_product_of_directions(a, b, similarity):
    assert cosine_similarity(a, b) == pytest.approx(np.array(similarity))


def test_a_mean_has_the_places_that_count_alone():
    tokens = np.array([[[90.0, 9.0], [1.0, 2.0], [3.0, 4.0]], [[0.0, 0.0], [3.0, 4.0], [8.0, 8.0]]])
    assert mean_pool(tokens, np.array([[0, 1, 1], [1, 1, 0]])).tolist() == [[2, 3], [1.5, 2]]


@pytest.mark.parametrize(
    ("size", "lengths"), [(2, [[5, 4], [3, 2], [1]]), (3, [[5, 4, 3], [2, 1]])]
)
def test_batches_are_full_and_sorted_and_the_rows_come_in_the_order_of_the_texts(size, lengths):
    seen = []

    def encode_batch(batch):
        seen.append([len(text) for text in batch])
        return np.array([[len(text)] for text in batch])

    texts = ["z", "ccc", "dddd", "eeeee", "bb"]
    assert encode_in_batches(encode_batch, texts, size).ravel().tolist() == [1, 3, 4, 5, 2]
    assert seen == lengths


def test_the_rest_of_a_text_begins_with_the_first_piece_that_is_not_read():
    assert unread("roll the rollback", [(0, 4), (5, 8), (9, 13), (13, 17)], 5) == "back"
    assert unread("one two\n", [(0, 3), (4, 7)], 4) == ""
    assert unread("a" * 255, [(at, at + 1) for at in range(255)]) == "a"
