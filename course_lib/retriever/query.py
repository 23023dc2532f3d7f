"""The search query: a question's vector and words go in, the chunks that answer it come out.

Two ways lead to the nearest vectors: to walk an HNSW graph, or to look at every row that passes the
filters. A filter that keeps few rows starves the walk, and few rows are quick to look at. So
PostgreSQL may choose, by how many rows it expects to pass; and where a walk came back with too few,
`search_filtered` has all of them looked at. With the question's words, those that hold them are
found too. The statements are in `statements.py`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import psycopg
from psycopg.rows import namedtuple_row

from course_lib.records import ANYTHING, Query, SearchResult
from course_lib.retriever.citing import COMMITS, documents_in_commits, in_commits
from course_lib.retriever.execution import own_settings, search_errors_explained
from course_lib.retriever.statements import (
    BY_VECTOR,
    EXACT,
    NEAREST,
    WITH_WORDS,
    as_vector,
    distance_of,
    values_of,
)

Item = TypeVar("Item", bound=Hashable)

RRF_K = 60
"""What is added to a place before it is inverted: the first place counts little more than the next.

60 is the constant of Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet
and individual Rank Learning Methods" (SIGIR 2009).
"""


def find_nearest(
    conn: psycopg.Connection[Any], values: Mapping[str, Any], distance: str = BY_VECTOR
) -> list[Any]:
    """Return the rows that `NEAREST` finds, with `distance` filled in for `{distance}`.

    - A walk continues after a filter has removed rows, and the rows are in the order of `distance`.
    - The statement is planned for its values, however often it runs.
    - After the search, also one that fails, the settings of `conn` are as before.
      If the caller has opened a transaction, they are as before when it ends.
    - Rows have names (`row.similarity_score`), as by a cursor with `row_factory=namedtuple_row`.

    Examples
    --------
    ::

        values = Query(kind="doc-section").filters | {"query": vector, "top_k": 2}
        [row.document_name for row in find_nearest(conn, values)]
        # ['ci-cd-for-ml.md', 'ci-cd-for-ml.md']
    """
    with conn.transaction(), conn.cursor(row_factory=namedtuple_row) as cursor:
        cursor.execute("SET LOCAL hnsw.iterative_scan = strict_order")
        return cursor.execute(NEAREST.format(distance=distance), values, prepare=False).fetchall()


def search_filtered(
    conn: psycopg.Connection[Any],
    values: Mapping[str, Any],
    threshold: float = 0.0,
    distance: str = BY_VECTOR,
) -> list[Any]:
    """Return the `top_k` nearest rows that pass the filters, without those not similar enough.

    - The first search is `find_nearest` with `distance`.
    - If it returns fewer than `top_k` rows, a walk may have ended too early. An exact scan
      (`EXACT`) returns all that were missed.
    - Do not search a second time if that can only find the same rows again.
    - Rows less similar than `threshold` are not returned. They are not missing.
      A similarity of NaN is below any threshold.

    Examples
    --------
    ::

        values = Query(kind="doc-section", namespace="archive").filters
        rows = search_filtered(conn, values | {"query": vector, "top_k": 3})
        [(row.document_name, round(row.similarity_score, 2)) for row in rows]
        # [('1000.md', 0.13), ('1100.md', 0.03), ('0700.md', 0.03)]
    """
    rows = find_nearest(conn, values, distance)
    if len(rows) < values["top_k"] and distance != EXACT:
        rows = find_nearest(conn, values, EXACT)
    return [row for row in rows if row.similarity_score >= threshold]


def fuse(*rankings: Iterable[Item]) -> list[tuple[Item, float]]:
    """Fuse rankings into one: reciprocal rank fusion.

    - An item gets `1 / (RRF_K + place)` from each ranking that it is in; places count from 1.
    - Its score is the sum of these.
    - Returns pairs of an item and its score, the highest score first.
    - Items with the same score come in the order of the first ranking, then of the next one.

    Examples
    --------
    >>> [name for name, score in fuse(["a", "b", "c"], ["c", "d"])]
    ['c', 'a', 'b', 'd']
    >>> dict(fuse(["a", "b", "c"], ["c", "d"]))["c"] == 1 / 63 + 1 / 61
    True
    """
    scores: dict[Item, float] = {}
    for ranking in rankings:
        for place, item in enumerate(ranking, 1):
            scores[item] = scores.get(item, 0) + 1 / (RRF_K + place)
    return sorted(scores.items(), key=lambda pair: -pair[1])


def search(
    conn: psycopg.Connection[Any],
    query_vector: Sequence[float] | np.ndarray[Any, Any],
    query: Query = ANYTHING,
) -> list[SearchResult]:
    """Return the chunks that answer a question best, given its vector and, better, its words.

    Parameters
    ----------
    conn
        A connection from `connect`.
    query_vector
        As many numbers as the table's vectors have. It need not have length 1.
    query
        The question's words, how many results, and which rows count.

    Returns
    -------
    list of SearchResult
        By falling `score`, equals by document name and the chunk's index in it. The score is the
        cosine similarity in dense mode. In hybrid mode it is the sum of ``1 / (60 + place)`` over
        the two rankings (see `fuse`): a chunk that comes third by meaning and first by words has
        1/63 + 1/61. `similarity_score` is the cosine in both.

    Raises
    ------
    InputError
        If the vector holds NaN or has the wrong dimension, or a hybrid search is asked for without
        a question.
    DatabaseError
        If there is no index, or one of an earlier version, or the database went away.

    Examples
    --------
    >>> from course_lib.retriever import Query, search
    >>> search(conn, vector, Query("Who may use PodDefault?", top_k=3))  # doctest: +SKIP
    [SearchResult(...), SearchResult(...), SearchResult(...)]
    """
    vector = as_vector(query_vector)
    values, distance = values_of(vector, query), distance_of(vector, query)
    said = None
    # Where the transaction is ours, all statements see the same rows. The settings end with it.
    with search_errors_explained(conn), own_settings(conn, query.ef_search):
        near = search_filtered(conn, values, query.least, distance)
        if query.words is not None:
            cursor = conn.cursor(row_factory=namedtuple_row)
            said = cursor.execute(WITH_WORDS, values, prepare=False).fetchall()
        results = ranked(query, near, said)
        # The newest commit of each document, for the address that is cited.
        documents = documents_in_commits(results)
        commits = conn.execute(COMMITS, documents).fetchall() if documents else []
    return in_commits(results, commits)


def ranked(query: Query, near: Sequence[Any], said: Sequence[Any] | None) -> list[SearchResult]:
    """Return the results out of the rows found by meaning and, in hybrid mode, by words.

    Parameters
    ----------
    query
        What was asked.
    near, said
        Rows by falling similarity, and the rows that say the question's words, the best first.
    """
    # Vectors of over 2,000 numbers are indexed at half precision: in not quite this order.
    near = sorted(near, key=lambda row: (-row.similarity_score, *_identity(row)))
    if said is None:
        scored = [(row, row.similarity_score) for row in near]
    else:
        rows = {row.chunk_id: row for row in [*near, *said]}
        fused = fuse([row.chunk_id for row in near], [row.chunk_id for row in said])
        scored = sorted(
            ((rows[chunk_id], score) for chunk_id, score in fused),
            key=lambda pair: (-pair[1], *_identity(pair[0])),
        )
    # Only now: a row that words found keeps its place in their ranking.
    similar = [pair for pair in scored if pair[0].similarity_score >= query.least]
    return [SearchResult(**row._asdict(), score=score) for row, score in similar[: query.top_k]]


def _identity(row: Any) -> tuple[Any, ...]:
    """Return what decides among rows of equal score, so that each search gives the same order."""
    where = row.partition, row.tenant_id, row.repo_slug, row.branch
    return row.document_name, row.chunk_index, *where
