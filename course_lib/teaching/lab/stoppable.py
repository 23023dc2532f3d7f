"""A PostgreSQL that a lab may stop under a service, so that nobody else's is disturbed."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from course_lib.errors import CourseError

if TYPE_CHECKING:
    from course_lib.store.server import Server

FOLDER = "course-stoppable-"


class StoppableDatabase:
    """A PostgreSQL of one's own, in a temporary folder, that may be stopped and started again.

    It keeps its address and its rows. What a killed kernel left running is removed by the next one.
    """

    def __init__(self) -> None:
        import psycopg

        from course_lib.store.libpq import without_libpq_variables

        _sweep()
        self._folder = Path(tempfile.mkdtemp(prefix=f"{FOLDER}{os.getpid()}-"))
        self._folder.chmod(0o755)  # where root works, the server runs under another account
        atexit.register(self.remove)
        self.url = self.start().url()
        with without_libpq_variables(), psycopg.connect(self.url, autocommit=True) as conn:
            conn.execute("CREATE EXTENSION IF NOT EXISTS vector")

    def start(self) -> Server:
        """Start it and wait until it takes connections."""
        from course_lib.store import ensure_server

        return ensure_server(self._folder / "state")

    def stop(self) -> None:
        """Stop it as an administrator would: open connections are ended, what was written stays."""
        from course_lib.store import stop_server

        stop_server(self._folder / "state")

    def remove(self) -> None:
        """Stop it and delete all that it has."""
        _remove(self._folder)
        atexit.unregister(self.remove)


def _sweep() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER}*-*"):
        pid = folder.name.removeprefix(FOLDER).split("-")[0]
        if pid.isdecimal() and not psutil.pid_exists(int(pid)):
            with suppress(CourseError, OSError):
                _remove(folder)


def _remove(folder: Path) -> None:
    from course_lib.store.server import remove_server

    if folder.exists():
        remove_server(folder / "state")
        shutil.rmtree(folder, ignore_errors=True)
