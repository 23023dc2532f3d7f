"""What the tests of the embedded server do to it: start it elsewhere, kill it, ask it something."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psycopg

from course_lib.store import postmaster
from course_lib.store.server import Server

START = "import sys; from pathlib import Path; from course_lib.store.server import ensure_server\n"


def postmaster_pid(server: Server) -> int:
    claim = postmaster.read_pid_file(server.pgdata)
    assert claim is not None
    return claim.pid


def kill_postmaster(server: Server) -> int:
    pid = postmaster_pid(server)
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while postmaster.is_postmaster_of(pid, server.pgdata) and time.monotonic() < deadline:
        time.sleep(0.005)  # the signal arrives a little later
    return pid


def answers(server: Server) -> bool:
    with psycopg.connect(server.url()) as conn:
        return conn.execute("SELECT 1").fetchone() == (1,)


def run_start(state: Path, *, before: str = "", **options: object) -> str:
    """Start the server from a process of its own and return what that says."""
    script = START + textwrap.dedent(before) + "print(ensure_server(Path(sys.argv[1])).port)"
    command = [sys.executable, "-c", script, str(state)]
    ended = subprocess.run(  # type: ignore[call-overload]
        command, capture_output=True, encoding="utf-8", timeout=240, **options
    )
    assert ended.returncode == 0, ended.stderr
    return str(ended.stdout).strip()
