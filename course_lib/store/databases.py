"""Databases: the one that the course works in, and fresh ones that live as long as their process.

A fresh database has a name that says for which lab it is and of which process. Whoever asks for
one next drops those whose processes are gone.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import socket
import weakref
import zlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import psycopg
from psycopg import sql

from course_lib.errors import DatabaseError, ServerError
from course_lib.settings import settings
from course_lib.store.collection import in_collection
from course_lib.store.logins import open_connection
from course_lib.store.roles import (
    ROLES,
    ServiceRole,
    allow_service_roles,
    grant_to_service_roles,
)
from course_lib.store.server import Server, ensure_server
from course_lib.store.urls import hide_password, url_for, with_settings

COURSE = "course"
MOST_REMOVALS = 20
"""Databases of processes that are gone, dropped at a time: each takes a moment."""


class FreshDatabase(contextlib.AbstractContextManager["FreshDatabase"]):
    """An empty database with pgvector, for one process; use it with `with`, or call `drop`.

    Attributes
    ----------
    name
        Its name on the server, and that of the role that owns it.
    url
        How that role connects to it.
    """

    def __init__(self, name: str, url: str, admin_url: str) -> None:
        self.name = name
        self.url = url
        self._finalizer = weakref.finalize(self, _remove_own, name, admin_url, os.getpid())

    def drop(self) -> None:
        """Remove the database and its role, and end what is connected to it; once is enough."""
        self._finalizer()

    def __exit__(self, *error: object) -> None:
        self.drop()

    def __repr__(self) -> str:
        return f"FreshDatabase({self.name!r})"


def default_url() -> str:
    """Return the URL of the database that commands work in.

    That is DATABASE_URL, or `course` on the embedded server: server and database are made where
    they are missing, and the database belongs to the role `course`, which is not a superuser. The
    URL leads into the schema that RAG_COLLECTION names.

    Raises
    ------
    ServerError
        The embedded server cannot be started.
    """
    url = settings().database_url or _course_url(ensure_server())
    return in_collection(url, settings().collection)


def fresh_database(name: str, *, url: str | None = None) -> FreshDatabase:
    """Make an empty database with pgvector that lives as long as its owner, this process.

    Parameters
    ----------
    name
        What it is for, such as `"05"`: becomes part of the database's name, which is new each time.
    url
        A server to make it on, as a role that may create databases and roles; `None` is
        DATABASE_URL, or the embedded server.

    Returns
    -------
    FreshDatabase
        A context manager with `.url`, `.name` and `.drop()`; dropped at the latest when the process
        ends.

    Raises
    ------
    DatabaseError
        The server cannot be reached, or the role may not create databases or the extension.

    Examples
    --------
    >>> with fresh_database("06") as database:  # doctest: +SKIP
    ...     print(database.name)
    lab_06_9f2c31ab_4711_5d3e
    """
    admin_url = _administrator(url)
    lab = re.sub(r"[^a-z0-9]+", "_", f"lab {name.lower()}").strip("_")[:34]
    fresh = f"{lab}_{_this_host()}_{os.getpid()}_{secrets.token_hex(2)}"
    password = secrets.token_hex(20)
    with open_connection(admin_url, autocommit=True) as conn, _clear_errors(admin_url):
        gone = [one for one, lives in lab_databases(conn).items() if not lives]
        for one in gone[:MOST_REMOVALS]:
            with contextlib.suppress(psycopg.Error):  # another process may have been here first
                _drop(conn, one)
        try:
            _create(conn, fresh, password)
            _add_extension(url_for(admin_url, fresh))
        except BaseException:
            with contextlib.suppress(psycopg.Error):
                _drop(conn, fresh)
            raise
    return FreshDatabase(fresh, url_for(admin_url, fresh, fresh, password), admin_url)


def service_url(role: ServiceRole, *, url: str | None = None) -> str:
    """Return the URL with which a service reads or writes a database, making its roles if needed.

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

    Examples
    --------
    >>> with connect(service_url("reader")) as conn:  # doctest: +SKIP
    ...     conn.execute("SELECT current_user").fetchone()
    ('course_reader',)
    """
    url = in_collection(url or default_url())
    try:
        with open_connection(url) as conn:
            allow_service_roles(conn)
            grant_to_service_roles(conn)
    except psycopg.errors.InsufficientPrivilege as error:
        raise DatabaseError(
            f"the service's roles cannot be used on {hide_password(url)}: "
            f"{error.diag.message_primary}",
            hint="Let a role that has CREATEROLE make them, and run for the role in DATABASE_URL: "
            "GRANT course_reader, course_writer TO that_role WITH INHERIT FALSE;",
        ) from error
    return with_settings(url, {"role": ROLES[role]})


def lab_databases(conn: psycopg.Connection[Any]) -> dict[str, bool]:
    """Return the fresh databases on a server: name → whether its process may live.

    Nothing is known of processes on other machines: theirs live.
    """
    rows = conn.execute(
        "SELECT rolname, EXISTS (SELECT FROM pg_stat_activity WHERE datname = rolname)"
        " FROM pg_roles WHERE rolname ~ '^lab_.*[0-9a-f]{8}_[0-9]+_[0-9a-f]{4}$' ORDER BY 1"
    ).fetchall()
    return {name: is_used or _may_live(*name.split("_")[-3:-1]) for name, is_used in rows}


def _may_live(host: str, pid: str) -> bool:
    # Whoever only connects has no fresh database.
    import psutil

    try:
        return host != _this_host() or psutil.Process(int(pid)).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _this_host() -> str:
    return f"{zlib.crc32(socket.gethostname().encode()):08x}"


def _administrator(url: str | None) -> str:
    """Return the URL of a role that may create databases."""
    return url or settings().database_url or ensure_server().url()


@cache
def _course_url(server: Server) -> str:
    """Make the role and the database `course`, once however many ask at a time."""
    # Derived, so that every process that may read the server's password has it.
    password = hashlib.sha256(f"{server.password} {COURSE}".encode()).hexdigest()[:40]
    with open_connection(server.url(), autocommit=True) as conn:
        conn.execute("SELECT pg_advisory_lock(hashtext('course database'))")
        if conn.execute("SELECT to_regrole(%s) IS NULL", [COURSE]).fetchone() == (True,):
            conn.execute("CREATE ROLE course LOGIN")
        _set_password(conn, COURSE, password)  # the server's own may be a new one
        allow_service_roles(conn, COURSE)
        if not conn.execute("SELECT FROM pg_database WHERE datname = %s", [COURSE]).fetchall():
            _create_database(conn, COURSE, "template0")
            # Lab roles have their own databases and no business in these.
            conn.execute("REVOKE CONNECT ON DATABASE postgres, template1 FROM PUBLIC")
        _add_extension(server.url(COURSE))
    return server.url(COURSE, COURSE, password)


def _create(owner: psycopg.Connection[Any], name: str, password: str) -> None:
    role = sql.Identifier(name)
    owner.execute(sql.SQL("CREATE ROLE {} LOGIN NOSUPERUSER").format(role))
    _set_password(owner, name, password)
    row = owner.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()
    is_superuser = row == (True,)
    if not is_superuser:  # only a member may give a database to a role
        owner.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(role))
    # Where a superuser made these roles, only a superuser can let others become them.
    with contextlib.suppress(psycopg.errors.InsufficientPrivilege):
        allow_service_roles(owner, name)
    # Only a superuser can create the extension; for others the server's template1 has to hold it.
    _create_database(owner, name, "template0" if is_superuser else "template1")


def _create_database(conn: psycopg.Connection[Any], name: str, template: str) -> None:
    both = sql.Identifier(name)
    statement = "CREATE DATABASE {} OWNER {} TEMPLATE {} ENCODING 'UTF8'"
    conn.execute(sql.SQL(statement).format(both, both, sql.Identifier(template)))
    conn.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(both))


def _add_extension(url: str) -> None:
    with open_connection(url, autocommit=True) as conn:
        if not conn.execute("SELECT FROM pg_extension WHERE extname = 'vector'").fetchall():
            conn.execute("CREATE EXTENSION vector")


def _set_password(conn: psycopg.Connection[Any], role: str, password: str) -> None:
    """Give a role its password; no log of the server's ever holds it."""
    hashed = conn.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256")
    statement = sql.SQL("ALTER ROLE {} PASSWORD {}")
    conn.execute(statement.format(sql.Identifier(role), hashed.decode()))


def _drop(conn: psycopg.Connection[Any], name: str) -> None:
    """Drop a fresh database with what is connected to it, and its role."""
    both = sql.Identifier(name)
    conn.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(both))
    conn.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(both))


def _remove_own(name: str, admin_url: str, pid: int) -> None:
    """Drop a database of this process; or leave it to the next one."""
    if os.getpid() != pid:
        return  # a forked child has a copy of the object, not the database
    with contextlib.suppress(psycopg.Error, DatabaseError, ServerError):
        with open_connection(admin_url, autocommit=True) as conn:
            _drop(conn, name)


@contextlib.contextmanager
def _clear_errors(admin_url: str) -> Iterator[None]:
    """Say which right is missing, or what failed on which server."""
    where = hide_password(admin_url)
    try:
        yield
    except psycopg.errors.InsufficientPrivilege as error:
        raise DatabaseError(
            f"The role of {where} lacks a right that a fresh database needs:"
            f" {error.diag.message_primary}",
            hint="Give it CREATEDB and CREATEROLE and put the extension vector into template1"
            " (infra/init.sql), use a superuser, or unset DATABASE_URL for the embedded server.",
        ) from error
    except psycopg.Error as error:
        raise DatabaseError(
            f"A fresh database could not be made on {where}: {str(error).strip()}",
            hint="See that its disk has room and that it has pgvector >= 0.8."
            " `course db status` shows the embedded server; .course/server.log is its log.",
        ) from error
