"""From a question to its answers in one call: encode it, search, and re-order what was found.

This is what every user of the library calls: the command line, the service, the labs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import psycopg

from course_lib.errors import InputError
from course_lib.records import Query, SearchResult
from course_lib.retriever.query import search

if TYPE_CHECKING:
    from course_lib.embedder import EmbeddingClient


def retrieve(
    conn: psycopg.Connection, embedder: EmbeddingClient, query: Query
) -> list[SearchResult]:
    """Return the chunks that answer a question.

    Parameters
    ----------
    conn
        A connection from `connect`.
    embedder
        The model that filled the index.
    query
        The question, how many results, and which rows count. With ``rerank="maxsim"`` the first
        results are ordered again; see `course_lib.retriever.rerank`.

    Returns
    -------
    list of SearchResult
        By falling `score`.

    Raises
    ------
    InputError
        If there is no question, or it is empty.
    DatabaseError
        If there is no index, or the database went away.

    Examples
    --------
    >>> query = Query("Who may use PodDefault?", rerank="maxsim")
    >>> retrieve(conn, embedder, query)  # doctest: +SKIP
    [SearchResult(...), SearchResult(...), ...]
    """
    question = query.question
    if question is None or not question.strip():
        raise InputError("the question is empty", hint='Ask something: "what is drift?"')
    vector = embedder.encode_question(question)
    if query.rerank is None:
        return search(conn, vector, query)
    from course_lib.retriever.rerank import rerank_maxsim

    wide = replace(query, top_k=max(query.top_k, query.maxsim_k))
    found = search(conn, vector, wide)
    return rerank_maxsim(embedder, question, found, maxsim_k=query.maxsim_k)[: query.top_k]
