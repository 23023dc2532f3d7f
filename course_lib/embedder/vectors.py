"""The steps around a model, which lab 05 builds: arrays and plain functions go in, arrays come out.

What runs the model (torch, OpenVINO, a server) is in the files beside this one; a client in
`model.py` scales the vectors to length 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Vectors = np.ndarray[Any, np.dtype[np.float32]]
"""What an engine returns: four bytes a number, a row for each text."""


def cosine_similarity(a: Any, b: Any) -> Any:
    """Return the cosine similarity of each vector in `a` with each vector in `b`.

    A vector of zeros has similarity 0 with everything.
    Every other vector has a direction, however short it is.

    Parameters
    ----------
    a, b
        A single vector of shape (d,), or a matrix with a vector in each row, (n, d) and (m, d).

    Returns
    -------
    float or ndarray
        Two single vectors give a number. A vector and a matrix give one for each row.
        Two matrices give shape (n, m): row i of `a` with row j of `b` is at [i, j].

    Examples
    --------
    >>> cosine_similarity(np.array([[4, 3], [0, 5], [0, 0]]), np.array([3, 4]))
    array([0.96, 0.8 , 0.  ])
    """

    def unit(rows: Any) -> Any:
        length = np.linalg.norm(rows, axis=-1, keepdims=True)
        return rows / np.where(length == 0, 1, length)

    return unit(a) @ unit(b).T


def mean_pool(token_vectors: Any, mask: Any) -> Any:
    """Return the mean of each text's token vectors, padding left out.

    Parameters
    ----------
    token_vectors
        Array of shape (n, length, d): n texts, each with `length` places.
    mask
        Array of shape (n, length): 1 where a place counts, 0 where it is padding. Every text has
        at least one place that counts.

    Returns
    -------
    ndarray
        Shape (n, d); the means as they are, not scaled.

    Examples
    --------
    >>> mean_pool(np.array([[[1, 2], [3, 4], [90, 90]]]), np.array([[1, 1, 0]]))
    array([[2., 3.]])
    """
    counted = mask[:, :, None]  # 1 or 0, for all d numbers of a place
    return (token_vectors * counted).sum(axis=1) / counted.sum(axis=1)


def encode_in_batches(
    encode_batch: Callable[[list[Any]], Any], texts: list[Any], batch_size: int = 32
) -> Any:
    """Return one vector for each text, in the order of `texts`.

    Put texts of similar length into the same batch: `len` says how long a text is.
    Fill every batch with `batch_size` texts. Only the last one may hold fewer.
    Encode every text as it is: blank ones too, and equal ones each time.
    Do not change the list of texts.

    Parameters
    ----------
    encode_batch
        Takes a list of texts, and returns an array with a row for each.
    texts
        At least one text: a string, or a list of word pieces.
    batch_size
        How many texts `encode_batch` gets at once.

    Examples
    --------
    >>> def encode_batch(batch):
    ...     print(batch)
    ...     return np.array([[len(text)] for text in batch])
    >>> encode_in_batches(encode_batch, ["ccc", "a", "bb"], 2).ravel()
    ['ccc', 'bb']
    ['a']
    array([3, 1, 2])
    """
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]), reverse=True)
    ordered = [texts[place] for place in order]
    starts = range(0, len(ordered), batch_size)
    rows = np.concatenate([encode_batch(ordered[at : at + batch_size]) for at in starts])
    vectors = np.empty_like(rows)
    vectors[order] = rows
    return vectors


def unread(text: str, offsets: list[tuple[int, int]], limit: int = 256) -> str:
    """Return the part of a text that the model does not read.

    It goes from the start of the first piece that is not read to the end of the text.
    If every piece is read, it is empty.

    Parameters
    ----------
    text
        The whole text.
    offsets
        The (start, end) of each word piece, in order; the special ones are not among them.
    limit
        How many pieces the model reads. Two of these are the special ones.

    Examples
    --------
    >>> unread("one two three four", [(0, 3), (4, 7), (8, 13), (14, 18)], limit=4)
    'three four'
    """
    most = limit - 2  # without the two special pieces
    return text[offsets[most][0] :] if len(offsets) > most else ""


def byte_places(text: str) -> list[tuple[int, int]]:
    """Return for each UTF-8 byte of a text where the character that it belongs to starts and ends.

    A server does not say how it cuts a text into word pieces. No tokenizer makes more of them than
    there are bytes: what is read of a text by this count is read by the true one as well.

    Examples
    --------
    >>> byte_places("é!")
    [(0, 1), (0, 1), (1, 2)]
    """
    return [
        (place, place + 1)
        for place, character in enumerate(text)
        for _ in character.encode("utf-8", "replace")
    ]
