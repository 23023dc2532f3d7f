"""A PostgreSQL server of the bench's own: nobody else's work is in its CPU seconds or its files.

It is the embedded server with a state folder of its own, given the memory that an index of this
size needs; it outlives a run that was broken off, so that the next one goes on with its data.
"""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, LiteralString

import psutil
import psycopg

from course_lib.errors import CourseError
from course_lib.store import connect
from course_lib.store.server import Server, ensure_server, remove_server, stop_server

GIB = 1024**3
BYTES_A_ROW = 8_000
"""On disk, measured: row, its part of the indexes, and the log that is written meanwhile."""
GRAPH_BYTES_A_ROW = 3_000
"""In memory while an HNSW index of 384 dimensions is built, a little more than measured."""
SHARED_BUFFERS = 2 * GIB


class ScaleError(CourseError):
    """The machine is too small for what was asked."""


@dataclass(frozen=True)
class Need:
    """Bytes that a run takes: on disk, and in memory at its peak."""

    disk: int
    memory: int


def need(rows: int) -> Need:
    """Return what a run with so many rows takes.

    Examples
    --------
    >>> round(need(1_000_000).disk / GIB, 1), round(need(1_000_000).memory / GIB, 1)
    (7.5, 5.8)
    """
    return Need(rows * BYTES_A_ROW, rows * GRAPH_BYTES_A_ROW + SHARED_BUFFERS + GIB)


def refuse_if_short(rows: int, disk: int, memory: int, folder: Path) -> None:
    """Raise with the sum written out if the disk or the memory is too small for a run.

    Parameters
    ----------
    rows
        Of the largest size.
    disk, memory
        Bytes that are free.
    folder
        Where the data is to lie, for the message.

    Raises
    ------
    ScaleError
        It would not fit.

    Examples
    --------
    >>> refuse_if_short(10_000, disk=20 * GIB, memory=20 * GIB, folder=Path("."))
    """
    wanted = need(rows)
    if disk < wanted.disk:
        raise ScaleError(
            f"{folder} has {disk / GIB:.1f} GiB free, and {rows:,} rows × {BYTES_A_ROW:,} bytes "
            f"are {wanted.disk / GIB:.1f} GiB",
            hint="Choose another disk with --state, or fewer rows with --rows.",
        )
    if memory < wanted.memory:
        raise ScaleError(
            f"{memory / GIB:.1f} GiB of memory are free, and {rows:,} rows × "
            f"{GRAPH_BYTES_A_ROW:,} bytes of graph + {SHARED_BUFFERS / GIB:.0f} GiB of shared "
            f"buffers + 1 GiB for the rest are {wanted.memory / GIB:.1f} GiB",
            hint="Choose fewer rows with --rows.",
        )


class Cluster:
    """The server, and what it has used so far."""

    def __init__(self, state: Path, server: Server) -> None:
        self.state = state
        self.server = server
        pid = (server.pgdata / "postmaster.pid").read_text(encoding="utf-8").split()[0]
        self._postmaster = psutil.Process(int(pid))

    @classmethod
    def start(cls, state: Path, settings: dict[str, str]) -> Cluster:
        """Start the server of a state folder with settings of its own, such as `shared_buffers`."""
        server = ensure_server(state)
        with psycopg.connect(server.url(), autocommit=True) as conn:
            changed = False
            for name, value in settings.items():
                row = conn.execute("SELECT current_setting(%s) = %s", [name, value]).fetchone()
                changed = changed or not (row and row[0])
                setting = psycopg.sql.Identifier(name)
                conn.execute(psycopg.sql.SQL("ALTER SYSTEM SET {} = {}").format(setting, value))
        if changed:
            stop_server(state)
            server = ensure_server(state)
        return cls(state, server)

    def open(self, database: str) -> psycopg.Connection[Any]:
        """Return a connection (autocommit) to a database, made where it is missing."""
        with psycopg.connect(self.server.url(), autocommit=True) as conn:
            known = conn.execute("SELECT 1 FROM pg_database WHERE datname = %s", [database])
            if not known.fetchone():
                name = psycopg.sql.Identifier(database)
                conn.execute(psycopg.sql.SQL("CREATE DATABASE {}").format(name))
        with psycopg.connect(self.server.url(database), autocommit=True) as conn:
            conn.execute("CREATE EXTENSION IF NOT EXISTS vector")
        return connect(self.server.url(database), autocommit=True)

    def drop(self, database: str) -> None:
        """Drop a database."""
        with psycopg.connect(self.server.url(), autocommit=True) as conn:
            name = psycopg.sql.Identifier(database)
            statement = psycopg.sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
            conn.execute(statement.format(name))

    def cpu_seconds(self) -> float:
        """Return the CPU seconds of all the server's processes since it started, ended ones too."""
        times = self._postmaster.cpu_times()
        total = times.user + times.system + times.children_user + times.children_system
        for child in self._postmaster.children():
            with contextlib.suppress(psutil.Error):
                spent = child.cpu_times()
                total += spent.user + spent.system
        return float(total)

    def resident_bytes(self) -> int:
        """Return the memory that the server's processes have for themselves, and shared once."""
        own, shared = 0, 0
        for process in [self._postmaster, *self._postmaster.children()]:
            with contextlib.suppress(psutil.Error):
                memory = process.memory_info()
                part = getattr(memory, "shared", 0)
                own, shared = own + memory.rss - part, max(shared, part)
        return own + shared

    def stop(self) -> None:
        """Stop the server; its data stays."""
        stop_server(self.state)

    def remove(self) -> None:
        """Stop the server and delete its data."""
        remove_server(self.state)
        shutil.rmtree(self.state, ignore_errors=True)


def backend_cpu(conn: psycopg.Connection[Any]) -> float:
    """Return the CPU seconds that the server's process behind a connection has used."""
    spent = psutil.Process(conn.info.backend_pid).cpu_times()
    return float(spent.user + spent.system)


def bytes_of(
    conn: psycopg.Connection[Any], query: LiteralString | psycopg.sql.Composed, *values: object
) -> int:
    """Return the one number that a query gives, 0 for none."""
    row = conn.execute(query, values).fetchone()
    return int(row[0] or 0) if row else 0
