"""The version of X-Ray's tables, so that another course does not misread them.

Tables are not changed in place. Those of another version are refused, with what to do about them.
(Those of the documents have a hash of their SQL in its place: see `schema.py`.)
"""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

from course_lib.errors import SchemaMismatchError

SCHEMA_VERSION = 1
"""Raise it with every change of a table or a policy of X-Ray's."""


def mark_version(conn: psycopg.Connection[Any], table: str) -> None:
    """Write into a new table's comment which version of the course made it."""
    comment = sql.SQL("COMMENT ON TABLE {} IS {}")
    conn.execute(comment.format(sql.Identifier(table), sql.Literal(_mark())))


def refuse_other_version(conn: psycopg.Connection[Any], table: str, others: str = "") -> None:
    """Refuse a table that another version of the course made.

    Parameters
    ----------
    conn
        A connection to the database of the table.
    table
        Which table says the version of all that belong to it.
    others
        Those, as they are named after `DROP TABLE`.

    Raises
    ------
    SchemaMismatchError
        If the table's comment names another version, or none.

    Examples
    --------
    >>> refuse_other_version(conn, "xray_packages", "xray_used")  # doctest: +SKIP
    """
    row = conn.execute("SELECT obj_description(to_regclass(%s), 'pg_class')", [table]).fetchone()
    found = row[0] if row else None
    if found == _mark():
        return
    everything = ", ".join(filter(None, [table, others]))
    raise SchemaMismatchError(
        f"the table {table} is of {found or 'an earlier version'}, and this course needs {_mark()}",
        hint=f"Remove it (`course db psql`, then DROP TABLE {everything} CASCADE;) and fill it "
        "again.",
    )


def _mark() -> str:
    return f"schema version {SCHEMA_VERSION}"
