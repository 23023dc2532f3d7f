"""The service's roles: one that reads, and one that writes.

Both own nothing, create nothing and bypass nothing, so that row-level security holds for them.
Nobody logs in as one of them: who may use a database logs in and is `course_reader` or
`course_writer` from then on, in every transaction.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Literal, LiteralString

import psycopg
from psycopg import sql

ServiceRole = Literal["reader", "writer"]
ROLES = {"reader": "course_reader", "writer": "course_writer"}

_GRANT: LiteralString = """
GRANT SELECT ON documents, document_chunks, code_chunks TO course_reader, course_writer;
GRANT INSERT, UPDATE, DELETE ON documents, document_chunks TO course_writer
"""


def allow_service_roles(conn: psycopg.Connection[Any], login: str | None = None) -> None:
    """Let a role, the connection's own if none is named, become the service's roles.

    They are made where they are missing. Nothing that they may do is its own right because of it.
    """
    with conn.transaction():
        # Of two that grant at the same time, PostgreSQL refuses one.
        conn.execute("SELECT pg_advisory_xact_lock(hashtext('course service roles'))")
        for name in ROLES.values():
            role = sql.Identifier(name)
            if conn.execute("SELECT to_regrole(%s) IS NULL", [name]).fetchone() == (True,):
                with suppress(psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
                    with conn.transaction():
                        conn.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(role))
            who = login or conn.info.user
            row = conn.execute("SELECT pg_has_role(%s, %s, 'SET')", [who, name]).fetchone()
            if row == (False,):
                grant = sql.SQL("GRANT {} TO {} WITH INHERIT FALSE, SET TRUE")
                conn.execute(grant.format(role, sql.Identifier(who)))


def grant_to_service_roles(
    conn: psycopg.Connection[Any],
    table: LiteralString = "document_chunks",
    grants: LiteralString = _GRANT,
) -> None:
    """Let the service's roles at the tables, where both are there and this role owns them.

    Call it in a transaction: of two that grant at the same time, PostgreSQL refuses one.
    """
    conn.execute("SELECT pg_advisory_xact_lock(hashtext('course grants'))")
    row = conn.execute(
        "SELECT current_schema() FROM pg_class WHERE oid = to_regclass(%s) "
        "AND pg_has_role(relowner, 'usage') AND to_regrole('course_writer') IS NOT NULL",
        [table],
    ).fetchone()
    if row:
        usage = sql.SQL("GRANT USAGE ON SCHEMA {} TO course_reader, course_writer")
        conn.execute(usage.format(sql.Identifier(row[0])))
        conn.execute(grants)
