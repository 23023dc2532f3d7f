"""Checks of SQL, on the real server."""

from collections.abc import Iterator
from typing import Any

import pytest

from course_lib.teaching import CheckFailed, Lab
from course_lib.teaching.checks.probe import Probe, exercise
from course_lib.teaching.lab.checking import run_check


@exercise("9.1", "create_table", 1)
def creates_a_table(call: Probe) -> None:
    with call.scratch() as db:
        db.runs(call(3).returns(str), because="it makes the table")
        db.execute("INSERT INTO chunks (content, embedding) VALUES (%s, '[1,2,3]')", ("a",))
        db.rejects(
            "INSERT INTO chunks (content, embedding) VALUES ('b', '[1,2]')",
            because="a vector of another dimension is refused",
        )
        db.runs("SELECT content FROM chunks").gives([("a",)], because="one row was inserted")


def right(dimension: int) -> str:
    return f"CREATE TABLE chunks (content text, embedding vector({dimension}));"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    yield Lab("01")


def message(lab: Lab, given: Any) -> str:
    with pytest.raises(CheckFailed) as failed:
        run_check(creates_a_table, given, connect=lab.connect)
    return str(failed.value)


def tables(lab: Lab) -> int:
    with lab.connect() as connection:
        query = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'check_%'"
        row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])


def test_right_sql_passes_and_leaves_nothing_behind(lab: Lab):
    run_check(creates_a_table, right, connect=lab.connect)
    assert tables(lab) == 0


def test_what_postgresql_says_is_shown_with_the_line(lab: Lab):
    text = message(lab, lambda dimension: "CREATE TABLE chunks (\n    content txt\n)")
    assert "line 2: content txt" in text
    assert 'type "txt" does not exist' in text
    assert "it makes the table" in text
    assert tables(lab) == 0


def test_where_the_text_ends_too_early_its_last_line_is_shown(lab: Lab):
    text = message(lab, lambda dimension: "\nCREATE TABLE chunks (\n    content text\n\n")
    assert "line 3: content text" in text and "syntax error at end of input" in text


def test_each_session_has_a_database_of_its_own(lab: Lab):
    other = Lab("01")
    assert other.database_url != lab.database_url
    assert other.database_url == other.database_url
    with lab.connect() as connection:
        connection.execute("CREATE TABLE mine (x int)")
    with other.connect() as connection:
        row = connection.execute("SELECT to_regclass('mine')").fetchone()
    assert row == (None,)


@exercise("9.2", "SELECT", 1)
def runs_with_names(call: Probe) -> None:
    with call.scratch() as db:
        db.runs(call.given, {"first": 1, "second": 2}, because="it is yours")


def test_the_line_that_postgresql_means_is_shown_in_a_text_with_placeholders(lab: Lab):
    text = "SELECT %(first)s::int,\n       %(second)s::int,\n       nothing\nFROM pg_class"
    with pytest.raises(CheckFailed, match="line 3: nothing"):
        run_check(runs_with_names, text, connect=lab.connect)
