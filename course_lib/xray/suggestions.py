"""Suggestions: an instruction goes in, those of a project's packages that it is about come out.

The nearest by meaning among that project's names only, in one query. A project has few names, so
every one of them is compared: exactly, and with no vector index to starve behind the filter.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, LiteralString

import numpy as np
import psycopg
from pgvector import Vector

from course_lib.embedder import EmbeddingClient
from course_lib.errors import InputError, ModelError
from course_lib.store.tenancy import as_tenant
from course_lib.xray.tables import explained

FALLBACK = 50
"""How many packages are suggested where none can be chosen."""

NO_MODEL = "there is no model"

NEAREST: LiteralString = """
SELECT mine.name, mine.version, coalesce(mine.description, package.description),
       1 - (package.embedding <=> %(query)s) AS similarity
FROM xray_report_packages AS mine
JOIN xray_packages AS package USING (language, name)
WHERE mine.tenant_id = %(tenant)s AND mine.project = %(project)s
  AND mine.language = %(language)s AND package.model = %(model)s
ORDER BY package.embedding <=> %(query)s, mine.name COLLATE "C"
LIMIT %(k)s
"""
"""The filtered search: of a catalogue that all share, it reads the project's own names."""

FIRST: LiteralString = """
SELECT mine.name, mine.version, coalesce(mine.description, package.description)
FROM xray_report_packages AS mine
JOIN xray_packages AS package USING (language, name)
WHERE mine.tenant_id = %(tenant)s AND mine.project = %(project)s AND mine.language = %(language)s
ORDER BY mine.name COLLATE "C" LIMIT %(k)s
"""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A package of the project; `similarity` is the cosine, None where nothing was compared."""

    name: str
    version: str
    description: str | None
    similarity: float | None = None


@dataclass(frozen=True, slots=True)
class Suggestions:
    """What was suggested, most similar first.

    `fallback` is empty, or says why these are only the first packages by name.
    """

    packages: tuple[Suggestion, ...] = ()
    fallback: str = ""

    @property
    def is_fallback(self) -> bool:
        """Whether these are only the first packages, and none was chosen for the instruction."""
        return bool(self.fallback)

    def to_json(self) -> str:
        """Return them as a JSON object."""
        return json.dumps(asdict(self), ensure_ascii=False)


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
    found: list[Suggestion] = []
    fallback = NO_MODEL
    with explained(conn):
        if embedder is not None:
            try:
                vector = embedder.encode([instruction])[0]
            except ModelError as error:
                fallback = f"{NO_MODEL}: {error.args[0]}"
            else:
                found = nearest_packages(
                    conn,
                    vector,
                    project=project,
                    language=language,
                    model=embedder.model_name,
                    k=k,
                    tenant=tenant,
                )
                fallback = no_vectors(embedder.model_name)
        if found:
            return Suggestions(tuple(found))
        first = first_packages(conn, project=project, language=language, tenant=tenant)
    return Suggestions(tuple(first), fallback if first else "")


def nearest_packages(
    conn: psycopg.Connection[Any],
    query_vector: Sequence[float] | np.ndarray[Any, Any],
    *,
    project: str,
    language: str,
    model: str,
    k: int = 5,
    tenant: str = "local",
) -> list[Suggestion]:
    """Return the `k` packages of a project whose vectors are nearest to a vector.

    Parameters
    ----------
    conn
        A connection from `connect`.
    query_vector
        As many numbers as the model gives.
    project, language, tenant
        Only what this project uses in this language, although the catalogue holds far more.
    model
        Only vectors that this model made: those of another one mean something else.
    k
        How many, at most.

    Returns
    -------
    list of Suggestion
        By falling cosine similarity; equals by name.

    Examples
    --------
    >>> vector = embedder.encode(["fetch top charts from Spotify"])[0]      # doctest: +SKIP
    >>> nearest_packages(conn, vector, project="rider-app", language="python",
    ...                  model=embedder.model_name, k=1)[0].name            # doctest: +SKIP
    'spotipy'
    """
    with as_tenant(conn, tenant):
        rows = conn.execute(
            NEAREST, nearest_values(query_vector, project, language, model, k, tenant)
        ).fetchall()
    return [Suggestion(*row) for row in rows]


def first_packages(
    conn: psycopg.Connection[Any],
    *,
    project: str,
    language: str,
    limit: int = FALLBACK,
    tenant: str = "local",
) -> list[Suggestion]:
    """Return the first packages of a project by name: what is left where nothing can be compared.

    Parameters
    ----------
    conn
        A connection from `connect`.
    project, language, tenant
        Whose packages.
    limit
        How many, at most.
    """
    with as_tenant(conn, tenant):
        rows = conn.execute(
            FIRST, {"tenant": tenant, "project": project, "language": language, "k": limit}
        ).fetchall()
    return [Suggestion(*row) for row in rows]


def nearest_values(
    query_vector: Sequence[float] | np.ndarray[Any, Any],
    project: str,
    language: str,
    model: str,
    k: int,
    tenant: str,
) -> dict[str, object]:
    """Return the values of `NEAREST`'s placeholders."""
    return {
        "query": Vector(query_vector),
        "tenant": tenant,
        "project": project,
        "language": language,
        "model": model,
        "k": k,
    }


def no_vectors(model: str) -> str:
    """Return why there is only the fallback where a model is at hand, and nothing embedded by it.

    Examples
    --------
    >>> no_vectors("mini")
    'no package of the project has a vector of the model mini; `course xray backfill` makes them'
    """
    return (
        f"no package of the project has a vector of the model {model}; "
        "`course xray backfill` makes them"
    )
