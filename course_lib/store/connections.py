"""Connections to PostgreSQL: a URL goes in, a checked connection that knows pgvector comes out.

The two versions that everything else relies on (PostgreSQL >= 16, pgvector >= 0.8) are checked
here, once for each database and process, and a password never gets into a message.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from course_lib.errors import DatabaseError
from course_lib.store.binaries import find_binaries
from course_lib.store.collection import check_collection, in_collection
from course_lib.store.databases import default_url
from course_lib.store.logins import connection_error, open_connection
from course_lib.store.urls import hide_password

OLDEST_POSTGRES = 16
OLDEST_PGVECTOR = (0, 8)

_EXTENSION = """
SELECT (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
       (SELECT default_version FROM pg_available_extensions WHERE name = 'vector')
"""

_checked: set[str] = set()


def connect(
    url: str | None = None, *, autocommit: bool = False, seconds: int = 10
) -> psycopg.Connection[Any]:
    """Return a connection with pgvector's types registered, to a database that the course can use.

    Parameters
    ----------
    url
        A connection URL; `None` is `default_url()`: DATABASE_URL, or the embedded server, started
        when needed.
    autocommit
        Whether every statement is a transaction of its own.
    seconds
        How long a server may take that gives no answer, where the URL does not say it.

    Raises
    ------
    DatabaseError
        It cannot be reached, refuses the login, is older than PostgreSQL 16, is not in UTF8, or
        lacks pgvector >= 0.8.
    ServerError
        The embedded server cannot be started.

    Examples
    --------
    >>> with connect() as conn:  # doctest: +SKIP
    ...     conn.execute("SELECT '[1,2]'::vector").fetchone()
    (Vector([1.0, 2.0]),)
    """
    url = in_collection(url or default_url())
    conn = open_connection(url, autocommit=autocommit, seconds=seconds)
    try:
        if url not in _checked:
            check_database(conn, url)
            check_collection(conn)
            _checked.add(url)
        from pgvector.psycopg import register_vector

        register_vector(conn)
        if not autocommit:
            conn.rollback()  # the look-ups above opened a transaction
    except BaseException as error:
        conn.close()
        if isinstance(error, psycopg.Error):
            raise connection_error(error, url) from None
        raise
    return conn


def check_database(conn: psycopg.Connection[Any], url: str) -> str:
    """Return the version of a database's pgvector, with which the course can work.

    Raises
    ------
    DatabaseError
        If it or PostgreSQL is too old, the database is not in UTF8, or pgvector is not in the
        database, only on the server.
    """
    major = conn.info.server_version // 10_000
    encoding = conn.info.parameter_status("server_encoding")
    found, offered = conn.execute(_EXTENSION).fetchone() or (None, None)
    version = tuple(int(part) for part in re.findall(r"\d+", found or "")[:2])
    refusals = (
        (major < OLDEST_POSTGRES,
         f"is PostgreSQL {major}; the course needs {OLDEST_POSTGRES} or newer",
         "Unset DATABASE_URL for the embedded server, or use `make up` for one in Docker."),
        (encoding != "UTF8", f"is in {encoding}; the database has to be UTF8",
         "Make another one: CREATE DATABASE rag ENCODING 'UTF8' TEMPLATE template0."),
        (not found and offered, "lacks the extension vector",
         "Run `CREATE EXTENSION vector` in it as a superuser (infra/init.sql does)."),
        (not found, "lacks the extension vector",
         "Install pgvector >= 0.8 on that server and run `CREATE EXTENSION vector`."),
        (version < OLDEST_PGVECTOR, f"has pgvector {found}; the course needs 0.8 or newer",
         "Install a newer pgvector on that server and run `ALTER EXTENSION vector UPDATE`."),
    )  # fmt: skip
    for is_refused, what, hint in refusals:
        if is_refused:
            raise DatabaseError(f"{hide_password(url)} {what}", hint=hint)
    return str(found)


def psql_command(url: str) -> tuple[list[str], dict[str, str]]:
    """Return the command line that opens `url` in psql, and the environment to run it with.

    The password travels in the environment, where other users of the machine cannot read it.

    Raises
    ------
    DatabaseError
        There is no psql here.
    """
    parameters: dict[str, Any] = dict(conninfo_to_dict(url))
    environment = dict(os.environ)
    password = parameters.pop("password", None)
    if password is not None:
        environment["PGPASSWORD"] = str(password)
    return [str(_psql()), make_conninfo(**parameters)], environment


def _psql() -> Path:
    from course_lib.errors import ServerError

    try:
        program = find_binaries().program("psql")
        if program.is_file():
            return program
    except ServerError:
        pass
    found = shutil.which("psql")
    if found is None:
        raise DatabaseError(
            "There is no psql on this machine", hint="Install PostgreSQL's client programs."
        )
    return Path(found)
