"""Logins: a URL goes in, a connection comes out, or an error that says what to do.

A server that starts or recovers is waited for, an embedded one that is gone is brought back, and a
password never gets into a message.
"""

from __future__ import annotations

import re
import time
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from course_lib.errors import DatabaseError
from course_lib.store.server import ensure_server, known_server
from course_lib.store.urls import hide_password, without_password

# A server that recovers from a crash, starts or is about to stop says so; this long it is asked
# again.
RECOVERY_PATIENCE = 60.0
# Seconds for which a server may hang up on everybody who logs in.
DROPPED_PATIENCE = 10.0


def open_connection(url: str, *, autocommit: bool = False) -> psycopg.Connection[Any]:
    """Return a connection without checks, for databases that have no pgvector yet.

    An embedded server that has gone away is brought back first.

    Parameters
    ----------
    url
        A connection URL.
    autocommit
        Whether every statement is a transaction of its own.

    Raises
    ------
    DatabaseError
        It is not a URL, or the server cannot be reached or refuses the login.
    """
    begin = time.monotonic()
    revived = False
    while True:
        try:
            return psycopg.connect(
                url, autocommit=autocommit, application_name="course", connect_timeout=10
            )
        except psycopg.ProgrammingError as error:
            raise DatabaseError(
                f"{hide_password(url)} is not a connection URL: {without_password(error, url)}",
                hint="It looks like postgresql://user:password@host:5432/database.",
            ) from None
        except psycopg.OperationalError as error:
            if _will_pass(error, time.monotonic() - begin):
                time.sleep(0.1)
                continue
            refused = "password authentication failed" in str(error) or "FATAL" in str(error)
            if not revived and not refused and (moved := _revive(url)):
                url, revived = moved, True
                continue
            raise connection_error(error, url) from None


def _revive(url: str) -> str | None:
    """Return where a database of the embedded server is after its restart; `None` if not its."""
    server = known_server()
    if server is None:
        return None
    parameters = conninfo_to_dict(url)
    if (parameters.get("host"), str(parameters.get("port"))) != (server.host, str(server.port)):
        return None
    port = ensure_server().port
    return make_conninfo(url, port=port)


def connection_error(error: psycopg.OperationalError, url: str) -> DatabaseError:
    """Return the error for a login that failed: what was said, and what to do next."""
    said = without_password(error, url)
    where = hide_password(url)
    if "password authentication failed" in said or "no password supplied" in said:
        return DatabaseError(
            f"{where} refuses the login: {said}",
            hint="Check the user and the password in DATABASE_URL.",
        )
    if re.search(r'database ".*" does not exist', said):
        return DatabaseError(
            f"{where} does not exist: {said}",
            hint="Create that database, or correct its name in DATABASE_URL.",
        )
    if "too many clients" in said or "remaining connection slots" in said:
        return DatabaseError(
            f"{where} has no free connection: {said}", hint="Close notebooks that hold connections."
        )
    return DatabaseError(
        f"{where} cannot be reached: {said}",
        hint="Check host and port in DATABASE_URL and that the server runs; unset it to use the "
        "embedded server.",
    )


def _will_pass(error: Exception, waited: float) -> bool:
    """Return whether a refused login is worth another attempt, so many seconds after the first.

    Examples
    --------
    >>> _will_pass(OSError("the database system is in recovery mode"), waited=50)
    True
    >>> _will_pass(OSError("password authentication failed"), waited=0)
    False
    """
    said = str(error)
    if "the database system is" in said:
        return waited < RECOVERY_PATIENCE
    # After one of its processes was killed, a server ends the others and with them a login that is
    # under way. Other programs behind a port hang up forever, so this is borne for less long.
    dropped = ("server closed the connection", "reset by peer", "terminating connection because of")
    return any(phrase in said for phrase in dropped) and waited < DROPPED_PATIENCE
