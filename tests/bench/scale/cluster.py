"""A PostgreSQL server of the bench's own: nobody else's work is in its CPU seconds or its files."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg

from course_lib.errors import CourseError
from course_lib.store.server import Server, ensure_server, remove_server, stop_server

GIB = 1024**3
BYTES_A_ROW = 8_000
"""On disk, measured: row, its part of the indexes, and the log that is written meanwhile."""
GRAPH_BYTES_A_ROW = 3_000
"""In memory while an HNSW index of 384 dimensions is built, a little more than measured."""
SHARED_BUFFERS = 2 * GIB
SETTINGS = {"shared_buffers": f"{SHARED_BUFFERS >> 30}GB", "max_wal_size": "4GB"}


def refuse_if_short(rows: int, folder: Path) -> None:
    """Raise with the sum written out if the disk or the memory is too small for so many rows.

    Raises
    ------
    CourseError
        It would not fit.
    """
    disk, memory = psutil.disk_usage(str(folder)).free, psutil.virtual_memory().available
    if disk < rows * BYTES_A_ROW:
        raise CourseError(
            f"{folder} has {disk / GIB:.1f} GiB free, and {rows:,} rows × {BYTES_A_ROW:,} bytes "
            f"are {rows * BYTES_A_ROW / GIB:.1f} GiB",
            hint="Choose another disk with COURSE_STATE, or fewer rows with --rows.",
        )
    wanted = rows * GRAPH_BYTES_A_ROW + SHARED_BUFFERS + GIB
    if memory < wanted:
        raise CourseError(
            f"{memory / GIB:.1f} GiB of memory are free, and {rows:,} rows × "
            f"{GRAPH_BYTES_A_ROW:,} bytes of graph + {SHARED_BUFFERS / GIB:.0f} GiB of shared "
            f"buffers + 1 GiB for the rest are {wanted / GIB:.1f} GiB",
            hint="Choose fewer rows with --rows.",
        )


class Cluster:
    """The server, and what it has used so far."""

    def __init__(self, server: Server) -> None:
        self.url = server.url()
        pid = (server.pgdata / "postmaster.pid").read_text(encoding="utf-8").split()[0]
        self._postmaster = psutil.Process(int(pid))

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


@contextlib.contextmanager
def own_cluster(state: Path) -> Iterator[Cluster]:
    """Start a server with a state folder of its own; both are gone at the end."""
    try:
        with psycopg.connect(ensure_server(state).url(), autocommit=True) as conn:
            for name, value in SETTINGS.items():
                statement = psycopg.sql.SQL("ALTER SYSTEM SET {} = {}")
                conn.execute(statement.format(psycopg.sql.Identifier(name), value))
        stop_server(state)
        yield Cluster(ensure_server(state))
    finally:
        remove_server(state)
        shutil.rmtree(state, ignore_errors=True)
