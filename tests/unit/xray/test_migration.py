"""Old reports move into the new tables: all of them or none."""

from __future__ import annotations

import threading
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from course_lib.errors import DatabaseError
from course_lib.xray import LockFiles, MigrationReport, migrate_reports, sync_project
from course_lib.xray.packages import newest
from course_lib.xray.tables import has_tables
from tests.schemas import OwnSchema

Conn = psycopg.Connection[Any]

OLD_TABLE = """
CREATE TABLE xray_reports (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project       text NOT NULL,
    language      text NOT NULL,
    payload       jsonb NOT NULL,
    file_checksum text NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now()
)
"""


def lib(name: str, version: str | None = None, description: str | None = None) -> dict[str, Any]:
    entry = {"name": name, "version": version, "description": description}
    return {key: value for key, value in entry.items() if value is not None}


def add(conn: Conn, project: str, language: str, *libs: Any, payload: Any = None) -> None:
    conn.execute(
        "INSERT INTO xray_reports (project, language, payload, file_checksum) "
        "VALUES (%s, %s, %s, 'old')",
        [project, language, Jsonb(payload or {"scannerVersion": "0.2", "libs": list(libs)})],
    )


def has_old_table(conn: Conn) -> bool:
    row = conn.execute("SELECT to_regclass('xray_reports') IS NOT NULL").fetchone()
    return bool(row and row[0])


@pytest.fixture
def old(bare: Conn) -> Conn:
    """Three reports of two projects, and none of the new tables."""
    bare.execute(OLD_TABLE)
    add(bare, "one", "Python", lib("Flask_Login", "0.6.3", "Sessions"), lib("rich", "13"))
    add(bare, "one", "typescript", lib("react", "19.1.1", " User\n interfaces "))
    add(bare, "two", "python", lib("rich", "14", "Colours"), lib("bare"))
    return bare


def test_every_report_moves_and_the_old_table_goes(
    old: Conn, report: Any, catalogue: Any, client: Any
) -> None:
    assert migrate_reports(old) == MigrationReport(reports=3, projects=2, packages=5)
    assert not has_old_table(old)
    assert report(old, "one") == {
        "flask-login": ("0.6.3", "Sessions"),
        "react": ("19.1.1", "User interfaces"),
        "rich": ("13", None),
    }
    assert report(old, "two") == {"bare": ("", None), "rich": ("14", "Colours")}
    assert catalogue(old)["rich"] == ("Colours", None)
    files = LockFiles({"requirements.txt": "rich==14"})
    assert sync_project(old, "two", files, embedder=client).filled.embedded == 1
    assert migrate_reports(old) == MigrationReport()


def test_several_reports_of_one_project_and_language_become_one(old: Conn, report: Any) -> None:
    add(old, "two", "python", lib("rich", "12", "Old"), lib("typer", "0.1"))
    add(old, "two", "PYTHON", lib("typer", "0.1", "Later"))
    assert migrate_reports(old).packages == 6
    assert report(old, "two")["rich"] == ("14", "Colours")
    assert report(old, "two")["typer"] == ("0.1", "Later")


def test_of_two_versions_the_newer_one_moves(old: Conn, report: Any) -> None:
    orders = [order for pair in NEWER for order in (pair, pair[::-1])]
    for number, order in enumerate(orders):
        assert newest(order) == NEWER[number // 2][0]
        for version in order:
            add(old, f"p{number}", "python", lib("both", version))
    migrate_reports(old)
    for number in range(len(orders)):
        assert report(old, f"p{number}") == {"both": (NEWER[number // 2][0], None)}


NEWER = (
    ("1.10", "1.9"),
    ("v1.2", "v1.1.9"),
    ("1.0.0", "1.0.0-rc.2"),
    ("1.0rc10", "1.0rc9"),
    ("1.0b1", "1.0a2"),
    ("1.0.post1", "1.0"),
    ("1!1.2", "1!1.1"),
    ("1", "main"),
    ("main", ""),
    ("0.1", ""),
)
"""A newer version, and an older one."""


def test_what_was_scanned_since_is_newer_than_an_old_report(old: Conn, report: Any) -> None:
    sync_project(old, "two", LockFiles({"requirements.txt": "rich==15"}))
    done = migrate_reports(old)
    assert (done.reports, done.superseded, done.projects) == (3, 1, 1)
    assert report(old, "two") == {"rich": ("15", None)}


def test_the_first_scan_after_a_migration_compares_once(old: Conn) -> None:
    migrate_reports(old)
    files = LockFiles({"requirements.txt": "rich==14\nbare"})
    first, second = (sync_project(old, "two", files).languages[0] for _ in range(2))
    assert (first.unchanged, first.skipped) == (False, 2)
    assert second.unchanged


@pytest.mark.parametrize(
    "payload",
    [
        ["a list"],
        {"libs": ["rich"]},
        {"libs": [{"version": "1"}]},
        {"libs": [{"name": "rich", "version": 3}]},
    ],
)
def test_a_report_that_nobody_understands_stops_all_of_it(old: Conn, payload: Any) -> None:
    add(old, "three", "go", payload=payload)
    with pytest.raises(DatabaseError, match="report 4 of 'three', 'go'") as caught:
        migrate_reports(old)
    assert "Nothing was changed" in caught.value.hint
    assert has_old_table(old) and not has_tables(old)
    old.execute("DELETE FROM xray_reports WHERE id = 4")
    assert migrate_reports(old).packages == 5


def test_a_writer_of_old_reports_is_waited_for_and_its_report_is_not_lost(
    old: Conn, database: OwnSchema, report: Any
) -> None:
    with database.connect(autocommit=False) as writer, database.connect() as conn:
        add(writer, "late", "python", lib("late", "1"))
        thread = threading.Thread(target=migrate_reports, args=[conn])
        thread.start()
        waits = "SELECT 1 FROM pg_locks WHERE NOT granted AND pid = %s"
        while not old.execute(waits, [conn.info.backend_pid]).fetchone():
            assert thread.is_alive()
        writer.commit()
        thread.join(30)
    assert report(old, "late") == {"late": ("1", None)}
