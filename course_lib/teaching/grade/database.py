"""An empty database for each submission, in the cluster of the grading run.

The submission reaches its database, as a role that reaches no other, through a unix socket that is
within the fence; a relay on our side connects it with the server. Its size, connections and
statements are limited, because what the server uses escapes the limits of its clients.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import socketserver
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

from course_lib.teaching.grade.errors import GradeError

if TYPE_CHECKING:
    from course_lib.store.databases import FreshDatabase

WITHIN = "/postgres"
"""Where the socket's folder is within the fence."""

LARGEST = 256 << 20
"""Bytes of a submission's database, temporary files apart."""

TEMPORARY = 32 << 20
"""Bytes of temporary files of each connection."""

CONNECTIONS = 12
STATEMENT = "20s"


class Databases:
    """Gives each process of a submission an empty database, one at a time.

    Parameters
    ----------
    admin_url
        Of a role that may make databases and roles.

    Attributes
    ----------
    folder
        Holds the relay's socket.
    url
        Of the present database, for whoever is outside of the fence.
    """

    def __init__(self, admin_url: str) -> None:
        self.admin_url = admin_url
        self.folder = Path(tempfile.mkdtemp(prefix="course-pg-"))
        self.folder.chmod(0o755)
        self._fresh: FreshDatabase | None = None
        self.url = ""
        parts = urlsplit(admin_url)
        address = (parts.hostname or "127.0.0.1", parts.port or 5432)
        self._relay = _Relay(str(self.folder / ".s.PGSQL.5432"), address)
        (self.folder / ".s.PGSQL.5432").chmod(0o777)  # who connects still needs the password
        threading.Thread(target=self._relay.serve_forever, args=(0.1,), daemon=True).start()
        self._over = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def give(self, *, fenced: bool) -> str:
        """Make an empty database, drop the one before, and return the URL within the fence."""
        import psycopg
        from psycopg import sql

        from course_lib.store import fresh_database

        self.take_back()
        fresh = fresh_database("grade", url=self.admin_url)
        role = sql.Identifier(fresh.name)
        with psycopg.connect(self.admin_url, autocommit=True) as conn:
            limit = sql.Literal(CONNECTIONS)
            conn.execute(sql.SQL("ALTER ROLE {} CONNECTION LIMIT {}").format(role, limit))
            for name, value in {
                "statement_timeout": STATEMENT,
                "temp_file_limit": f"{TEMPORARY >> 10}kB",
            }.items():
                conn.execute(
                    sql.SQL("ALTER ROLE {} SET {} TO {}").format(
                        role, sql.Identifier(name), sql.Literal(value)
                    )
                )
        self._fresh = fresh
        self.url = fresh.url
        parts = urlsplit(fresh.url)
        host = quote(WITHIN if fenced else str(self.folder), safe="")
        secret = quote(unquote(parts.password or ""), safe="")
        return f"postgresql://{parts.username}:{secret}@/{fresh.name}?host={host}&port=5432"

    def take_back(self) -> None:
        """Drop the database that was given last, and end what is connected to it."""
        fresh, self._fresh = self._fresh, None
        if fresh is not None:
            self._relay.hang_up()
            fresh.drop()

    def close(self) -> None:
        """Drop what is left and end the relay."""
        self._over.set()
        with contextlib.suppress(Exception):
            self.take_back()
        self._relay.shutdown()
        self._relay.server_close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _watch(self) -> None:
        """Take the connections away from a database that has grown too large."""
        import psycopg

        while not self._over.wait(0.5):
            fresh = self._fresh
            if fresh is None:
                continue
            with contextlib.suppress(psycopg.Error):
                with psycopg.connect(self.admin_url, autocommit=True) as conn:
                    row = conn.execute("SELECT pg_database_size(%s)", [fresh.name]).fetchone()
                    if row is not None and row[0] > LARGEST:
                        conn.execute(f'ALTER ROLE "{fresh.name}" NOLOGIN'.encode())
                        conn.execute(
                            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                            "WHERE usename = %s",
                            [fresh.name],
                        )


class _Relay(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    request_queue_size = CONNECTIONS

    def __init__(self, path: str, server: tuple[str, int]) -> None:
        if not hasattr(socket, "AF_UNIX"):
            raise GradeError("labs with a database cannot be graded on this system")
        self.server = server
        self._open: set[socket.socket] = set()
        super().__init__(path, _Connection)

    def hang_up(self) -> None:
        """End all connections."""
        for one in list(self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a connection that broke is the client's business."""


class _Connection(socketserver.BaseRequestHandler):
    server: _Relay

    def handle(self) -> None:
        """Carry bytes both ways until one side has enough."""
        if len(self.server._open) >= 2 * CONNECTIONS:
            return
        with socket.create_connection(self.server.server, timeout=10) as beyond:
            beyond.settimeout(None)
            beyond.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            ends = {beyond, self.request}
            self.server._open |= ends
            try:
                back = threading.Thread(target=_pump, args=(beyond, self.request), daemon=True)
                back.start()
                _pump(self.request, beyond)
                back.join(5)
            finally:
                self.server._open -= ends


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
