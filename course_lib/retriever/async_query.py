"""The search query for a service: the same statements as `search`, on an async connection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import psycopg
from psycopg.rows import dict_row

from course_lib.records import SearchResult
from course_lib.retriever.query import Mode, explained, find, want


async def search_async(
    conn: psycopg.AsyncConnection[Any],
    query_vector: Sequence[float] | np.ndarray[Any, Any],
    top_k: int = 5,
    threshold: float = 0.0,
    partitions: Iterable[str] | str | None = None,
    kind: str | None = None,
    *,
    question: str | None = None,
    mode: Mode | None = None,
    repo: str | None = None,
    branch: str | None = None,
    namespace: str | None = None,
    document: str | None = None,
    tenant: str | None = None,
    ef_search: int | None = None,
    exact: bool | None = None,
) -> list[SearchResult]:
    """Return what `search` returns, without blocking the event loop.

    Parameters, results and errors are those of `search`, but for the connection: an async one, in
    a transaction of the caller's, whose settings are changed until it ends.

    Examples
    --------
    >>> async with conn.transaction():  # doctest: +SKIP
    ...     await search_async(conn, vector, question="Who may use PodDefault?")
    [SearchResult(...), SearchResult(...)]
    """
    wanted = want(
        query_vector, top_k, threshold, partitions, question, mode, ef_search,
        kind=kind, repo_slug=repo, branch=branch, namespace=namespace,
        document_name=document, tenant_id=tenant,
    )  # fmt: skip
    with explained():
        async with conn.cursor(row_factory=dict_row, binary=True) as cursor:
            steps = find(wanted, exact)
            try:
                query = next(steps)
                while True:
                    await cursor.execute(query, wanted.values, prepare=wanted.is_prepared)
                    query = steps.send(await cursor.fetchall())
            except StopIteration as end:
                found: list[SearchResult] = end.value
    return found
