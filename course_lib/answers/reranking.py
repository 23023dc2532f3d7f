"""Reranking: a question and passages go in, how well each answers it comes out.

MaxSim needs no model beside the one that filled the index. A CrossEncoder reads question and
passage together, which is what it was trained for, and costs a model and seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from course_lib.embedder.hub import load
from course_lib.errors import ModelError
from course_lib.records import SearchResult, embedded_text
from course_lib.retriever import rerank_maxsim

if TYPE_CHECKING:
    from course_lib.embedder import EmbeddingClient

MAXSIM = "maxsim"
WAYS_OUT = (
    "Give a folder or a name on the hub as RAG_RERANK_MODEL; or unset it, and MaxSim orders the "
    "passages without a further model."
)


def rerank(
    model: str, embedder: EmbeddingClient, question: str, results: Sequence[SearchResult]
) -> list[SearchResult]:
    """Return results in the order in which a reranker puts them, best first.

    Parameters
    ----------
    model
        ``"maxsim"``; or a CrossEncoder that sentence-transformers loads, by name or path.
    embedder
        Reads for MaxSim.
    question, results
        What was asked, and what was found, in the search's order.

    Raises
    ------
    ModelError
        If there is no such CrossEncoder, or it gives no single number for a pair.
    """
    if not results:
        return []
    if model == MAXSIM:
        return rerank_maxsim(embedder, question, results, maxsim_k=len(results))
    texts = [embedded_text(one.content, one.metadata.get("header")) for one in results]
    scores = _cross_encoder(model).predict(
        [(question, text) for text in texts], show_progress_bar=False
    )
    if getattr(scores, "shape", None) != (len(results),):
        raise ModelError(
            f"{model} gives no single score for a question and a passage",
            hint="Name a CrossEncoder with one label, such as cross-encoder/ms-marco-MiniLM-L6-v2.",
        )
    order = sorted(range(len(results)), key=lambda place: -float(scores[place]))
    return [results[place] for place in order]


@lru_cache(maxsize=1)
def _cross_encoder(model: str) -> Any:
    from sentence_transformers import CrossEncoder

    return load(partial(CrossEncoder, device="cpu"), model, WAYS_OUT)
