"""What `course search` prints on a terminal."""

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from course_lib.store import models
from tests.blackbox.course import Course


def test_a_terminal_gets_bold_and_dim_and_a_pipe_neither(course: Course, folder: Path) -> None:
    pty = pytest.importorskip("pty")
    course("ingest", folder / "cats.md")
    command = [sys.executable, "-c", "from course_lib.cli import main; main()", "search", "cat"]
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb") as terminal:
        subprocess.run(command, env=os.environ | course.environment, stdout=theirs, check=True)
        os.close(theirs)
        shown = terminal.readline().decode()
    assert shown.startswith(
        "\x1b[1m1. cats.md:1-3\x1b[0m  Cats  \x1b[2mscore 0.0328, similarity 0."
    )
    assert "\x1b" not in course("search", "cat").ok()


def test_a_database_that_goes_away_in_the_middle_is_named(
    course: Course, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def goes_away(conn: psycopg.Connection, *model: object, **scope: object) -> None:
        conn.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    course("ingest", folder / "cats.md")
    monkeypatch.setattr(models, "check_model", goes_away)
    for command in ("search", "ask"):
        done = course(command, "cat")
        said = done.error()
        assert done.out == ""
        assert "broke off the work: terminating connection" in said and ":***@" in said
        assert "run the same command again" in said
