"""Which passages: candidates go in, the few that say most and repeat least come out.

Two copies of a text are one passage. Of texts that are merely alike, maximal marginal relevance
takes the next one by what it adds: its relevance, less its likeness to what was taken (Carbonell
and Goldstein, "The Use of MMR, Diversity-Based Reranking for Reordering Documents and Producing
Summaries", SIGIR 1998).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from course_lib.records import SearchResult

Vectors = np.ndarray[Any, np.dtype[np.float32]]


def without_copies(
    results: Sequence[SearchResult], taken: Sequence[SearchResult] = ()
) -> list[SearchResult]:
    """Return the results whose text is in none before them, nor in what is taken already.

    White space does not count, and a text that is part of another one is a copy, too. What one file
    has of a text is the first: the same text in two files is one passage.

    Examples
    --------
    >>> from course_lib.records import SearchResult
    >>> def result(name, text):
    ...     return SearchResult(name, name, 0, text, 0, 0, "documentation", "", "", "thing", name)
    >>> found = [result("a", "one two"), result("b", "one  two"), result("c", "two")]
    >>> [one.document_name for one in without_copies(found)]
    ['a']
    """
    seen = [_squeezed(result) for result in taken]
    kept = []
    for result in results:
        text = _squeezed(result)
        if text.strip() and not any(text in other for other in seen):
            seen.append(text)
            kept.append(result)
    return kept


def maximal_marginal_relevance(
    relevance: Sequence[float],
    vectors: Vectors,
    count: int,
    *,
    diversity: float,
    taken: Vectors | None = None,
) -> list[int]:
    """Return the places of `count` candidates, taken one by one: each time the one that adds most.

    - A candidate adds ``(1 - diversity) * relevance - diversity * similarity``.
    - The similarity is that to the most similar passage already taken, or in `taken`.
    - If it is below 0, or if nothing is taken yet, it counts as 0.
    - Of equal values, the first candidate is taken.
    - If there are fewer than `count` candidates, all of them are taken.

    Parameters
    ----------
    relevance
        Of each candidate, between 0 and 1.
    vectors
        Of each candidate, of length 1: float32 of shape (n, dimension).
    count
        How many to take.
    diversity
        From 0 (only relevance counts) to 1 (only similarity counts).
    taken
        Vectors of what the context has already, of shape (m, dimension); m may be 0.

    Examples
    --------
    The second candidate is a copy of the first:

    >>> vectors = np.array([[1, 0], [1, 0], [0, 1]], np.float32)
    >>> maximal_marginal_relevance([0.9, 0.8, 0.7], vectors, 3, diversity=0.5)
    [0, 2, 1]
    >>> maximal_marginal_relevance([0.9, 0.8, 0.7], vectors, 2, diversity=0)
    [0, 1]
    """
    taken = vectors[:0] if taken is None else taken
    similarity = (vectors @ taken.T).max(axis=1, initial=0)
    order: list[int] = []
    while len(order) < min(count, len(relevance)):
        adds = (1 - diversity) * np.array(relevance) - diversity * similarity
        adds[order] = -np.inf
        order.append(int(adds.argmax()))
        similarity = np.maximum(similarity, vectors @ vectors[order[-1]])
    return order


def by_place(count: int) -> list[float]:
    """Return relevances that fall evenly from 1 with the place in a ranking.

    Scores of different searches and rerankers have scales of their own; places have none.

    Examples
    --------
    >>> by_place(4)
    [1.0, 0.75, 0.5, 0.25]
    """
    return [1 - place / count for place in range(count)]


def _squeezed(result: SearchResult) -> str:
    # Padded, so that part of a word is not part of the text.
    return f" {' '.join(result.content.split())} "
