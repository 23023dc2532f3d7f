"""Which model filled the index: vectors of two models say nothing about each other."""

from __future__ import annotations

from typing import Any

import psycopg

from course_lib.errors import SchemaMismatchError
from course_lib.store.collection import ways_out
from course_lib.store.schema import stored_dimension

MOST_NAMES = 3


def check_model(
    conn: psycopg.Connection[Any],
    model: str,
    dimension: int,
    *,
    tenant: str | None = None,
    repo: str | None = None,
) -> None:
    """Refuse to compare a model's vectors with those of another one.

    Parameters
    ----------
    conn
        A connection from `connect`.
    model, dimension
        What encodes the question: `EmbeddingClient.model_name` and `.dimension`.
    tenant, repo
        Look only at what is stored of these; None means any.

    Raises
    ------
    SchemaMismatchError
        If the index has another dimension, or holds documents that another model encoded. The hint
        names the two ways out. Without an index there is nothing to refuse.

    Examples
    --------
    >>> check_model(conn, "all-MiniLM-L6-v2", 384)  # doctest: +SKIP
    """
    with conn.transaction():
        stored = stored_dimension(conn)
        if stored is None:
            return
        others = conn.execute(
            "SELECT model, count(*) FROM documents WHERE model <> ALL(%(models)s) "
            "AND (%(tenant)s::text IS NULL OR tenant_id = %(tenant)s) "
            "AND (%(repo)s::text IS NULL OR repo_slug = %(repo)s) "
            "GROUP BY model ORDER BY count(*) DESC, model",
            {"models": _names(model), "tenant": tenant, "repo": repo},
        ).fetchall()
    if not others and stored == dimension:
        return
    named = ", ".join(
        f"{name} ({count} document{'s' * (count != 1)})" for name, count in others[:MOST_NAMES]
    )
    filled = f" by {named}" if named else ""
    raise SchemaMismatchError(
        f"the index was filled{filled} with vectors of {stored} dimensions, "
        f"and {model} with {dimension} asks it",
        hint=ways_out(others[0][0] if others else None),
    )


def _names(model: str) -> list[str]:
    """Return what a model may be called; the course's own is known by two names."""
    bare = model.removeprefix("sentence-transformers/")
    return [bare, f"sentence-transformers/{bare}"]
