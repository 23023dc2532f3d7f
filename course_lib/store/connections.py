"""Connections to PostgreSQL: a URL goes in, a checked connection that knows pgvector comes out.

The two versions that everything else relies on (PostgreSQL >= 16, pgvector >= 0.8) are checked
here, once for each database and process, and a password never gets into a message.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path
from typing import Any, LiteralString
from urllib.parse import quote, urlencode

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from course_lib.errors import DatabaseError
from course_lib.store.binaries import find_binaries
from course_lib.store.collection import collection_of, see_own_tables_only
from course_lib.store.faults import will_pass
from course_lib.store.server import ensure_server, known_server

OLDEST_POSTGRES = 16
OLDEST_PGVECTOR = (0, 8)
# A server that recovers from a crash, starts or is about to stop says so; this long it is asked
# again.
RECOVERY_PATIENCE = 60.0
ATTEMPTS = 3

_checked: set[str] = set()


def connect(url: str | None = None, *, autocommit: bool = False) -> psycopg.Connection[Any]:
    """Return a connection with pgvector's types registered, to a database that the course can use.

    Parameters
    ----------
    url
        A connection URL; `None` is `default_url()`: DATABASE_URL, or the embedded server, started
        when needed.
    autocommit
        Whether every statement is a transaction of its own.

    Raises
    ------
    DatabaseError
        It cannot be reached, refuses the login, is older than PostgreSQL 16, or lacks pgvector >=
        0.8.
    ServerError
        The embedded server cannot be started.

    Examples
    --------
    >>> with connect() as conn:  # doctest: +SKIP
    ...     conn.execute("SELECT '[1,2]'::vector").fetchone()
    (Vector([1.0, 2.0]),)
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return _connect_once(url, autocommit)
        except psycopg.OperationalError as error:
            # The server died between the login and the first look-ups: nothing was done yet.
            if attempt == ATTEMPTS:
                raise _connection_error(error, url or "the embedded server") from None
    raise AssertionError("unreachable")


def _connect_once(url: str | None, autocommit: bool) -> psycopg.Connection[Any]:
    """Connect, check the versions and register the types; what the database says comes as it is."""
    if url is None:
        from course_lib.store.databases import open_default

        conn, url = open_default(autocommit=autocommit)
    else:
        conn = open_connection(url, autocommit=autocommit)
    try:
        _check_versions(conn, url)
        from pgvector.psycopg import register_vector

        register_vector(conn)
        if not autocommit:
            conn.rollback()  # the look-ups above opened a transaction
        if collection_of(url):
            see_own_tables_only(conn)
            conn.commit()
    except BaseException:
        conn.close()
        raise
    return conn


def open_connection(url: str, *, autocommit: bool = False) -> psycopg.Connection[Any]:
    """Return a connection without checks, for databases that have no pgvector yet.

    Errors are those of `connect`. An embedded server that has gone away is brought back first.
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
                f"{hide_password(url)} is not a connection URL: {_hidden(error, url)}",
                hint="It looks like postgresql://user:password@host:5432/database.",
            ) from None
        except psycopg.OperationalError as error:
            if will_pass(error, time.monotonic() - begin, RECOVERY_PATIENCE):
                time.sleep(0.1)
                continue
            refused = "password authentication failed" in str(error) or "FATAL" in str(error)
            if not revived and not refused and (moved := _revive(url)):
                url, revived = moved, True
                continue
            raise _connection_error(error, url) from None


def hide_password(url: str) -> str:
    """Return a URL or key-value connection string fit for messages: every password in it is `***`.

    Examples
    --------
    >>> hide_password("postgresql://ada:secret@localhost/course?password=x")
    'postgresql://ada:***@localhost/course?password=***'
    >>> hide_password("host=localhost password='a b' dbname=course")
    'host=localhost password=*** dbname=course'
    """
    url = re.sub(r"^(\w+://[^:/?#]*):.*@(?=[^@]*$)", r"\1:***@", url)
    value = r"(?:'(?:[^'\\]|\\.)*'|[^\s&']+)"
    return re.sub(rf"\b(password|sslpassword)(\s*=\s*){value}", r"\1\2***", url)


def url_for(url: str, dbname: str, user: str | None = None, password: str | None = None) -> str:
    """Return `url` with another database, and with another login where one is given.

    Examples
    --------
    >>> url_for("postgresql://ada:x@localhost:5432/a?sslmode=prefer", "b", "bob", "p@ss")
    'postgresql://bob:p%40ss@localhost:5432/b?sslmode=prefer'
    >>> url_for("host=/run/postgresql dbname=a user=ada", "b")
    'postgresql://ada@/b?host=%2Frun%2Fpostgresql'
    """
    parts = {key: str(value) for key, value in conninfo_to_dict(url).items() if value is not None}
    parts.pop("dbname", None)
    if user is not None:
        for key in ("user", "password", "passfile"):
            parts.pop(key, None)
        parts |= {"user": user, "password": password or ""}
    login = quote(parts.pop("user", ""), safe="")
    secret = parts.pop("password", "")
    login += f":{quote(secret, safe='')}" if secret else ""
    place = ""
    if re.fullmatch(
        r"[\w.-]+", parts.get("host", "")
    ):  # others (sockets, IPv6, lists) stay parameters
        place = parts.pop("host") + (f":{parts.pop('port')}" if "port" in parts else "")
    query = f"?{urlencode(parts, quote_via=quote, safe='')}" if parts else ""
    return f"postgresql://{login}{'@' if login else ''}{place}/{quote(dbname, safe='')}{query}"


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


def _check_versions(conn: psycopg.Connection[Any], url: str) -> None:
    if url in _checked:
        return
    major = conn.info.server_version // 10_000
    if major < OLDEST_POSTGRES:
        raise DatabaseError(
            f"{hide_password(url)} is PostgreSQL {major}; the course needs {OLDEST_POSTGRES} or "
            "newer",
            hint="Unset DATABASE_URL for the embedded server, or use `make up` for one in Docker.",
        )
    found = _value(conn, "SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    if found is None:
        offered = _value(
            conn, "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'"
        )
        raise DatabaseError(
            f"{hide_password(url)} lacks the extension vector",
            hint="Run `CREATE EXTENSION vector` in it as a superuser (infra/init.sql does)."
            if offered
            else "Install pgvector >= 0.8 on that server and run `CREATE EXTENSION vector`.",
        )
    if tuple(int(part) for part in re.findall(r"\d+", found)[:2]) < OLDEST_PGVECTOR:
        raise DatabaseError(
            f"{hide_password(url)} has pgvector {found}; the course needs 0.8 or newer",
            hint="Install a newer pgvector on that server and run `ALTER EXTENSION vector UPDATE`.",
        )
    _checked.add(url)


def _value(conn: psycopg.Connection[Any], query: LiteralString) -> str | None:
    row = conn.execute(query).fetchone()
    return None if row is None else str(row[0])


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


def _connection_error(error: psycopg.OperationalError, url: str) -> DatabaseError:
    said = _hidden(error, url)
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


def _hidden(error: BaseException, url: str) -> str:
    """Return what an error says, on one line and without the password."""
    said = " ".join(str(error).split())
    try:
        password = conninfo_to_dict(url).get("password")
    except psycopg.Error:
        return hide_password(said)
    return said.replace(str(password), "***") if password else said
