"""The shared catalogue: descriptions and vectors come in, orphans go out.

Each write is one short transaction that runs alone among the writers of its language. Describers
and the model work between transactions, never inside one: whatever stops them — no model,
Ctrl-C — costs one batch at most, and the next scan does the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, LiteralString

import psycopg

from course_lib.embedder import EmbeddingClient
from course_lib.errors import ModelError
from course_lib.records import Report
from course_lib.store.tenancy import as_tenant
from course_lib.xray.descriptions import Describer
from course_lib.xray.packages import Package
from course_lib.xray.tables import alone_in

BATCH = 256
"""Packages whose vectors are encoded and written together."""


DELETE_ORPHANS: LiteralString = """
DELETE FROM xray_packages AS package
WHERE package.language = %(language)s AND package.name = ANY(%(names)s)
  AND NOT EXISTS (
    SELECT FROM xray_used AS used
    WHERE used.language = package.language AND used.name = package.name)
RETURNING package.name
"""
"""Deletes those of the named packages that no project of any tenant uses."""


def delete_orphans(
    conn: psycopg.Connection[Any], language: str, names: Collection[str]
) -> list[str]:
    """Delete the given packages from the catalogue if no project uses them; return their names.

    Parameters
    ----------
    conn
        A connection, in the transaction that removed the packages from a project's list. The caller
        takes the lock of this language (`alone_in`) and commits; this function does neither.
    language, names
        Which packages.

    Examples
    --------
    >>> delete_orphans(conn, "python", ["rich", "typer"])       # doctest: +SKIP
    ['typer']
    """
    rows = conn.execute(DELETE_ORPHANS, {"language": language, "names": list(names)}).fetchall()
    return sorted(name for (name,) in rows)


def names_to_embed(
    texts: Mapping[str, str], made_of: Mapping[str, tuple[str, str]], model: str
) -> list[str]:
    """Return the names for which a vector has to be made.

    A name keeps its vector if this was made from exactly the same text by the same model.

    Parameters
    ----------
    texts
        Name → the text that has to be encoded.
    made_of
        Name → (text, model) for each vector that is stored: what it was made of. Other names have
        no vector.
    model
        The model that is in use now.

    Returns
    -------
    list of str
        Names of `texts`, in its order, each once.

    Examples
    --------
    >>> texts = {"rich": "Colours", "typer": "Commands", "httpx": "Client"}
    >>> made_of = {"rich": ("Colours", "mini"), "typer": ("Command lines", "mini")}
    >>> names_to_embed(texts, made_of, "mini")
    ['typer', 'httpx']
    """
    return [name for name, text in texts.items() if made_of.get(name) != (text, model)]


def embed_missing(
    conn: psycopg.Connection[Any],
    embedder: EmbeddingClient,
    language: str,
    names: Collection[str],
) -> int:
    """Make the vectors that a language's packages lack (`names_to_embed`); return how many.

    Parameters
    ----------
    conn
        A connection from `connect`.
    embedder
        Encodes `name: description`, or the name alone where there is no description yet.
    language, names
        Which packages.

    Raises
    ------
    ModelError
        If the model cannot be found or loaded.
    """
    with conn.transaction():
        rows = conn.execute(
            """
            SELECT name, description, embedded_text, model FROM xray_packages
            WHERE language = %s AND name = ANY(%s)
            ORDER BY name COLLATE "C"
            """,
            [language, list(names)],
        ).fetchall()
    descriptions = {name: description for name, description, _, _ in rows}
    texts = {name: embedded_text(name, about) for name, about in descriptions.items()}
    made_of = {name: (text, model) for name, _, text, model in rows if model is not None}
    missing = names_to_embed(texts, made_of, embedder.model_name)
    done = 0
    for at in range(0, len(missing), BATCH):
        batch = missing[at : at + BATCH]
        vectors = embedder.encode([texts[name] for name in batch])
        with alone_in(conn, language), conn.cursor() as cursor:
            # A description that changed meanwhile is encoded by the sync that changed it.
            cursor.executemany(
                "UPDATE xray_packages SET embedded_text = %s, model = %s, embedding = %s, "
                "updated_at = now() "
                "WHERE language = %s AND name = %s AND description IS NOT DISTINCT FROM %s",
                [
                    (texts[name], embedder.model_name, vector, language, name, descriptions[name])
                    for name, vector in zip(batch, vectors, strict=True)
                ],
            )
            done += cursor.rowcount
    return done


def embedded_text(name: str, description: str | None) -> str:
    """Return what is encoded of a package.

    Examples
    --------
    >>> embedded_text("rich", "Text with colours."), embedded_text("rich", None)
    ('rich: Text with colours.', 'rich')
    """
    return f"{name}: {description}" if description else name


def store_descriptions(
    conn: psycopg.Connection[Any],
    language: str,
    descriptions: Mapping[Package, str],
    *,
    tenant: str = "local",
) -> int:
    """Store descriptions of packages and return how many of the catalogue's changed.

    A package whose description changed keeps its old vector until `embed_missing` makes it again.
    A package that left the catalogue meanwhile is passed over.
    """
    columns = [
        [package.name for package in descriptions],
        [package.version for package in descriptions],
        list(descriptions.values()),
    ]
    with alone_in(conn, language), as_tenant(conn, tenant):
        conn.execute(
            """
            UPDATE xray_report_packages AS mine
            SET description = new.description, updated_at = now()
            FROM unnest(%s::text[], %s::text[], %s::text[]) AS new (name, version, description)
            WHERE mine.language = %s AND mine.name = new.name
              AND (mine.version = new.version OR mine.description IS NULL)
              AND mine.description IS DISTINCT FROM new.description
            """,
            [*columns, language],
        )
        return conn.execute(
            """
            UPDATE xray_packages AS package
            SET description = new.description, updated_at = now()
            FROM unnest(%s::text[], %s::text[]) AS new (name, description)
            WHERE package.language = %s AND package.name = new.name
              AND package.description IS DISTINCT FROM new.description
            """,
            [columns[0], columns[2], language],
        ).rowcount


@dataclass(frozen=True, slots=True)
class FillReport(Report):
    """What became known of packages.

    `described` and `embedded` count packages of the catalogue; `waiting` counts those that were
    asked about and are without a description still; `stopped` says why vectors were left for
    the next scan, and is empty where none were.
    """

    described: int = 0
    embedded: int = 0
    waiting: int = 0
    stopped: str = ""


def describe_and_embed(
    conn: psycopg.Connection[Any],
    project: str,
    changed: Collection[Package],
    embedder: EmbeddingClient | None,
    describer: Describer | None,
    *,
    tenant: str = "local",
) -> FillReport:
    """Describe and embed what the catalogue lacks of a project's packages.

    Parameters
    ----------
    conn
        A connection from `connect`.
    project, tenant
        Whose packages they are.
    changed
        Those of another version than before, which are described again.
    embedder, describer
        Without one of them, its part is left out. Vectors of another model are made again.
    """
    with as_tenant(conn, tenant):
        rows = conn.execute(
            """
            SELECT language, name, mine.version, package.description
            FROM xray_report_packages AS mine JOIN xray_packages AS package USING (language, name)
            WHERE mine.tenant_id = %s AND mine.project = %s
            ORDER BY language, name COLLATE "C"
            """,
            [tenant, project],
        ).fetchall()
    used = {Package(*row[:3]): row[3] for row in rows}
    asked = [one for one, description in used.items() if description is None or one in changed]
    described, embedded, answered = 0, 0, set[Package]()
    stopped = ""
    for found in describer.describe(asked) if describer and asked else ():
        for language in {one.language for one in found}:
            some = {one: text for one, text in found.items() if one.language == language}
            described += store_descriptions(conn, language, some, tenant=tenant)
        answered.update(found)
    try:
        if embedder is not None:
            for language in {one.language for one in used}:
                names = [one.name for one in used if one.language == language]
                embedded += embed_missing(conn, embedder, language, names)
    except ModelError as error:
        stopped = f"no vectors: {error.args[0]}"
    return FillReport(described, embedded, len(set(asked) - answered), stopped)
