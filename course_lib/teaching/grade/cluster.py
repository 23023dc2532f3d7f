"""The PostgreSQL cluster of one grader: on a file system of limited size, gone afterwards.

What a server uses escapes the limits of its clients. So it is started, where bubblewrap is there,
by a process that sees a file system in memory in the place of the cluster's folder, and whose own
limit of memory the server's processes inherit. It ends when whoever grades hangs up or dies.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil

from course_lib.teaching.grade.errors import GradeError
from course_lib.teaching.grade.fence import MEGABYTE, Fence

ROOM = 1024 * MEGABYTE
"""Bytes of the file system."""

MEMORY = 1024 * MEGABYTE
"""Bytes of address space of each of the server's processes, what they share included."""

SETTINGS = {
    "max_wal_size": "96MB",
    "fsync": "off",  # nothing in it outlives the run
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "authentication_timeout": "5s",
    "statement_timeout": "60s",
    "temp_file_limit": "32MB",  # of each connection
}


@contextlib.contextmanager
def grading_cluster(fence: Fence, sockets: Path | None = None) -> Iterator[str]:
    """Start a cluster, yield its administrator's URL, and remove it with all that is in it.

    Parameters
    ----------
    fence
        Whose bubblewrap limits the size; without it the size is not limited.
    sockets
        A folder for its unix socket, if it is to have one.

    Raises
    ------
    GradeError
        It cannot be started.
    """
    with contextlib.ExitStack() as stack:
        errors = stack.enter_context(tempfile.TemporaryFile())
        state = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="course-grade-", ignore_cleanup_errors=True)
        )
        command = [sys.executable, "-m", "course_lib.teaching.grade.cluster", state]
        command += [str(sockets)] if sockets else []
        if fence.kind != "none":
            size = ["--perms", "0711", "--size", str(ROOM), "--tmpfs", state]
            command = [fence.program, "--dev-bind", "/", "/", *size, "--", *command]
        process = stack.enter_context(
            subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                env={**os.environ, "PYTHONPATH": str(fence.root), "COURSE_ROOT": str(fence.root)},
                start_new_session=os.name == "posix",  # Ctrl-C is ours to pass on
            )
        )  # fmt: skip
        stack.callback(_end, process)
        assert process.stdout is not None
        url = process.stdout.readline().decode("utf-8").strip()
        if not url:
            process.wait(10)
            errors.seek(0)
            said = errors.read().decode("utf-8", "replace").strip().splitlines()
            told = " | ".join(said[-6:]) or "it did not start"
            raise GradeError(f"no PostgreSQL for the submissions: {told}")
        yield url


def _end(process: subprocess.Popen[bytes]) -> None:
    """Hang up, upon which it removes the cluster; end it where it does not."""
    with contextlib.suppress(OSError):
        process.stdin.close()  # type: ignore[union-attr]
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(60)
    process.kill()


def main(state: Path, sockets: Path | None) -> None:
    """Start the cluster in a folder, print its URL, and remove it when standard input ends."""
    import psycopg
    from psycopg import sql

    from course_lib.store.libpq import forget_libpq_variables
    from course_lib.store.server import ensure_server, remove_server

    if sys.platform == "linux":
        with contextlib.suppress(ValueError, OSError):  # there is a lower limit
            psutil.Process().rlimit(psutil.RLIMIT_AS, (MEMORY, MEMORY))
    forget_libpq_variables()
    try:
        url = ensure_server(state, sockets=sockets).url()
        with psycopg.connect(url, autocommit=True) as conn:
            for name, value in SETTINGS.items():
                conn.execute(
                    sql.SQL("ALTER SYSTEM SET {} = {}").format(sql.Identifier(name), value)
                )
            conn.execute("SELECT pg_reload_conf()")
            for name in ("postgres", "template1"):
                conn.execute(
                    sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(sql.Identifier(name))
                )
        print(url, flush=True)
        sys.stdin.read()
    finally:
        remove_server(state)


if __name__ == "__main__":
    main(*[Path(one) for one in sys.argv[1:]], *[None] * (3 - len(sys.argv)))
