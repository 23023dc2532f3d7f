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
from typing import TYPE_CHECKING

from course_lib.records import RERANK_K, SearchResult, embedded_text
from course_lib.retriever.query import fuse

if TYPE_CHECKING:
    from course_lib.embedder import EmbeddingClient
    from course_lib.embedder.vectors import Vectors


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

    >>> import numpy as np
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
    maxsim_k: int = RERANK_K,
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
        How many of them are read and re-ordered; the others follow them, in their order.

    Returns
    -------
    list of SearchResult
        By falling `score`, equals in the order in which they came. The score is
        ``1 / (60 + place)`` for the place that the search gave, and the same twice for the place by
        MaxSim among the first `maxsim_k`.

    Examples
    --------
    What the search had third and MaxSim has first goes before what the search had first and MaxSim
    has second:

    >>> 1 / 63 + 2 / 61 > 1 / 61 + 2 / 62
    True
    """
    if not results:
        return []
    first = [embedded_text(one.content, one.metadata.get("header")) for one in results[:maxsim_k]]
    asked, *passages = embedder.encode_tokens([question, *first])
    likeness = [maxsim(asked, passage) for passage in passages]
    by_likeness = sorted(range(len(first)), key=lambda at: -likeness[at])
    fused = fuse(range(len(results)), by_likeness, by_likeness)
    return [replace(results[at], score=score) for at, score in fused]
