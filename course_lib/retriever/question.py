"""From a question to its answers in one call: encode it, search, and re-order what was found.

This is what every user of the library calls: the command line, the service, the labs.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, LiteralString

import psycopg
from psycopg.rows import tuple_row

from course_lib.errors import InputError
from course_lib.records import Query, SearchResult
from course_lib.retriever.execution import explained
from course_lib.retriever.query import search

if TYPE_CHECKING:
    from course_lib.embedder import EmbeddingClient

PARTITIONS_IN: LiteralString = """
WITH RECURSIVE known (name) AS (
    SELECT min(partition) FROM document_chunks
    UNION ALL
    SELECT (SELECT min(partition) FROM document_chunks WHERE partition > known.name)
    FROM known WHERE known.name IS NOT NULL
)
SELECT name FROM known WHERE name IS NOT NULL
"""
"""Goes from one name to the next in the primary key's index, whatever the number of rows."""


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
        results are ordered again, of each partition alone; see `course_lib.retriever.rerank`.

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
    from course_lib.retriever.rerank import merge_maxsim, rerank_maxsim

    wide = replace(query, top_k=max(query.top_k, query.maxsim_k))
    found = [
        results
        for name in _several(conn, query)
        if (results := search(conn, vector, replace(wide, partitions=name)))
    ]
    if len(found) > 1:
        merged = merge_maxsim(embedder, question, found, maxsim_k=query.maxsim_k)
        return merged[: query.top_k]
    [results] = found or [search(conn, vector, wide)]
    return rerank_maxsim(embedder, question, results, maxsim_k=query.maxsim_k)[: query.top_k]


def _several(conn: psycopg.Connection, query: Query) -> list[str]:
    """Return the partitions that are to be searched alone; none where there is one, or one list."""
    if query.one_list or isinstance(query.partitions, str):
        return []
    if query.partitions is None:
        names = partitions_in(conn)
    else:
        names = list(dict.fromkeys(query.partitions))
    return names if len(names) > 1 else []


def partitions_in(conn: psycopg.Connection) -> list[str]:
    """Return the names of the partitions that hold a row, in alphabetical order.

    Raises
    ------
    DatabaseError
        If there is no index, or the database went away.
    """
    with (
        explained(conn),
        nullcontext() if conn.autocommit else conn.transaction(),
        conn.cursor(row_factory=tuple_row) as cursor,
    ):
        return [name for (name,) in cursor.execute(PARTITIONS_IN).fetchall()]
