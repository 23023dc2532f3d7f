"""Suggestions: an instruction goes in, those of a project's packages that it is about come out.

The nearest by meaning among that project's names only, in one query. A project has few names, so
each of them is compared: exactly, and without a vector index that could find too few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

import numpy as np
import psycopg
from pgvector import Vector

from course_lib.embedder import EmbeddingClient
from course_lib.errors import InputError, ModelError
from course_lib.records import Report
from course_lib.store.tenancy import as_tenant
from course_lib.xray.tables import explained

FALLBACK = 50
"""How many packages are suggested where none can be chosen."""

NO_MODEL = "there is no model"

COLUMNS: LiteralString = (
    "mine.name, mine.version, coalesce(mine.description, package.description) AS description"
)
"""What is shown of a package: `mine` is its row in the list, `package` the one in the catalogue."""

FIRST: LiteralString = f"""
SELECT {COLUMNS}
FROM xray_report_packages AS mine
JOIN xray_packages AS package USING (language, name)
WHERE mine.tenant_id = %(tenant)s AND mine.project = %(project)s AND mine.language = %(language)s
ORDER BY mine.name COLLATE "C" LIMIT {FALLBACK}
"""
"""The first packages by name: what is left where nothing can be compared."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A package of the project; `similarity` is the cosine, None where nothing was compared."""

    name: str
    version: str
    description: str | None
    similarity: float | None = None


@dataclass(frozen=True, slots=True)
class Suggestions(Report):
    """What was suggested, most similar first.

    `fallback` is empty, or says why these are only the first packages by name.
    """

    packages: tuple[Suggestion, ...] = ()
    fallback: str = ""

    @property
    def is_fallback(self) -> bool:
        """Whether these are only the first packages, and none was chosen for the instruction."""
        return bool(self.fallback)


def choose(near: Sequence[Any], first: Sequence[Any], why: str) -> Suggestions:
    """Return the nearest packages, or the first by name as a fallback that says why.

    - If there are nearest packages, they are the suggestions, and nothing is a fallback.
    - If there are none, the first packages by name are suggested. Packages that only replace the
      nearest ones are a fallback: then `fallback` is `why`.
    - `Suggestion(*row)` takes both kinds of rows; without a fourth value its similarity is None.
    - `Suggestions(packages, fallback)` takes a tuple of them, and why they are a fallback, or "".

    Parameters
    ----------
    near
        Rows (name, version, description, similarity): what `nearest_packages_query` found.
    first
        Rows (name, version, description): the first packages of the project by name.
    why
        Why there may be no nearest packages, such as "there is no model".

    Examples
    --------
    >>> first = [("attrs", "25.1.0", "Classes without boilerplate")]
    >>> choose([("spotipy", "2.25.1", "Client for Spotify", 0.5)], first, "no model").fallback
    ''
    >>> choose([], first, "no model").fallback
    'no model'
    """
    found = tuple(Suggestion(*row) for row in near or first)
    return Suggestions(found, why if first and not near else "")


def suggest(
    conn: psycopg.Connection[Any],
    embedder: EmbeddingClient | None,
    instruction: str,
    *,
    project: str,
    language: str,
    k: int = 5,
    tenant: str = "local",
) -> Suggestions:
    """Return the packages of a project that an instruction is most likely about.

    Parameters
    ----------
    conn
        A connection from `connect`.
    embedder
        The model that made the vectors; None where there is none.
    instruction
        What is to be programmed, such as "fetch top charts from Spotify".
    project, language, tenant
        Whose packages are suggested. A project that was never scanned has none.
    k
        How many, at most.

    Returns
    -------
    Suggestions
        Where no model or none of its vectors is available: the first 50 by name, marked as the
        fallback.

    Raises
    ------
    InputError
        If the instruction is empty or `k` below 1.
    DatabaseError
        If there are no tables, or the database went away.
    """
    if not instruction.strip():
        raise InputError("the instruction is empty", hint="Say what is to be programmed.")
    if k < 1:
        raise InputError(f"k is {k}", hint="Ask for 1 package or more.")
    near: list[Any] = []
    values = {"tenant": tenant, "project": project, "language": language}
    with explained(conn):
        model, vector, why = _encoded(embedder, instruction)
        with as_tenant(conn, tenant):
            if vector is not None:
                query = nearest_packages_query(vector, project, language, model, k, tenant)
                near = conn.execute(*query).fetchall()
            first = [] if near else conn.execute(FIRST, values).fetchall()
    return choose(near, first, why)


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
    near: list[Any] = []
    first: list[Any] = []
    with explained(conn):
        if query_vector is not None:
            vector = Vector(query_vector)
            query = nearest_packages_query(vector, project, language, model, k, tenant)
            near = await (await conn.execute(*query)).fetchall()
        if not near:
            values = {"tenant": tenant, "project": project, "language": language}
            first = await (await conn.execute(FIRST, values)).fetchall()
    return choose(near, first, NO_MODEL if query_vector is None else _no_vectors(model))


def nearest_packages_query(
    vector: object, project: str, language: str, model: str, k: int = 5, tenant: str = "local"
) -> tuple[str, dict[str, object]]:
    """Return the query for the packages of a project that are nearest to a vector, and its values.

    - `xray_report_packages` (call it `mine`) has the packages of each project: `tenant_id`,
      `project`, `language`, `name`, `version`.
    - `xray_packages` (call it `package`) has the vectors of all packages: `language`, `name`,
      `model`, `embedding`. A package without a vector has no model.
    - Only the packages count that this project of this tenant uses in this language, and of these
      only those whose vectors this model made.
    - The nearest come first; if equally near, in the order of `mine.name`; at most `k` of them.
    - Return the nearest packages, however far away they are.
    - The columns are `COLUMNS`, and `similarity`, which is 1 minus the cosine distance.

    Parameters
    ----------
    vector
        The vector of the instruction.
    project, language, model, k, tenant
        As above.

    Returns
    -------
    str, dict
        A query with named placeholders, and their values: what `conn.execute` takes.

    Examples
    --------
    >>> query, values = nearest_packages_query([0.6, 0.8], "rider-app", "python", "mini", 1)
    >>> values["k"], "LIMIT %(k)s" in query
    (1, True)
    >>> conn.execute(query, values).fetchall()  # doctest: +SKIP
    [('spotipy', '2.25.1', "Client for Spotify's Web API: …", 0.47)]
    """
    query = f"""
        SELECT {COLUMNS}, 1 - (package.embedding <=> %(vector)s) AS similarity
        FROM xray_report_packages AS mine
        JOIN xray_packages AS package USING (language, name)
        WHERE mine.tenant_id = %(tenant)s AND mine.project = %(project)s
          AND mine.language = %(language)s AND package.model = %(model)s
        ORDER BY package.embedding <=> %(vector)s, mine.name
        LIMIT %(k)s
    """
    values = {"tenant": tenant, "project": project, "language": language, "model": model}
    return query, {**values, "vector": vector, "k": k}


def _encoded(embedder: EmbeddingClient | None, instruction: str) -> tuple[str, Vector | None, str]:
    """Return the model, the instruction's vector if there is one, and why nothing may be near."""
    if embedder is None:
        return "", None, NO_MODEL
    try:
        vector = Vector(embedder.encode([instruction])[0])
    except ModelError as error:
        return "", None, f"{NO_MODEL}: {error.args[0]}"
    return embedder.model_name, vector, _no_vectors(embedder.model_name)


def _no_vectors(model: str) -> str:
    return (
        f"no package of the project has a vector of the model {model}; "
        "the next `course xray scan` makes them"
    )
