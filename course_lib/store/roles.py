"""The service's roles: a database goes in, URLs come out for a role that reads and one that writes.

Both own nothing, create nothing and bypass nothing, so that row-level security holds for them. They
belong to one database: ``<database>_reader`` and ``<database>_writer``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from course_lib.errors import DatabaseError
from course_lib.store.collection import collection_of, in_collection
from course_lib.store.databases import (
    administration_of,
    default_url,
    hashed_password,
    role_password,
)
from course_lib.store.logins import open_connection
from course_lib.store.ownership import service_roles
from course_lib.store.tenancy import PARENTS
from course_lib.store.urls import hide_password, url_for

ServiceRole = Literal["reader", "writer"]
VIEW = "code_chunks"

_LONGEST_NAME = 63


def service_url(role: ServiceRole, *, url: str | None = None) -> str:
    """Return the URL with which a service reads or writes a database, making its roles if needed.

    Every process that knows the course's secret gets the same password.

    Parameters
    ----------
    role
        ``"reader"`` or ``"writer"``.
    url
        The database, as anybody who may use it; None is `default_url()`.

    Raises
    ------
    DatabaseError
        If the roles are missing and cannot be made with the rights that it has.
    """
    url = url or default_url()
    database = str(conninfo_to_dict(url).get("dbname") or conninfo_to_dict(url).get("user"))
    names = service_roles(database)
    if max(map(len, names)) > _LONGEST_NAME:
        raise DatabaseError(
            f"the name {database} is too long for the roles of its service",
            hint=f"PostgreSQL's names have {_LONGEST_NAME} characters, and a role's ends in "
            "_reader or _writer.",
        )
    admin, secret = administration_of(url, database)
    passwords = {name: role_password(secret, name) for name in names}
    try:
        with open_connection(in_collection(admin, collection_of(url))) as conn:
            _create(conn, database, passwords)
    except psycopg.errors.InsufficientPrivilege as error:
        raise DatabaseError(
            f"the roles of the service cannot be made on {hide_password(admin)}: "
            f"{error.diag.message_primary}",
            hint="Set DATABASE_URL to a role that has CREATEROLE and owns the database.",
        ) from error
    name = names[0] if role == "reader" else names[1]
    return url_for(url, database, name, passwords[name])


def _create(conn: psycopg.Connection[Any], database: str, passwords: dict[str, str]) -> None:
    # Two processes that start at once would both find no role and both create it.
    conn.execute("SELECT pg_advisory_xact_lock(hashtext('course service roles'))")
    for name, password in passwords.items():
        role = sql.Identifier(name)
        if not conn.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [name]).fetchone():
            conn.execute(
                sql.SQL(
                    "CREATE ROLE {} LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE"
                ).format(role)
            )
            conn.execute(
                sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(sql.Identifier(database), role)
            )
        conn.execute(
            sql.SQL("ALTER ROLE {} PASSWORD {}").format(role, hashed_password(conn, name, password))
        )
    grant_to_service_roles(conn)


def grant_to_service_roles(conn: psycopg.Connection[Any]) -> None:
    """Let the database's service roles at the tables, where both are there.

    Call it in a transaction: of two that grant at the same time, PostgreSQL refuses one.
    """
    conn.execute("SELECT pg_advisory_xact_lock(hashtext('course grants'))")
    rows = conn.execute(
        "SELECT rolname FROM pg_roles "
        "WHERE rolname IN (current_database() || '_reader', current_database() || '_writer')"
    ).fetchall()
    tables = conn.execute("SELECT to_regclass('document_chunks') IS NOT NULL").fetchone()
    if not (tables and tables[0]):
        return
    schema = conn.execute("SELECT current_schema()").fetchone()
    for (name,) in rows:
        role = sql.Identifier(name)
        if schema and schema[0] != "public":  # a collection, which is closed to all but its owner
            grant = sql.SQL("GRANT USAGE ON SCHEMA {} TO {}")
            conn.execute(grant.format(sql.Identifier(schema[0]), role))
        conn.execute(
            sql.SQL("GRANT SELECT ON {} TO {}").format(identifiers((*PARENTS, VIEW)), role)
        )
        if name.endswith("_writer"):
            grant = sql.SQL("GRANT INSERT, UPDATE, DELETE ON {} TO {}")
            conn.execute(grant.format(identifiers(PARENTS), role))


def identifiers(given: Iterable[str]) -> sql.Composed:
    """Return names of tables or columns, with commas between them."""
    return sql.SQL(", ").join(map(sql.Identifier, given))
