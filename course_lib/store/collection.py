"""Collections: schemas of one database, so that indexes of several models are side by side.

RAG_COLLECTION names the schema; a connection carries the name in its URL. As long as the schema has
no tables, its connections see no other's either: a search then says that there is no index, and
does not answer from a neighbour's.
"""

from __future__ import annotations

import re
from typing import Any, LiteralString

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from course_lib.errors import DatabaseError
from course_lib.store.urls import with_settings

_NAME: LiteralString = "SELECT current_setting('course.collection', true)"
_SET_PATH: LiteralString = "SELECT set_config('search_path', %s, false)"
_FACTS: LiteralString = """
SELECT quote_ident(%(name)s),
       (SELECT quote_ident(nspname) FROM pg_namespace JOIN pg_extension ON extnamespace =
        pg_namespace.oid WHERE extname = 'vector'),
       to_regclass(format('%%I.%%I', %(name)s::text, %(table)s::text)) IS NOT NULL
"""


def in_collection(url: str, name: str | None) -> str:
    """Return the URL of a collection in a database; the same URL where no collection is named.

    Examples
    --------
    >>> in_collection("postgresql://ada@db/course", None)
    'postgresql://ada@db/course'
    >>> "course.collection" in in_collection("postgresql://ada@db/course", "large")
    True
    """
    if not name:
        return url
    return with_settings(url, {"search_path": f'"{name}",public', "course.collection": name})


def collection_of(url: str) -> str | None:
    """Return the collection that a URL names, None for one that names none.

    Examples
    --------
    >>> collection_of(in_collection("postgresql://ada@db/course", "large"))
    'large'
    """
    if "course.collection" not in url:
        return None
    options = str(conninfo_to_dict(url).get("options") or "")
    found = re.search(r"-ccourse\.collection=(\S+)", options)
    return found[1] if found else None


def see_own_tables_only(conn: psycopg.Connection[Any], table: str = "document_chunks") -> None:
    """Let a connection to a collection that does not have a table yet see no other's.

    Without a collection, nothing changes.
    """
    found = _facts(conn, table)
    if found is not None:
        own, extension, has_tables = found
        conn.execute(_SET_PATH, [f"{own}, {extension}" if has_tables else own])


def open_collection(conn: psycopg.Connection[Any]) -> None:
    """Make the connection's collection, if it is missing, and let tables be made in it.

    Raises
    ------
    DatabaseError
        If this role may not make it, or it has a name that PostgreSQL keeps for itself.
    """
    found = _facts(conn)
    if found is None:
        return
    own, extension, _ = found
    try:
        conn.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.SQL(own)))
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReservedName) as error:
        raise DatabaseError(
            f"the collection {own} cannot be made: {error.diag.message_primary}",
            hint="Choose another RAG_COLLECTION, or have the schema made by the database's owner.",
        ) from error
    conn.execute(_SET_PATH, [f"{own}, {extension}"])


def ways_out(model: str | None = None) -> str:
    """Return what to do where index and model do not fit: back to the old one, or a new index.

    Examples
    --------
    >>> ways_out("MiniLM").partition(",")[0]
    'Use the model that filled the index (RAG_EMBED_MODEL=MiniLM)'
    """
    filled = f"RAG_EMBED_MODEL={model}" if model else "RAG_EMBED_MODEL, RAG_EMBED_BACKEND"
    return (
        f"Use the model that filled the index ({filled}), or ingest with this one into an index "
        "of its own: RAG_COLLECTION=another-name."
    )


def _facts(
    conn: psycopg.Connection[Any], table: str = "document_chunks"
) -> tuple[str, str, bool] | None:
    """Return the collection and the extension's schema, quoted, and whether a table is there."""
    row = conn.execute(_NAME).fetchone()
    if row is None or not row[0]:
        return None
    try:
        facts = conn.execute(_FACTS, {"name": row[0], "table": table}).fetchone()
    except psycopg.errors.InsufficientPrivilege as error:
        raise DatabaseError(
            f"the collection {row[0]} cannot be used: {error.diag.message_primary}",
            hint="Choose another RAG_COLLECTION, or have its owner grant the use of the schema.",
        ) from error
    assert facts is not None
    return facts[0], facts[1], facts[2]
