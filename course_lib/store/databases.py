"""Databases: the one that the course works in, and fresh ones that live as long as their owner.

Takes nothing but a name and gives a URL that `connect` understands. A fresh database belongs to a
role of its own and to one process; whoever asks for a fresh database next removes those whose owner
is gone.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import weakref
from collections.abc import Iterator
from functools import cache
from typing import Any

import psycopg
from psycopg import sql

from course_lib.errors import DatabaseError, ServerError
from course_lib.settings import make_folder, settings, state_dir
from course_lib.store.collection import in_collection
from course_lib.store.logins import open_connection
from course_lib.store.ownership import (
    DatabaseInfo,
    Owner,
    drop,
    fresh_databases,
    new_name,
    sweep,
)
from course_lib.store.roles import (
    ROLES,
    ServiceRole,
    allow_service_roles,
    grant_to_service_roles,
)
from course_lib.store.server import Server, ensure_server, write_private
from course_lib.store.urls import hide_password, url_for, with_settings

COURSE = "course"


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
    they are missing, and the database belongs to the role `course`, which is not a superuser. Where
    RAG_COLLECTION is set, the URL leads into that schema of the database.

    Raises
    ------
    ServerError
        The embedded server cannot be started.
    """
    given = settings().database_url
    collection = settings().collection
    if given:
        return in_collection(given, collection)
    server = ensure_server()
    _ensure_course(server)
    return in_collection(server.url(COURSE, COURSE, _course_password(server)), collection)


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
    lab_06_9f2c31ab
    """
    admin_url, secret = _administration(url)
    fresh = new_name(name)
    password = role_password(secret, fresh)
    with open_connection(admin_url, autocommit=True) as conn, _clear_errors(admin_url):
        sweep(conn)
        try:
            _create(conn, fresh, password, Owner.ourselves(name))
            _add_extension(url_for(admin_url, fresh))
        except BaseException:
            with contextlib.suppress(psycopg.Error):
                drop(conn, fresh)
            raise
    return FreshDatabase(fresh, url_for(admin_url, fresh, fresh, password), admin_url)


def list_databases(*, url: str | None = None) -> list[DatabaseInfo]:
    """Return the fresh databases on a server, newest first; `url` as in `fresh_database`."""
    admin_url, _ = _administration(url)
    with open_connection(admin_url, autocommit=True) as conn:
        return fresh_databases(conn)


def find_database(label: str, *, url: str | None = None) -> str | None:
    """Return the URL of the newest living `fresh_database(label)`; `None` where there is none.

    Parameters
    ----------
    label
        What it was asked for, such as `"05"`, or its full name.
    url
        As in `fresh_database`.
    """
    admin_url, secret = _administration(url)
    for info in list_databases(url=url):
        if info.alive and label in {info.label, info.name}:
            return url_for(admin_url, info.name, info.name, role_password(secret, info.name))
    return None


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
    url = url or default_url()
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


def _administration(url: str | None) -> tuple[str, str]:
    """Return the URL of a role that may create databases, and the secret of their passwords."""
    given = url or settings().database_url
    if given:
        return given, state_secret()
    server = ensure_server()
    return server.url(), server.password


def state_secret() -> str:
    """Return the secret for roles on servers that are not ours, kept in a 0600 file."""
    path = state_dir() / "secret"
    try:
        if not path.exists():
            make_folder(path.parent)
            write_private(path, secrets.token_urlsafe(32))
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise DatabaseError(
            f"{path} cannot be read or written: {error.strerror}",
            hint="Set COURSE_STATE to a folder of your own.",
        ) from error


def role_password(secret: str, role: str) -> str:
    """Return a role's password, derived: every process that knows the secret knows it."""
    return hmac.new(secret.encode(), role.encode(), hashlib.sha256).hexdigest()[:40]


def _course_password(server: Server) -> str:
    return role_password(server.password, COURSE)


@cache
def _ensure_course(server: Server) -> None:
    """Make the role and the database `course`, once however many ask at a time."""
    with open_connection(server.url(), autocommit=True) as conn:
        conn.execute("SELECT pg_advisory_lock(hashtext('course database'))")
        role = sql.Identifier(COURSE)
        if not conn.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (COURSE,)).fetchone():
            conn.execute(sql.SQL("CREATE ROLE {} LOGIN").format(role))
        # The superuser's password, which it is derived from, may be a new one.
        password = hashed_password(conn, COURSE, _course_password(server))
        conn.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(role, password))
        allow_service_roles(conn, COURSE)
        if _is_complete(conn):
            return
        if not conn.execute("SELECT 1 FROM pg_database WHERE datname = %s", (COURSE,)).fetchone():
            _create_database(conn, COURSE, "template0")
        # Lab roles have their own databases and no business in these.
        conn.execute("REVOKE CONNECT ON DATABASE postgres, template1 FROM PUBLIC")
        _add_extension(server.url(COURSE))
        # The last step: a database without it was left half-made and is completed next time.
        conn.execute(sql.SQL("COMMENT ON DATABASE {} IS 'course'").format(role))


def _is_complete(conn: psycopg.Connection[Any]) -> bool:
    """Return whether the database `course` was made to the last step, its comment."""
    row = conn.execute(
        "SELECT 1 FROM pg_database WHERE datname = %s"
        " AND shobj_description(oid, 'pg_database') = 'course'",
        (COURSE,),
    ).fetchone()
    return row is not None


def _create(owner: psycopg.Connection[Any], name: str, password: str, entry: Owner) -> None:
    """Make role and database, and register them."""
    role = sql.Identifier(name)
    with owner.transaction():
        login = sql.SQL("CREATE ROLE {} LOGIN NOSUPERUSER PASSWORD {}")
        owner.execute(login.format(role, hashed_password(owner, name, password)))
        owner.execute(sql.SQL("COMMENT ON ROLE {} IS {}").format(role, entry.comment()))
        superuser = owner.execute(
            "SELECT 1 FROM pg_roles WHERE rolname = current_user AND rolsuper"
        ).fetchone()
        if not superuser:  # only a member may give a database to a role
            owner.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(role))
    # Where a superuser made these roles, only a superuser can let others become them.
    with contextlib.suppress(psycopg.errors.InsufficientPrivilege):
        allow_service_roles(owner, name)
    # Only a superuser can create the extension; for others the server's template1 has to hold it.
    _create_database(owner, name, "template0" if superuser else "template1")


def _create_database(conn: psycopg.Connection[Any], name: str, template: str) -> None:
    both = sql.Identifier(name)
    statement = "CREATE DATABASE {} OWNER {} TEMPLATE {} ENCODING 'UTF8'"
    conn.execute(sql.SQL(statement).format(both, both, sql.Identifier(template)))
    conn.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(both))


def _add_extension(url: str) -> None:
    with open_connection(url, autocommit=True) as conn:
        if not conn.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'").fetchone():
            conn.execute("CREATE EXTENSION vector")


def hashed_password(conn: psycopg.Connection[Any], role: str, password: str) -> str:
    """Return what the server stores for a password: no log of its ever holds the password."""
    hashed = conn.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256")
    return hashed.decode()


def _remove_own(name: str, admin_url: str, pid: int) -> None:
    """Drop a database of this process; or leave it to the next sweep."""
    if os.getpid() != pid:
        return  # a forked child has a copy of the object, not the database
    with contextlib.suppress(psycopg.Error, DatabaseError, ServerError):
        with open_connection(admin_url, autocommit=True) as conn:
            drop(conn, name)


@contextlib.contextmanager
def _clear_errors(admin_url: str) -> Iterator[None]:
    """Say which right is missing, or which part of the server, instead of what it said alone."""
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
    except psycopg.errors.FeatureNotSupported as error:
        raise DatabaseError(
            f"{where} has no pgvector: {error.diag.message_primary}",
            hint="Install pgvector >= 0.8 on that server, or unset DATABASE_URL.",
        ) from error
    except psycopg.errors.DiskFull as error:
        raise DatabaseError(
            f"The disk of {where} is full", hint="Free some space and try again."
        ) from error
    except psycopg.Error as error:
        raise DatabaseError(
            f"A fresh database could not be made on {where}: {str(error).strip()}",
            hint="`course db status` shows the embedded server; .course/server.log is its log.",
        ) from error
