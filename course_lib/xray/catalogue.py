"""The shared catalogue: descriptions and vectors come in, orphans go out.

Each function is one short transaction that runs alone among the writers of its language; the model
works between transactions, never inside one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import psycopg
from psycopg.rows import tuple_row

from course_lib.embedder import EmbeddingClient
from course_lib.store.tenancy import as_tenant
from course_lib.xray.packages import Package, newest
from course_lib.xray.tables import alone_in

BATCH = 256
"""Packages whose vectors are encoded and written together."""


def delete_orphans(
    conn: psycopg.Connection[Any], language: str, names: Collection[str]
) -> list[str]:
    """Delete from the catalogue those of some packages that no project uses; return their names.

    The catalogue is `xray_packages`. Who uses what stands in `xray_used`: a row (language, name)
    for each use of a package in any project.

    Parameters
    ----------
    conn
        A connection in the transaction that removed the packages from a project's report, alone
        among the writers of this language (`alone_in`). The caller commits.
    language, names
        What that project does not use any more. Other packages stay, whoever uses them.

    Returns
    -------
    list of str
        What was deleted, sorted.

    Examples
    --------
    >>> delete_orphans(conn, "python", ["rich", "typer"])       # doctest: +SKIP
    ['typer']
    """
    rows = conn.execute(
        """
        DELETE FROM xray_packages AS package
        WHERE package.language = %s AND package.name = ANY(%s)
          AND NOT EXISTS (
            SELECT FROM xray_used AS used
            WHERE used.language = package.language AND used.name = package.name)
        RETURNING package.name
        """,
        [language, list(names)],
    ).fetchall()
    return sorted(name for (name,) in rows)


def store_descriptions(
    conn: psycopg.Connection[Any],
    language: str,
    descriptions: Mapping[Package, str],
    *,
    tenant: str = "local",
) -> int:
    """Store descriptions of packages and return how many of the catalogue's changed.

    A package whose description changed loses its vector, which `embed_missing` makes anew; one
    whose text is the same keeps it. A package that left the catalogue meanwhile is passed over.
    """
    if not descriptions:
        return 0
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
            SET description = new.description, model = NULL, embedding = NULL, updated_at = now()
            FROM unnest(%s::text[], %s::text[]) AS new (name, description)
            WHERE package.language = %s AND package.name = new.name
              AND package.description IS DISTINCT FROM new.description
            """,
            [columns[0], columns[2], language],
        ).rowcount


def embed_missing(
    conn: psycopg.Connection[Any],
    embedder: EmbeddingClient,
    language: str,
    names: Collection[str] | None = None,
) -> int:
    """Give every package of a language without a vector of this model one; return how many.

    Parameters
    ----------
    conn
        A connection from `connect`.
    embedder
        Encodes `name: description`, or the name alone where there is no description yet.
    language, names
        Which packages; None takes all of the language.

    Raises
    ------
    ModelError
        If the model cannot be found or loaded.
    """
    done, last = 0, ""
    wanted = None if names is None else list(names)
    while True:
        with conn.transaction(), conn.cursor(row_factory=tuple_row) as cursor:
            rows = cursor.execute(
                """
                SELECT name, description FROM xray_packages
                WHERE language = %(language)s AND name COLLATE "C" > %(last)s
                  AND (%(wanted)s::text[] IS NULL OR name = ANY(%(wanted)s))
                  AND model IS DISTINCT FROM %(model)s
                ORDER BY name COLLATE "C" LIMIT %(batch)s
                """,
                {
                    "language": language,
                    "last": last,
                    "wanted": wanted,
                    "model": embedder.model_name,
                    "batch": BATCH,
                },
            ).fetchall()
        if not rows:
            return done
        vectors = embedder.encode([embedded_text(name, text) for name, text in rows])
        with alone_in(conn, language), conn.cursor() as cursor:
            # A description that changed meanwhile is encoded by whoever changed it.
            cursor.executemany(
                "UPDATE xray_packages SET model = %s, embedding = %s, updated_at = now() "
                "WHERE language = %s AND name = %s AND description IS NOT DISTINCT FROM %s",
                [
                    (embedder.model_name, vector, language, name, text)
                    for (name, text), vector in zip(rows, vectors, strict=True)
                ],
            )
            done += cursor.rowcount
        last = rows[-1][0]


def embedded_text(name: str, description: str | None) -> str:
    """Return what is encoded of a package.

    Examples
    --------
    >>> embedded_text("rich", "Text with colours."), embedded_text("rich", None)
    ('rich: Text with colours.', 'rich')
    """
    return f"{name}: {description}" if description else name


def undescribed(
    conn: psycopg.Connection[Any], language: str, names: Collection[str] | None = None
) -> list[Package]:
    """Return the packages of a language that have no description, each at its newest version.

    `names` are looked at; None looks at all. A role that sees no project sees no version either.
    """
    with conn.transaction():
        rows = conn.execute(
            """
            SELECT package.name, array_remove(array_agg(DISTINCT mine.version), NULL)
            FROM xray_packages AS package LEFT JOIN xray_report_packages AS mine
              USING (language, name)
            WHERE package.language = %(language)s AND package.description IS NULL
              AND (%(names)s::text[] IS NULL OR package.name = ANY(%(names)s))
            GROUP BY package.name ORDER BY package.name COLLATE "C"
            """,
            {"language": language, "names": None if names is None else list(names)},
        ).fetchall()
    return [Package(language, name, newest(versions)) for name, versions in rows]


def catalogue_languages(conn: psycopg.Connection[Any]) -> list[str]:
    """Return the languages that the catalogue holds packages of."""
    with conn.transaction():
        rows = conn.execute("SELECT DISTINCT language FROM xray_packages ORDER BY 1").fetchall()
    return [language for (language,) in rows]
