"""Late interaction: a question and what was found for it go in, the same in better order comes out.

One vector says what a passage is about as a whole. Here each word piece of the question looks for
the word piece of the passage that is most like it: the MaxSim of ColBERT (Khattab and Zaharia,
"ColBERT: Efficient and Effective Passage Search via Contextualized Late Interaction over BERT",
SIGIR 2020), with the vectors of a model that was not trained for it. That is why its verdict is
fused with the search's own, and does not replace it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from course_lib.errors import InputError
from course_lib.records import SearchResult, embedded_text
from course_lib.retriever.statements import RRF_K

if TYPE_CHECKING:
    from course_lib.embedder import EmbeddingClient

Vectors = np.ndarray[Any, np.dtype[np.float32]]


def maxsim(question: Vectors, passage: Vectors) -> float:
    """Return the mean, over a question's word pieces, of each one's best match in a passage.

    Parameters
    ----------
    question, passage
        Vectors of length 1, one a word piece: float32 of shapes (q, dimension), (p, dimension).

    Returns
    -------
    float
        Between -1 and 1; 0 where one of them has no word piece.

    Examples
    --------
    The question's first piece is in the passage; for its second one there is something like it:

    >>> question = np.array([[1, 0, 0], [0, 1, 0]], np.float32)
    >>> passage = np.array([[1, 0, 0], [0, 0.5, 0.75**0.5]], np.float32)
    >>> maxsim(question, passage)
    0.75
    """
    if not len(question) or not len(passage):
        return 0.0
    return float((question @ passage.T).max(axis=1).mean())


def rerank_maxsim(
    embedder: EmbeddingClient,
    question: str,
    results: Sequence[SearchResult],
    *,
    maxsim_k: int = 20,
) -> list[SearchResult]:
    """Return the results with the first `maxsim_k` of them in a better order.

    Parameters
    ----------
    embedder
        Whose `encode_tokens` reads the question and the passages, these under their headers.
    question
        The question.
    results
        What a search returned, best first.
    maxsim_k
        How many of them are read and re-ordered; the others stay behind those, in their order.

    Returns
    -------
    list of SearchResult
        By falling `score`, equals in the order in which they came. The score is
        ``1 / (60 + place)`` for the place that the search gave, and the same once more for the
        place by MaxSim among the first `maxsim_k`.

    Raises
    ------
    InputError
        If `maxsim_k` is below 1.

    Examples
    --------
    What the search had third and MaxSim has first goes before what is second in both:

    >>> 1 / 63 + 1 / 61 > 1 / 62 + 1 / 62
    True
    """
    if maxsim_k < 1:
        raise InputError(f"maxsim_k is {maxsim_k}", hint="Re-order 1 result or more.")
    order = fused_order(len(results), likenesses(embedder, question, results[:maxsim_k]))
    return [replace(results[at], score=score) for at, score in order]


def likenesses(
    embedder: EmbeddingClient, question: str, results: Sequence[SearchResult]
) -> list[float]:
    """Return the MaxSim of the question and each result, which is read under its header."""
    if not results:
        return []
    texts = [embedded_text(result.content, result.metadata.get("header")) for result in results]
    asked, *passages = embedder.encode_tokens([question, *texts])
    return [maxsim(asked, passage) for passage in passages]


def fused_order(count: int, likeness: Sequence[float]) -> list[tuple[int, float]]:
    """Return where each of `count` results stood before, in the order and with the score it gets.

    Examples
    --------
    The third of four is most like the question, the first least; the fourth was not read:

    >>> [at for at, score in fused_order(4, [0.4, 0.5, 0.8])]
    [0, 2, 1, 3]
    """
    scores = [1 / (RRF_K + place) for place in range(1, count + 1)]
    for place, at in enumerate(sorted(range(len(likeness)), key=lambda at: -likeness[at]), 1):
        scores[at] += 1 / (RRF_K + place)
    return sorted(enumerate(scores), key=lambda one: -one[1])
