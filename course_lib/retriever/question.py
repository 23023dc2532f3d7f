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
    balanced: bool = True,
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
    balanced
        With ``"maxsim"``, and more than one partition to look into: search each of them alone,
        read twice `maxsim_k` results, as many of each, and weigh them against each other; see
        `course_lib.retriever.balance`. False searches all of them as one list.
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
    vector = embedder.encode([question])[0]
    everywhere = partitions if partitions is None or isinstance(partitions, str) else [*partitions]

    def look(where: Iterable[str] | str | None) -> list[SearchResult]:
        return search(
            conn,
            vector,
            max(top_k, maxsim_k) if rerank and top_k >= 1 else top_k,
            threshold,
            where,
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
        return look(everywhere)
    from course_lib.retriever.rerank import rerank_maxsim

    several = _several(conn, embedder, everywhere) if balanced else []
    found = {name: results for name in several if (results := look(name))}
    if len(found) > 1:
        from course_lib.retriever.balance import balance

        return balance(embedder, question, found, maxsim_k=maxsim_k)[:top_k]
    [results] = found.values() or [look(everywhere)]
    return rerank_maxsim(embedder, question, results, maxsim_k=maxsim_k)[:top_k]


def _several(
    conn: psycopg.Connection, embedder: EmbeddingClient, partitions: list[str] | str | None
) -> list[str]:
    """Return the partitions that are to be weighed against each other, none where there is one."""
    from course_lib.retriever.balance import learnt, partitions_in

    # What was learnt with one model says nothing about the likeness that another one sees.
    if isinstance(partitions, str) or embedder.model_name != learnt().model:
        return []
    names = partitions_in(conn) if partitions is None else list(dict.fromkeys(partitions))
    return names if len(names) > 1 else []
