"""Two projects that sync at once, and syncs that are hit in their middle.

Lab 12 shows which of these meetings break the sync that one writes first.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from course_lib.embedder import EmbeddingClient
from course_lib.errors import DatabaseError
from course_lib.store import connect, fresh_database
from course_lib.store.databases import FreshDatabase
from course_lib.xray import (
    LockFiles,
    Package,
    create_tables,
    drop_tables,
    forget_project,
    sync_packages,
    sync_project,
)

Conn = psycopg.Connection[Any]
Sync = Callable[[Conn, str, Mapping[str, str]], object]
ORPHANS = "DELETE FROM xray_packages"
PATIENCE = 60


@pytest.fixture(scope="module")
def xray_database() -> Iterator[FreshDatabase]:
    with fresh_database("xrayfaults") as fresh:
        yield fresh


@pytest.fixture
def conn(xray_database: FreshDatabase) -> Iterator[Conn]:
    with connect(xray_database.url, autocommit=True) as connection:
        drop_tables(connection)
        create_tables(connection)
        yield connection


class Meeting:
    """A place where two syncs wait for each other, but not longer than `patience` seconds."""

    def __init__(self, patience: float) -> None:
        self.patience = patience
        self.barrier = threading.Barrier(2)
        self.came: list[bool] = []

    def wait(self) -> None:
        try:
            self.barrier.wait(self.patience)
            self.came.append(True)
        except threading.BrokenBarrierError:
            self.came.append(False)


class Pausing(psycopg.Connection[Any]):
    """A connection that calls functions before and after it deletes orphans."""

    before: Callable[[], None] = staticmethod(lambda: None)
    after: Callable[[], None] = staticmethod(lambda: None)

    def execute(self, query: Any, params: Any = None, **options: Any) -> psycopg.Cursor[Any]:
        if not isinstance(query, str) or ORPHANS not in query:
            return super().execute(query, params, **options)
        self.before()
        cursor = super().execute(query, params, **options)
        self.after()
        return cursor


Work = tuple[str, dict[str, str]]


def at_once(
    url: str, sync: Sync, first: Work, second: Work, before: float = 0.3, after: float = 0.3
) -> tuple[list[BaseException | None], list[bool]]:
    """Sync two projects at once, so that they meet before their orphan queries and after them.

    One that is kept waiting by the other does not come; the other goes on after `before` and
    `after` seconds. Returns the errors, and whether they met.
    """
    meetings = Meeting(before), Meeting(after)

    def run(work: Work) -> BaseException | None:
        with Pausing.connect(url, autocommit=True) as connection:
            connection.before = meetings[0].wait
            connection.after = meetings[1].wait
            try:
                sync(connection, *work)
            except psycopg.Error as error:
                return error
        return None

    with ThreadPoolExecutor(2) as pool:
        errors = list(pool.map(run, (first, second)))
    return errors, [came for meeting in meetings for came in meeting.came]


def library(conn: Conn, project: str, packages: Mapping[str, str]) -> None:
    sync_packages(conn, project, "python", packages)


def used(conn: Conn) -> set[str]:
    return {name for (name,) in conn.execute("SELECT name FROM xray_report_packages")}


def catalogue(conn: Conn) -> set[str]:
    return {name for (name,) in conn.execute("SELECT name FROM xray_packages")}


MEETINGS: dict[str, tuple[Mapping[str, str], Mapping[str, str]]] = {
    "one drops what the other adds": ({"one": "s"}, {"one": "m", "two": "s"}),
    "both drop what they share": ({"one": "sm", "two": "sy"}, {"one": "m", "two": "y"}),
    "each adds what the other drops": ({"one": "p", "two": "q"}, {"one": "q", "two": "p"}),
}
"""What meets → what two projects use before and after, a letter a package."""


@pytest.mark.parametrize("name", MEETINGS)
def test_two_projects_at_once_lose_nothing_and_leave_no_orphan(
    conn: Conn, xray_database: FreshDatabase, name: str
) -> None:
    before, after = MEETINGS[name]
    for _ in range(3):
        for project in after:
            forget_project(conn, project)
        for project, names in before.items():
            library(conn, project, dict.fromkeys(names, "1"))
        one, two = ((project, dict.fromkeys(names, "1")) for project, names in after.items())
        errors, met = at_once(xray_database.url, library, one, two)
        assert (errors, any(met)) == ([None, None], False)
        assert used(conn) == catalogue(conn) == set("".join(after.values()))


def test_one_project_synced_twice_at_once_is_one_of_the_two(
    conn: Conn, xray_database: FreshDatabase
) -> None:
    for _ in range(3):
        errors, met = at_once(
            xray_database.url, library, ("one", {"a": "1", "b": "1"}), ("one", {"b": "2", "c": "1"})
        )
        assert (errors, any(met)) == ([None, None], False)
        assert catalogue(conn) == used(conn)
        assert used(conn) in ({"a", "b"}, {"b", "c"})


def test_languages_do_not_wait_for_each_other(conn: Conn, xray_database: FreshDatabase) -> None:
    def in_language(conn: Conn, project: str, packages: Mapping[str, str]) -> None:
        sync_packages(conn, project, project, packages)

    errors, met = at_once(
        xray_database.url,
        in_language,
        ("go", {"a": "1"}),
        ("rust", {"a": "1"}),
        before=PATIENCE,
        after=PATIENCE,
    )
    assert (errors, met) == ([None, None], [True] * 4)


class SafeClient(EmbeddingClient):
    """The real model for many threads: one at a time."""

    def __init__(self) -> None:
        super().__init__(cache=True)
        self.turn = threading.Lock()

    def encode(
        self, texts: Any, batch_size: int = 32, progress: bool = False
    ) -> np.ndarray[Any, np.dtype[np.float32]]:
        with self.turn:
            return super().encode(texts, batch_size, progress)


class Knows:
    """Describes every package, in a batch for each."""

    def describe(self, packages: Any) -> Iterator[dict[Package, str]]:
        for package in packages:
            yield {package: f"What {package.name} does"}


def test_a_storm_of_syncs_ends_in_tables_that_agree(
    conn: Conn, xray_database: FreshDatabase
) -> None:
    names = [f"p{number}" for number in range(6)]
    languages = ("requirements.txt", "go.sum")
    client = SafeClient()
    last: dict[str, dict[str, set[str]]] = {}

    def run(project: str) -> None:
        chance = random.Random(project)
        with connect(xray_database.url, autocommit=True) as mine:
            for round_ in range(8):
                texts = {}
                for file in languages:
                    some = set(chance.sample(names, chance.randint(0, len(names))))
                    pin = "{}==%d\n" if file == "requirements.txt" else "{} v%d h1:00=\n"
                    texts[file] = "".join((pin % round_).format(name) for name in sorted(some))
                    last.setdefault(project, {})[file] = some
                sync_project(mine, project, LockFiles(texts), embedder=client, describer=Knows())

    projects = [f"project-{number}" for number in range(6)]
    with ThreadPoolExecutor(len(projects)) as pool:
        list(pool.map(run, projects))
    for file, language in zip(languages, ("python", "go"), strict=True):
        rows = conn.execute(
            "SELECT project, array_agg(name) FROM xray_report_packages "
            "WHERE language = %s GROUP BY 1",
            [language],
        ).fetchall()
        wanted = {project: last[project][file] for project in projects if last[project][file]}
        assert {project: set(some) for project, some in rows} == wanted
        rows = conn.execute(
            "SELECT name, description, model FROM xray_packages WHERE language = %s", [language]
        ).fetchall()
        assert set(rows) == {
            (name, f"What {name} does", client.model_name) for name in set().union(*wanted.values())
        }


def test_a_connection_that_ends_in_the_middle_of_a_sync_changes_nothing(
    conn: Conn, xray_database: FreshDatabase
) -> None:
    before, after = (
        LockFiles({"requirements.txt": f"{name}==1\nkept==1"}) for name in ("old", "new")
    )
    sync_project(conn, "one", before)
    with Pausing.connect(xray_database.url, autocommit=True) as victim:
        pid = victim.info.backend_pid

        def cut_off() -> None:
            conn.execute("SELECT pg_terminate_backend(%s)", [pid])
            deadline = time.monotonic() + PATIENCE
            while conn.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", [pid]).fetchone():
                assert time.monotonic() < deadline
                time.sleep(0.01)

        victim.before = cut_off
        with pytest.raises(DatabaseError, match="went away"):
            sync_project(victim, "one", after)
    assert used(conn) == catalogue(conn) == {"old", "kept"}
    done = sync_project(conn, "one", after).languages[0]
    assert (done.added, done.removed, done.orphans) == (("new",), ("old",), ("old",))


def test_a_sync_that_is_killed_while_it_describes_is_made_up_for_by_the_next(
    conn: Conn, xray_database: FreshDatabase, tmp_path: Path
) -> None:
    names = {f"p{number:02}" for number in range(40)}
    lines = "".join(f"{name}==1\n" for name in sorted(names))
    (tmp_path / "requirements.txt").write_text(lines, encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("slow_scan.py")), str(tmp_path), "app"],
        env=os.environ | {"DATABASE_URL": xray_database.url, "COURSE_TEST_PAUSE": "0.1"},
    )
    try:
        deadline = time.monotonic() + PATIENCE
        while described(conn) < 3:
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.02)
    finally:
        process.kill()
        process.wait(PATIENCE)
    assert used(conn) == catalogue(conn) == names
    there = described(conn)
    assert 3 <= there < len(names)
    filled = sync_project(
        conn, "app", LockFiles({"requirements.txt": lines}), describer=Knows()
    ).filled
    assert (filled.described, filled.waiting) == (len(names) - there, 0)
    assert described(conn) == len(names)
    assert conn.execute(
        "SELECT count(*) FROM xray_report_packages WHERE description IS NULL"
    ).fetchone() == (0,)


def test_tables_that_many_make_at_once_are_made_once(xray_database: FreshDatabase) -> None:
    with connect(xray_database.url, autocommit=True) as conn:
        drop_tables(conn)
    barrier = threading.Barrier(6)

    def first(number: int) -> None:
        with connect(xray_database.url, autocommit=True) as mine:
            barrier.wait(PATIENCE)
            sync_project(mine, f"p{number}", LockFiles({"requirements.txt": "rich==1"}))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(first, range(6)))
    with connect(xray_database.url, autocommit=True) as conn:
        assert conn.execute("SELECT count(*) FROM xray_report_packages").fetchone() == (6,)
        assert catalogue(conn) == {"rich"}


def described(conn: Conn) -> int:
    row = conn.execute("SELECT count(description) FROM xray_packages").fetchone()
    assert row is not None
    return int(row[0])
