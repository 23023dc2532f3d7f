"""Suggestions for a service: the same statements as `suggest`, on an async connection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import psycopg

from course_lib.xray.suggestions import (
    FALLBACK,
    FIRST,
    NEAREST,
    NO_MODEL,
    Suggestion,
    Suggestions,
    nearest_values,
    no_vectors,
)
from course_lib.xray.tables import explained


async def suggest_async(
    conn: psycopg.AsyncConnection[Any],
    query_vector: Sequence[float] | np.ndarray[Any, Any] | None,
    *,
    project: str,
    language: str,
    model: str,
    k: int = 5,
    tenant: str = "local",
) -> Suggestions:
    """Return what `suggest` returns, without blocking the event loop.

    Parameters
    ----------
    conn
        An async connection, in a transaction that is the tenant's already.
    query_vector
        The instruction's vector; None where there is no model to make one.
    project, language, k, tenant
        As in `suggest`.
    model
        The model that made the vector.

    Raises
    ------
    DatabaseError
        If there are no tables, or the database went away.

    Examples
    --------
    >>> async with conn.transaction():                                   # doctest: +SKIP
    ...     await suggest_async(conn, vector, project="rider-app", language="python", model=name)
    Suggestions(packages=(Suggestion(name='spotipy', ...), ...), fallback='')
    """
    with explained(conn):
        if query_vector is not None:
            values = nearest_values(query_vector, project, language, model, k, tenant)
            cursor = await conn.execute(NEAREST, values)
            if rows := await cursor.fetchall():
                return Suggestions(tuple(Suggestion(*row) for row in rows))
        cursor = await conn.execute(
            FIRST, {"tenant": tenant, "project": project, "language": language, "k": FALLBACK}
        )
        first = tuple(Suggestion(*row) for row in await cursor.fetchall())
    why = NO_MODEL if query_vector is None else no_vectors(model)
    return Suggestions(first, why if first else "")
