"""Logins: a URL becomes a connection, or an error that says what to do and no password.

A server that starts or recovers is waited for, and an embedded one that is gone is started again.
"""

from __future__ import annotations

import re
import time
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from course_lib.errors import DatabaseError
from course_lib.store.server import ensure_server, known_server
from course_lib.store.urls import hide_password, not_a_url, without_password

RECOVERY_SECONDS = 60.0
"""How long a server that starts, recovers from a crash or is about to stop is asked again."""

_CAUSES = (
    ("password authentication failed|no password supplied", "refuses the login",
     "Check the user and the password in DATABASE_URL."),
    ('database ".*" does not exist', "does not exist",
     "Create that database, or correct its name in DATABASE_URL."),
    ("too many clients|remaining connection slots", "has no free connection",
     "Close notebooks that hold connections."),
    ("", "cannot be reached",
     "Check host and port in DATABASE_URL and that the server runs; unset it to use the embedded "
     "server."),
)  # fmt: skip
"""What a server says, what that means, and what to do; the first that fits counts."""


def open_connection(url: str, *, autocommit: bool = False) -> psycopg.Connection[Any]:
    """Return a connection without checks, for databases that have no pgvector yet.

    Raises
    ------
    DatabaseError
        It is not a URL, or the server cannot be reached or refuses the login.
    """
    end, restarted = time.monotonic() + RECOVERY_SECONDS, False
    while True:
        try:
            return psycopg.connect(
                url, autocommit=autocommit, application_name="course", connect_timeout=10
            )
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


def connection_error(error: psycopg.OperationalError, url: str) -> DatabaseError:
    """Return the error for a login that failed: what was said, and what to do next."""
    said = without_password(error, url)
    what, hint = next((what, hint) for cause, what, hint in _CAUSES if re.search(cause, said))
    return DatabaseError(f"{hide_password(url)} {what}: {said}", hint=hint)
