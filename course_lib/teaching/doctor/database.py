"""Findings about the database: the embedded server, or the one that DATABASE_URL names."""

from __future__ import annotations

import socket
import sys
import tempfile
from pathlib import Path

from course_lib.errors import CourseError
from course_lib.teaching.doctor.finding import Finding, begin

PATIENCE = 2.0


def database_findings(database_url: str | None) -> list[Finding]:
    """Return findings about the database that the course would use now; none is started."""
    if database_url:
        return [url_finding(database_url)]
    return [binaries_finding(), server_finding(), loopback_finding()]


def binaries_finding() -> Finding:
    """Return whether there is a PostgreSQL to start."""
    from course_lib.store.binaries import find_binaries

    try:
        found = find_binaries()
    except CourseError as error:
        return Finding("PostgreSQL", "fail", str(error.args[0]), error.hint)
    return Finding("PostgreSQL", "ok", f"{found.version} in {found.bin_dir}")


def server_finding() -> Finding:
    """Return whether the embedded server runs; a stopped one is not an error."""
    from course_lib.store.server import server_status

    try:
        server = server_status()
    except CourseError as error:
        return Finding("server", "fail", str(error.args[0]), error.hint)
    if server is None:
        return Finding("server", "ok", "does not run; it is started when it is needed")
    return Finding("server", "ok", f"runs on {server.host}:{server.port}")


def loopback_finding() -> Finding:
    """Return whether a program can listen on 127.0.0.1, as the server and Jupyter must."""
    try:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            with socket.create_connection(listener.getsockname(), timeout=PATIENCE):
                return Finding("loopback", "ok", "127.0.0.1 takes connections")
    except OSError as error:
        fix = "A firewall or sandbox forbids it: allow local connections for Python."
        return Finding("loopback", "fail", f"127.0.0.1 cannot be used: {error}", fix)


def url_finding(url: str) -> Finding:
    """Return whether DATABASE_URL's server answers soon, and is one that the course can use."""
    from course_lib.store.urls import hide_password, without_password

    name, shown = "DATABASE_URL", hide_password(url)
    try:
        # In a thread, because a name server that hangs obeys no time limit of the driver.
        versions = begin(lambda: _versions(url)).result(PATIENCE + 0.5)
    except CourseError as error:
        return Finding(name, "fail", str(error.args[0]), error.hint)
    except Exception as error:  # the driver's own, a wrong URL's, a name server's
        why = without_password(error, url).replace(url, shown) or "no answer"
        fix = (
            "Start that server, mend DATABASE_URL (or `.env`), or unset it to use the embedded one."
        )
        return Finding(name, "fail", f"{shown}: {why}", fix)
    return Finding(name, "ok", f"{shown}: {versions}")


def state_finding(state: Path) -> Finding:
    """Return whether the course can write to its own folder, and nobody else look into it."""
    folder = state if state.exists() else state.parent
    try:
        with tempfile.NamedTemporaryFile(dir=folder):
            pass
    except OSError as error:
        fix = f"Make {folder} writable for you, or set COURSE_STATE to a folder that is."
        return Finding("state", "fail", f"{folder}: {error.strerror or error}", fix)
    # Where root's server runs under another account, that account's group may pass through.
    if sys.platform != "win32" and state.exists() and state.stat().st_mode & 0o067:
        fix = f"chmod 700 {state}"
        return Finding("state", "warn", f"other accounts can look into {state}", fix)
    return Finding("state", "ok", f"{state} can be written")


def _versions(url: str) -> str:
    import psycopg

    from course_lib.store.connections import check_database

    with psycopg.connect(url, connect_timeout=int(PATIENCE), autocommit=True) as conn:
        vector = check_database(conn, url)
        return f"PostgreSQL {conn.info.server_version // 10_000}, pgvector {vector}"
