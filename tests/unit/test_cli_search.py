"""What `course search` and `course ask` say of a database that is lost."""

from pathlib import Path

import psycopg
import pytest

from course_lib.store import models
from tests.blackbox.course import Course


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
