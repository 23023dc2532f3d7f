"""From a question to its answers: encode it, look it up, and re-order what was found.

Every way to the index leads through here. The command line, the labs and the measurements call
`find` or `retrieve`. The service encodes in a thread of the model's own, borrows a connection after
that, and does not re-order. Answers look up more than once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import psycopg

from course_lib.errors import InputError
from course_lib.records import Query, SearchResult
from course_lib.retriever.query import search
from course_lib.retriever.versions import Found, find_versions

if TYPE_CHECKING:
    from course_lib.embedder import EmbeddingClient


def retrieve(
    conn: psycopg.Connection, embedder: EmbeddingClient, query: Query
) -> list[SearchResult]:
    """Return the chunks that answer a question, of each passage one version.

    Parameters
    ----------
    conn
        A connection from `connect`.
    embedder
        The model that filled the index.
    query
        The question, how many results, and which rows count. With `rerank` a CrossEncoder
        orders the first results again.

    Returns
    -------
    list of SearchResult
        By falling `score`; with a CrossEncoder in its order.

    Raises
    ------
    InputError
        If there is no question, or it is empty.
    ModelError
        If the CrossEncoder cannot be loaded.
    DatabaseError
        If there is no index, or the database went away.

    Examples
    --------
    >>> retrieve(conn, embedder, Query("Who may use PodDefault?"))  # doctest: +SKIP
    [SearchResult(...), SearchResult(...), ...]
    """
    return [one.result for one in find(conn, embedder, query)]


def find(conn: psycopg.Connection, embedder: EmbeddingClient, query: Query) -> list[Found]:
    """Return what `retrieve` returns, and for each result the branches that hold the same.

    Parameters and errors are those of `retrieve`.

    Examples
    --------
    >>> find(conn, embedder, Query("Who may use PodDefault?", top_k=1))  # doctest: +SKIP
    [Found(result=SearchResult(...), also_in=('v1.9', 'v1.10'))]
    """
    question = query.question
    if question is None or not question.strip():
        raise InputError("the question is empty", hint='Ask something: "what is drift?"')
    found = look_up(conn, embedder.encode_question(question), query)
    if query.rerank:
        from course_lib.retriever.rerank import rerank

        by_id = {one.result.chunk_id: one for one in found}
        results = [one.result for one in found]
        ordered = rerank(query.rerank, question, results, rerank_k=query.rerank_k)
        found = [by_id[one.chunk_id] for one in ordered]
    return found[: query.top_k]


def look_up(
    conn: psycopg.Connection[Any],
    query_vector: Sequence[float] | np.ndarray[Any, Any],
    query: Query,
) -> list[Found]:
    """Return the passages that answer a question best, each once, given its vector.

    There are `top_k` of them, or `rerank_k` with `rerank` if that is more. Parameters and errors
    are those of `search`.

    Examples
    --------
    >>> look_up(conn, vector, Query("Who may use PodDefault?", top_k=1))  # doctest: +SKIP
    [Found(result=SearchResult(...), also_in=())]
    """

    def look(count: int) -> list[SearchResult]:
        return search(conn, query_vector, replace(query, top_k=count))

    return find_versions(look, max(query.top_k, query.rerank_k if query.rerank else 0))
