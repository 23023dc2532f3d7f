"""Late interaction: a question and what was found for it go in, the same in better order comes out.

One vector says what a passage is about as a whole. Here each word piece of the question looks for
the word piece of the passage that is most like it: the MaxSim of ColBERT (Khattab and Zaharia,
"ColBERT: Efficient and Effective Passage Search via Contextualized Late Interaction over BERT",
SIGIR 2020), with the vectors of a model that was not trained for it. That is why its verdict is
fused with the search's own, and does not replace it.

Not every piece of a question says as much: *firewall* says more than *the*. So each counts by how
rare it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from course_lib.errors import InputError
from course_lib.records import RERANK_K, SearchResult, embedded_text
from course_lib.retriever.query import fuse

if TYPE_CHECKING:
    from course_lib.embedder import EmbeddingClient
    from course_lib.embedder.vectors import Vectors

MAXSIM_WEIGHT = 2
"""How often the order by MaxSim counts when it is fused with the search's own: a whole number."""


def maxsim(question: Vectors, passage: Vectors, weights: Vectors | None = None) -> float:
    """Return the mean, over a question's word pieces, of each one's best match in a passage.

    Parameters
    ----------
    question, passage
        Vectors of length 1, one a word piece: float32 of shapes (q, dimension), (p, dimension).
    weights
        How much each piece of the question counts, shape (q,); all the same without.

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
    >>> maxsim(question, passage, weights=np.array([3, 1]))
    0.875
    """
    if not len(question) or not len(passage):
        return 0.0
    return float(np.average((question @ passage.T).max(axis=1), weights=weights))


def rerank_maxsim(
    embedder: EmbeddingClient,
    question: str,
    results: Sequence[SearchResult],
    *,
    maxsim_k: int = RERANK_K,
) -> list[SearchResult]:
    """Return the results with the first `maxsim_k` of them in a better order.

    Parameters
    ----------
    embedder
        Whose `encode_tokens` reads the question and the passages, these under their headers, and
        whose `rarity` weighs the question's word pieces.
    question
        The question.
    results
        What a search returned, best first.
    maxsim_k
        How many of them are read and re-ordered; the others follow them, in their order.

    Returns
    -------
    list of SearchResult
        By falling `score`, equals in the order in which they came. The score is
        ``1 / (60 + place)`` for the place that the search gave, and the same twice for the place by
        MaxSim among the first `maxsim_k`.

    Raises
    ------
    InputError
        If `maxsim_k` is below 1.

    Examples
    --------
    What the search had third and MaxSim has first goes before what the search had first and MaxSim
    has second:

    >>> 1 / 63 + 2 / 61 > 1 / 61 + 2 / 62
    True
    """
    _check_maxsim_k(maxsim_k)
    places = range(len(results))
    likeness = likenesses(embedder, question, results[:maxsim_k])
    by_likeness = sorted(places[:maxsim_k], key=lambda at: -likeness[at])
    return [
        replace(results[at], score=score)
        for at, score in fuse(places, *[by_likeness] * MAXSIM_WEIGHT)
    ]


def merge_maxsim(
    embedder: EmbeddingClient,
    question: str,
    found: Sequence[Sequence[SearchResult]],
    *,
    maxsim_k: int = RERANK_K,
) -> list[SearchResult]:
    """Return what several partitions found for a question as one list.

    Pages are written in sentences, as questions are, and manifests are not: in one list for all,
    pages are before manifests that answer better. So each partition is searched alone and
    ordered as by `rerank_maxsim`; fused are its order and that of all pieces by MaxSim.

    Parameters
    ----------
    embedder, question
        As in `rerank_maxsim`.
    found
        What a search of each partition returned, best first.
    maxsim_k
        Twice as many pieces are read, as many of each partition.

    Returns
    -------
    list of SearchResult
        By falling `score`: ``1 / (60 + place)`` for the place in its own partition, and the same
        once more for the place by MaxSim among all that was read.

    Notes
    -----
    Searching collections one by one and merging what they found is what federated search does
    (Shokouhi and Si, "Federated Search", Foundations and Trends in Information Retrieval 5, 2011).
    On 81 questions about Kubeflow, in one index of its pages and manifests, MRR@10 is 0.668, and
    0.611 in one list (difference 0.057, from 0.012 to 0.105). Weights of partitions and words,
    learnt from other questions, made it 0.680 (difference 0.012, from -0.023 to 0.046).

    Examples
    --------
    >>> pages, manifests = search(conn, …), search(conn, …)                         # doctest: +SKIP
    >>> merge_maxsim(embedder, "Which image is used?", [pages, manifests])          # doctest: +SKIP
    [SearchResult(...), SearchResult(...), ...]
    """
    _check_maxsim_k(maxsim_k)
    each = math.ceil(2 * maxsim_k / max(len(found), 1))
    places = [[(number, at) for at in range(len(some))] for number, some in enumerate(found)]
    read = [place for some in places for place in some[:each]]
    texts = [found[number][at] for number, at in read]
    likeness = dict(zip(read, likenesses(embedder, question, texts), strict=True))

    def by_likeness(some: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        return sorted(some, key=lambda place: -likeness[place])

    own = [
        [place for place, _ in fuse(some, *[by_likeness(some[:each])] * MAXSIM_WEIGHT)]
        for some in places
    ]
    return [
        replace(found[number][at], score=score)
        for (number, at), score in fuse(*own, by_likeness(read))
    ]


def _check_maxsim_k(maxsim_k: int) -> None:
    if maxsim_k < 1:
        raise InputError(f"maxsim_k is {maxsim_k}", hint="Re-order 1 result or more.")


def likenesses(
    embedder: EmbeddingClient, question: str, results: Sequence[SearchResult]
) -> list[float]:
    """Return the MaxSim of the question and each result, which is read under its header."""
    if not results:
        return []
    texts = [embedded_text(result.content, result.metadata.get("header")) for result in results]
    asked, *passages = embedder.encode_tokens([question, *texts])
    weights = embedder.rarity(question)
    return [maxsim(asked, passage, weights) for passage in passages]
