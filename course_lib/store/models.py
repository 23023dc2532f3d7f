"""Which model filled the index: vectors of two models say nothing about each other."""

from __future__ import annotations

from typing import Any, LiteralString

import psycopg
from psycopg.rows import tuple_row

from course_lib.errors import SchemaMismatchError
from course_lib.store.collection import ways_out
from course_lib.store.schema import STORED, check_version

MOST_NAMES = 3

_OTHERS: LiteralString = (
    "SELECT model, count(*) FROM documents WHERE model <> ALL(%(models)s) "
    "AND (%(tenant)s::text IS NULL OR tenant_id = %(tenant)s) "
    "AND (%(repo)s::text IS NULL OR repo_slug = %(repo)s) "
    "GROUP BY model ORDER BY count(*) DESC, model"
)


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
        If the index has another dimension, or holds documents that another model encoded: the hint
        names the two ways out. Also if another version of the schema made it. Without an index
        there is nothing to refuse.

    Examples
    --------
    >>> check_model(conn, "all-MiniLM-L6-v2", 384)  # doctest: +SKIP
    """
    with conn.transaction():
        stored = conn.cursor(row_factory=tuple_row).execute(STORED).fetchone()
        if stored is None:
            return
        check_version(stored[1])
        others = conn.execute(_OTHERS, _values(model, tenant, repo)).fetchall()
    _refuse(model, dimension, stored[0], others)


def _refuse(model: str, dimension: int, stored: int, others: list[tuple[Any, ...]]) -> None:
    """Refuse an index of `stored` dimensions with documents of other models, if it is one."""
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


def _values(model: str, tenant: str | None, repo: str | None) -> dict[str, Any]:
    """Return the statement's values; the course's own model is known by two names."""
    bare = model.removeprefix("sentence-transformers/")
    names = [bare, f"sentence-transformers/{bare}"]
    return {"models": names, "tenant": tenant, "repo": repo}
