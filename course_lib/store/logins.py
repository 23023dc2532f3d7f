"""Logins: a URL becomes a connection, or an error that says what to do and no password.

A server that starts or recovers is waited for, and an embedded one that is gone is started again.
Collection and role are set by a statement, because a pooler may drop what a login says of them.
"""

from __future__ import annotations

import csv
import re
import time
from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from course_lib.errors import DatabaseError
from course_lib.store.libpq import forget_libpq_variables
from course_lib.store.poolers import is_pooled, shares_sessions
from course_lib.store.server import ensure_server, known_server
from course_lib.store.urls import hide_password, not_a_url, split_settings, without_password

LOGIN = {"application_name": "course", "client_encoding": "UTF8"}
"""What each login says, whatever the URL or the environment does."""

RECOVERY_SECONDS = 60.0
"""How long a server that starts, recovers from a crash or is about to stop is asked again."""

_CAUSES = (
    ("vector type not found", "has the extension vector outside of the search_path",
     "Take search_path out of `options` in DATABASE_URL; RAG_COLLECTION names a schema."),
    ("SSL was required|definition of service|invalid ([a-z_]+ )?value|session is (not )?read|"
     "server is (not )?in hot standby|root certificate|GSSAPI|unsupported startup parameter|"
     'role ".*" does not exist|denied to set role',
     "cannot be reached with these settings",
     "Correct `options` and the others in DATABASE_URL, or unset the variable of PostgreSQL that "
     "says so: PGOPTIONS, PGSSLMODE, PGSERVICE or another that begins with PG."),
    ("password authentication failed|no password supplied|no such user", "refuses the login",
     "Check the user and the password in DATABASE_URL."),
    ('database ".*" does not exist|no such database', "does not exist",
     "Create that database, or correct its name in DATABASE_URL."),
    ("too many clients|remaining connection slots", "has no free connection",
     "Close notebooks that hold connections."),
    ("", "cannot be reached",
     "Check host and port in DATABASE_URL and that the server runs; unset it to use the embedded "
     "server."),
)  # fmt: skip
"""What a server says, what that means, and what to do; the first that fits counts."""


def open_connection(
    url: str, *, autocommit: bool = False, seconds: int = 10
) -> psycopg.Connection[Any]:
    """Return a connection without checks, for databases that have no pgvector yet.

    Raises
    ------
    DatabaseError
        It is not a URL, or the server cannot be reached, or refuses the login or a setting, or is
        a pooler that shares sessions.
    """
    plain, chosen = split_settings(url)
    login = make_conninfo(plain, **{"connect_timeout": seconds, **conninfo_to_dict(plain), **LOGIN})
    if _is_embedded(plain):
        forget_libpq_variables()
    conn = _log_in(login, url)
    try:
        if is_pooled(conn) and shares_sessions(conn, login):
            raise DatabaseError(
                f"{hide_password(url)} is a pooler that shares its sessions among clients",
                hint="Give the pooler pool_mode = session, or connect to the server itself.",
            )
        _choose(conn, chosen)
        conn.autocommit = autocommit
    except DatabaseError:
        conn.close()
        raise
    except psycopg.Error as error:
        conn.close()
        raise connection_error(error, url) from None
    return conn


def _choose(conn: psycopg.Connection[Any], chosen: Mapping[str, str]) -> None:
    """Set collection and role for the session."""
    for name, value in chosen.items():
        items = map(sql.Literal, next(csv.reader([value], skipinitialspace=True)))
        statement = sql.SQL("SET {} = {}").format(sql.Identifier(name), sql.SQL(", ").join(items))
        conn.execute(statement)


def _log_in(login: str, url: str) -> psycopg.Connection[Any]:
    end, restarted = time.monotonic() + RECOVERY_SECONDS, False
    while True:
        try:
            return psycopg.connect(login, autocommit=True)
        except psycopg.ProgrammingError as error:
            raise not_a_url(url, error) from None
        except psycopg.OperationalError as error:
            if "the database system is" in str(error) and time.monotonic() < end:
                time.sleep(0.1)
            elif not restarted and "FATAL" not in str(error) and _is_embedded(url):
                ensure_server()
                restarted = True
            else:
                raise connection_error(error, url) from None


def _is_embedded(url: str) -> bool:
    """Return whether a URL is one of the embedded server's."""
    server, parts = known_server(), conninfo_to_dict(url)
    place = (parts.get("host"), str(parts.get("port")))
    return server is not None and place == (server.host, str(server.port))


def connection_error(error: psycopg.Error, url: str) -> DatabaseError:
    """Return the error for a login that failed: what was said, and what to do next."""
    said = without_password(error, url)
    what, hint = next((what, hint) for cause, what, hint in _CAUSES if re.search(cause, said))
    return DatabaseError(f"{hide_password(url)} {what}: {said}", hint=hint)
