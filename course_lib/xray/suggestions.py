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
from course_lib.xray.tables import database_errors_explained

FALLBACK = 50
"""How many packages are suggested where none can be chosen."""

ANY = -1.0
"""The least similarity that leaves out nothing."""

NO_MODEL = "there is no model"
NO_VECTORS = (
    "no package of the project has a vector of the model {}; the next `course xray scan` makes them"
)

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


def choose(near: Sequence[Any], first: Sequence[Any], why: str, least: float = ANY) -> Suggestions:
    """Return what a prompt should name: packages near enough, none, or a fallback.

    - Where packages were compared, those of at least this similarity are suggested.
    - A list is a fallback only where a project has packages, and none could be compared. Then the
      first packages by name are suggested, and `fallback` says why.
    - `Suggestion(*row)` takes both kinds of rows; without a fourth value its similarity is None.
    - `Suggestions(packages, fallback)` takes a tuple of them, and why they are a fallback, or "".

    Parameters
    ----------
    near
        Rows (name, version, description, similarity): what `nearest_packages_query` found. If it is
        empty, no packages were compared.
    first
        Rows (name, version, description): the first packages of the project by name.
    why
        Why nothing may have been compared, such as "there is no model".
    least
        From which similarity on a package is suggested.

    Examples
    --------
    >>> first = [("attrs", "25.1.0", "Classes without boilerplate")]
    >>> near = [("spotipy", "2.25.1", "Client for Spotify", 0.5)]
    >>> [one.name for one in choose(near, first, "no model", 0.3).packages]
    ['spotipy']
    """
    found = near or first
    enough = (Suggestion(*row) for row in found if not near or row[3] >= least)
    return Suggestions(tuple(enough), why if first and not near else "")


def suggest(
    conn: psycopg.Connection[Any],
    embedder: EmbeddingClient | None,
    instruction: str,
    *,
    project: str,
    language: str,
    k: int = 5,
    least: float = ANY,
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
    least
        From which similarity on a package is suggested; nothing may be near enough.

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
    vector, model, why = None, "", NO_MODEL
    if embedder is not None:
        try:
            vector, model = embedder.encode_question(instruction), embedder.model_name
        except ModelError as error:
            why = f"{NO_MODEL}: {error.args[0]}"
    where = {"project": project, "language": language, "tenant": tenant}
    return suggest_near(conn, vector, model, **where, k=k, least=least, why=why)


def suggest_near(
    conn: psycopg.Connection[Any],
    query_vector: Sequence[float] | np.ndarray[Any, Any] | None,
    model: str,
    *,
    project: str,
    language: str,
    k: int = 5,
    least: float = ANY,
    tenant: str = "local",
    why: str = NO_MODEL,
) -> Suggestions:
    """Return what `suggest` returns, given the instruction's vector.

    Parameters
    ----------
    conn, project, language, k, least, tenant
        As in `suggest`.
    query_vector, model
        The instruction's vector, and which model made it.
    why
        Why there is no vector, where it is None.

    Raises
    ------
    DatabaseError
        If there are no tables, or the database went away.

    Examples
    --------
    >>> suggest_near(conn, vector, name, project="app", language="python")  # doctest: +SKIP
    Suggestions(packages=(Suggestion(name='spotipy', ...), ...), fallback='')
    """
    near: list[Any] = []
    with database_errors_explained(conn), as_tenant(conn, tenant):
        if query_vector is not None:
            vector = Vector(query_vector)
            query = nearest_packages_query(vector, project, language, model, k, tenant)
            near = conn.execute(*query).fetchall()
        values = {"tenant": tenant, "project": project, "language": language}
        first = [] if near else conn.execute(FIRST, values).fetchall()
    why = why if query_vector is None else NO_VECTORS.format(model)
    return choose(near, first, why, least)


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
    - The nearest come first. Sort by the distance (`<=>`), because only it can use an index; if
      equally near, by `mine.name`. Return at most `k`.
    - Return the nearest packages, however far away they are.
    - The columns are `COLUMNS` (name, version and description, of `mine` and `package`), and
      `similarity`, which is 1 minus the cosine distance.

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
