"""Reranking: a question and what was found for it go in, the same in better order comes out.

A CrossEncoder reads question and passage together, which is what it was trained for. So its order
takes the place of the search's.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

from course_lib.embedder.hub import load
from course_lib.errors import ModelError
from course_lib.records import RERANK_K, SearchResult, embedded_text

WAYS_OUT = (
    "Give a folder or a name on the hub as --rerank or RAG_RERANK_MODEL; or leave it out, and the "
    "order of the search stays."
)


def rerank(
    model: str, question: str, results: Sequence[SearchResult], *, rerank_k: int = RERANK_K
) -> list[SearchResult]:
    """Return the results with the first `rerank_k` of them in a better order.

    Parameters
    ----------
    model
        A CrossEncoder that sentence-transformers loads, by name or path.
    question
        The question.
    results
        What a search returned, best first. They are read under their headers.
    rerank_k
        How many of them are read and re-ordered; the others follow them, in their order.

    Returns
    -------
    list of SearchResult
        Equals are in the order in which they came. The scores stay as they are.

    Raises
    ------
    ModelError
        If there is no such CrossEncoder, or it gives no single number for a pair.

    Examples
    --------
    >>> model = "cross-encoder/ms-marco-MiniLM-L6-v2"
    >>> rerank(model, "Who may use PodDefault?", results)  # doctest: +SKIP
    [SearchResult(...), SearchResult(...), ...]
    """
    if not results:
        return []
    texts = [embedded_text(one.content, one.metadata.get("header")) for one in results[:rerank_k]]
    scores = _cross_encoder(model).predict(
        [(question, text) for text in texts], show_progress_bar=False
    )
    if getattr(scores, "shape", None) != (len(texts),):
        raise ModelError(
            f"{model} gives no single score for a question and a passage",
            hint="Name a CrossEncoder with one label, such as cross-encoder/ms-marco-MiniLM-L6-v2.",
        )
    order = sorted(range(len(texts)), key=lambda at: -float(scores[at]))
    return [*(results[at] for at in order), *results[rerank_k:]]


@lru_cache(maxsize=1)
def _cross_encoder(model: str) -> Any:
    from sentence_transformers import CrossEncoder

    return load(partial(CrossEncoder, device="cpu"), model, WAYS_OUT)
