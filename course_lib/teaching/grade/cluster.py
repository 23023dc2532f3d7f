"""The PostgreSQL cluster of one grader: on a file system of limited size, gone afterwards.

What a server uses escapes the limits of its clients. So it is started, where bubblewrap is there,
by a process that sees a file system in memory in the place of the cluster's folder, and whose own
limit of memory the server's processes inherit. It ends when whoever grades hangs up or dies.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

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
    state = Path(tempfile.mkdtemp(prefix="course-grade-"))
    command = [sys.executable, "-m", "course_lib.teaching.grade.cluster", str(state)]
    command += [str(sockets)] if sockets else []
    if fence.kind != "none":
        size = ["--perms", "0711", "--size", str(ROOM), "--tmpfs", str(state)]
        command = [fence.program, "--dev-bind", "/", "/", *size, "--", *command]
    environment = {**os.environ, "PYTHONPATH": str(fence.root), "COURSE_ROOT": str(fence.root)}
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=environment,
            start_new_session=os.name == "posix",  # Ctrl-C is ours to pass on
        )  # fmt: skip
        try:
            assert process.stdin is not None and process.stdout is not None
            url = process.stdout.readline().decode("utf-8").strip()
            if not url:
                process.wait(10)
                errors.seek(0)
                said = errors.read().decode("utf-8", "replace").strip().splitlines()
                raise GradeError(
                    "no PostgreSQL for the submissions: "
                    + (" | ".join(said[-6:]) or "it did not start")
                )
            yield url
        finally:
            with contextlib.suppress(OSError):
                process.stdin.close()  # type: ignore[union-attr]
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()  # type: ignore[union-attr]
            shutil.rmtree(state, ignore_errors=True)


def main(state: Path, sockets: Path | None) -> None:
    """Start the cluster in a folder, print its URL, and remove it when standard input ends."""
    import psycopg
    from psycopg import sql

    from course_lib.store.server import ensure_server, remove_server

    _limit_memory()
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


def _limit_memory() -> None:
    if sys.platform == "linux":
        import resource

        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


if __name__ == "__main__":
    main(*[Path(one) for one in sys.argv[1:]], *[None] * (3 - len(sys.argv)))
