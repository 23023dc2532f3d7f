"""What is done to the embedded server: started elsewhere, killed, asked; and waiting for it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import psycopg

from course_lib.store.server import Server
from tests.waiting import is_alive, until

START = "import sys; from pathlib import Path; from course_lib.store.server import ensure_server\n"


def postmaster_pid(server: Server) -> int:
    return int((server.pgdata / "postmaster.pid").read_text(encoding="utf-8").split()[0])


def kill_postmaster(server: Server) -> int:
    pid = postmaster_pid(server)
    os.kill(pid, signal.SIGKILL)
    until(lambda: not is_alive(pid))
    return pid


def answers(server: Server) -> bool:
    with psycopg.connect(server.url()) as conn:
        return conn.execute("SELECT 1").fetchone() == (1,)


def keep_a_row(server: Server) -> None:
    with psycopg.connect(server.url()) as conn:
        conn.execute("CREATE TABLE kept AS SELECT 7 AS n")


def has_the_row(server: Server) -> bool:
    with psycopg.connect(server.url()) as conn:
        return conn.execute("SELECT n FROM kept").fetchall() == [(7,)]


def run_start(state: Path, *, before: str = "", **options: object) -> str:
    """Start the server from a process of its own and return what that says."""
    script = START + textwrap.dedent(before) + "print(ensure_server(Path(sys.argv[1])).port)"
    command = [sys.executable, "-c", script, str(state)]
    ended = subprocess.run(  # type: ignore[call-overload]
        command, capture_output=True, encoding="utf-8", timeout=240, **options
    )
    assert ended.returncode == 0, ended.stderr
    return str(ended.stdout).strip()
