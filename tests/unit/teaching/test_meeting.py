"""Two pieces of work that meet, that are kept apart, and that fail."""

from threading import Lock
from typing import Any

import psycopg
import pytest

from course_lib.store import connect
from course_lib.store.databases import FreshDatabase
from course_lib.teaching.lab.meeting import at_once


@pytest.fixture
def opened(database: FreshDatabase) -> Any:
    def open_one(*, autocommit: bool = False) -> psycopg.Connection:
        return connect(database.url, autocommit=autocommit)

    return open_one


def test_two_that_call_meet_see_each_other_come(opened: Any) -> None:
    seen: list[tuple[int, str]] = []

    def work(conn: psycopg.Connection, name: str, meet: Any) -> None:
        seen.append((conn.info.backend_pid, name))
        meet()
        assert len(seen) == 2
        meet()

    assert at_once(opened, work, ("a",), ("b",)) is True
    assert len({pid for pid, _ in seen}) == 2


def test_two_that_a_lock_keeps_apart_do_not_meet_and_do_not_wait_for_ever(opened: Any) -> None:
    turn, done = Lock(), []

    def work(conn: psycopg.Connection, name: str, meet: Any) -> None:
        with turn:
            meet()
            done.append(name)

    assert at_once(opened, work, ("a",), ("b",), patience=0.05) is False
    assert sorted(done) == ["a", "b"]


def test_an_error_reaches_the_caller_and_nobody_waits_for_who_failed(opened: Any) -> None:
    def work(conn: psycopg.Connection, name: str, meet: Any) -> None:
        if name == "b":
            raise ValueError("broken")
        meet()

    with pytest.raises(ValueError, match="broken"):
        at_once(opened, work, ("a",), ("b",))
