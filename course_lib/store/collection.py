"""Collections: schemas of one database, so that indexes of several models are side by side.

The tables are always in a schema of their own, and never in `public`, where pgvector is: a
connection that finds its types there finds no other collection's tables.
"""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

from course_lib.errors import DatabaseError
from course_lib.store.urls import with_settings

COLLECTION = "course"
"""The schema where RAG_COLLECTION names no other one."""

TYPES = "public, extensions"
"""Where pgvector is: hosted servers have it in a schema of its own."""


def in_collection(url: str, name: str | None = None) -> str:
    """Return the URL of a collection in a database.

    Where none is named, it is the one that the URL names, and `course` if it names none.

    Examples
    --------
    >>> in_collection("postgresql://ada@db/course")
    'postgresql://ada@db/course?options=-csearch_path%3D%22course%22%2Cpublic%2Cextensions'
    >>> in_collection(in_collection("postgresql://ada@db/course", "large")).count("search_path")
    1
    """
    if name is None and "search_path" in url:
        return url
    path = f'"{name or COLLECTION}",{TYPES.replace(" ", "")}'
    return with_settings(url, {"search_path": path})


def check_collection(conn: psycopg.Connection[Any]) -> str:
    """Return the name of a connection's collection, whether or not it was made yet.

    Raises
    ------
    DatabaseError
        If this role may not use it.
    """
    first = _first_in_path(conn)
    name = COLLECTION if first in {"", "$user", "public"} else first
    usable = "SELECT has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = %s"
    if conn.execute(usable, [name]).fetchone() == (False,):
        raise DatabaseError(
            f"the collection {name} cannot be used: permission denied",
            hint="Choose another RAG_COLLECTION, or have its owner grant the use of the schema.",
        )
    return name


def _first_in_path(conn: psycopg.Connection[Any]) -> str:
    row = conn.execute("SHOW search_path").fetchone()
    return str(row[0] if row else "").split(",")[0].strip('" ')


def open_collection(conn: psycopg.Connection[Any]) -> None:
    """Make the connection's collection, if it is missing, and let tables be made in it.

    Raises
    ------
    DatabaseError
        If this role may not make it, or it has a name that PostgreSQL keeps for itself.
    """
    name = check_collection(conn)
    path = sql.SQL("{}, {}").format(sql.Identifier(name), sql.SQL(TYPES))
    if _first_in_path(conn) != name:
        conn.execute(sql.SQL("SET search_path = {}").format(path))
    if conn.execute("SELECT to_regnamespace(%s) IS NULL", [f'"{name}"']).fetchone() == (False,):
        return
    try:
        conn.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReservedName) as error:
        raise DatabaseError(
            f"the collection {name} cannot be made: {error.diag.message_primary}",
            hint="Choose another RAG_COLLECTION, or have the schema made by the database's owner.",
        ) from error
    if name == COLLECTION:  # for programs that know nothing of collections
        setting = sql.SQL("ALTER ROLE CURRENT_USER IN DATABASE {} SET search_path = {}")
        conn.execute(setting.format(sql.Identifier(conn.info.dbname), path))


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
