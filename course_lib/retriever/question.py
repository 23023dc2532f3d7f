"""From a question to its answers in one call: encode it, search, and re-order what was found.

This is what every user of the library calls: the command line, the service, the labs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

import psycopg

from course_lib.errors import InputError
from course_lib.records import SearchResult
from course_lib.retriever.query import Mode, search

if TYPE_CHECKING:
    from course_lib.embedder import EmbeddingClient

Rerank = Literal["maxsim"]


def retrieve(
    conn: psycopg.Connection,
    embedder: EmbeddingClient,
    question: str,
    *,
    top_k: int = 5,
    threshold: float = 0.0,
    mode: Mode = "hybrid",
    rerank: Rerank | None = None,
    maxsim_k: int = 20,
    partitions: Iterable[str] | str | None = None,
    kind: str | None = None,
    repo: str | None = None,
    branch: str | None = None,
    namespace: str | None = None,
    document: str | None = None,
    tenant: str | None = None,
) -> list[SearchResult]:
    """Return the chunks that answer a question.

    Parameters
    ----------
    conn
        A connection from `connect`.
    embedder
        The model that filled the index.
    question
        In anybody's words; identifiers may stand in it as they are written.
    top_k
        How many results, at most; this many come back wherever that many qualify.
    threshold
        Smallest cosine similarity of a result.
    mode
        ``"hybrid"`` or ``"dense"``; see `search`.
    rerank
        ``"maxsim"`` re-orders the first results by comparing word with word; see
        `course_lib.retriever.rerank`. It reads each of them with the model, which takes a few
        hundred milliseconds.
    maxsim_k
        How many of the first results are re-ordered; the others follow behind them.
    partitions, kind, repo, branch, namespace, document, tenant
        Only chunks with these values; None means any.

    Returns
    -------
    list of SearchResult
        By falling `score`.

    Raises
    ------
    InputError
        If the question is empty, or an argument is out of its range.
    DatabaseError
        If there is no index, or the database went away.

    Examples
    --------
    >>> retrieve(conn, embedder, "Who may use PodDefault?", rerank="maxsim")  # doctest: +SKIP
    [SearchResult(...), SearchResult(...), ...]
    """
    if not question.strip():
        raise InputError("the question is empty", hint='Ask something: "what is drift?"')
    if rerank not in (None, "maxsim"):
        raise InputError(f"there is no rerank {rerank!r}", hint="It is 'maxsim', or None.")
    if maxsim_k < 1:
        raise InputError(f"maxsim_k is {maxsim_k}", hint="Re-order 1 result or more.")
    results = search(
        conn,
        embedder.encode([question])[0],
        max(top_k, maxsim_k) if rerank and top_k >= 1 else top_k,
        threshold,
        partitions,
        kind,
        question=question,
        mode=mode,
        repo=repo,
        branch=branch,
        namespace=namespace,
        document=document,
        tenant=tenant,
    )
    if rerank is None:
        return results
    from course_lib.retriever.rerank import rerank_maxsim

    return rerank_maxsim(embedder, question, results, maxsim_k=maxsim_k)[:top_k]
