"""Reranking: a question and passages go in, how well each answers it comes out.

MaxSim needs no model beside the one that filled the index. A CrossEncoder reads question and
passage together, which is what it was trained for, and costs a model and seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_lib.embedder.hub import ask_hub, was_fetched
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
    if not Path(model).expanduser().is_dir() and not was_fetched(model):
        # The library itself asks a hub that does not answer for minutes.
        try:
            ask_hub(model)
        except ModelError as error:
            raise ModelError(str(error.args[0]), hint=WAYS_OUT) from error
    from sentence_transformers import CrossEncoder

    try:
        return CrossEncoder(model, device="cpu")
    except Exception as error:
        # The library raises whatever the hub, the file system or torch came up with.
        raise ModelError(
            f"the CrossEncoder {model!r} could not be loaded: {str(error).strip()[:300]}",
            hint=WAYS_OUT,
        ) from error
