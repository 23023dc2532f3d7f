"""Sync on write: what is planned, stored, embedded, removed, and what stays for others."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from course_lib.errors import DatabaseError, InputError
from course_lib.store import connect
from course_lib.xray import (
    LockFiles,
    forget_project,
    sync_packages,
    sync_project,
)
from tests.schemas import OwnSchema

Conn = psycopg.Connection[Any]


def python(*lines: str) -> LockFiles:
    return LockFiles({"requirements.txt": "\n".join(lines)})


def test_a_new_version_updates_its_row_and_is_embedded_again_only_if_its_text_changed(
    conn: Conn, client: Any, told: Any, report: Any
) -> None:
    knows = told(same="Stays", other="Before")
    sync_project(conn, "app", python("same==1", "other==1"), embedder=client, describer=knows)
    client.texts.clear()
    knows = told(same="Stays", other="After")
    done = sync_project(
        conn, "app", python("same==2", "other==2"), embedder=client, describer=knows
    )
    assert done.languages[0].changed == ("other", "same")
    assert {(one.name, one.version) for one in knows.asked} == {("same", "2"), ("other", "2")}
    assert report(conn, "app") == {"same": ("2", "Stays"), "other": ("2", "After")}
    assert client.texts == ["other: After"]
    assert (done.filled.described, done.filled.embedded) == (1, 1)


def test_a_package_of_the_same_name_in_another_language_is_another_package(conn: Conn) -> None:
    go = "module a\ngo 1.24\nrequire redis v1\n"
    sync_project(conn, "one", LockFiles({"requirements.txt": "redis==1", "go.mod": go}))
    sync_project(conn, "two", LockFiles({"go.mod": go}))
    done = forget_project(conn, "one")
    assert {one.language: one.orphans for one in done} == {"python": ("redis",), "go": ()}


def test_another_model_makes_its_own_vectors(
    conn: Conn, client: Any, other_model: Any, catalogue: Any
) -> None:
    sync_project(conn, "app", python("rich==1", "typer==1"), embedder=client)
    done = sync_project(conn, "app", python("rich==1", "typer==2"), embedder=other_model)
    assert (done.languages[0].skipped, done.filled.embedded) == (1, 2)
    assert {model for _, model in catalogue(conn).values()} == {"another model"}


def test_a_scan_fills_what_this_project_lacks_and_no_other(
    conn: Conn, client: Any, told: Any, report: Any, catalogue: Any
) -> None:
    files = python("rich==1", "unknown==1")
    for project, found in (("app", files), ("other", python("theirs==1"))):
        sync_project(conn, project, found)
    knows = told(rich="Colours")
    done = sync_project(conn, "app", files, embedder=client, describer=knows)
    assert done.languages[0].unchanged
    assert [one.name for one in knows.asked] == ["rich", "unknown"]
    assert (done.filled.described, done.filled.embedded, done.filled.waiting) == (1, 2, 1)
    assert report(conn, "app")["rich"] == ("1", "Colours")
    assert catalogue(conn)["theirs"] == (None, None)
    done = sync_project(conn, "app", files, embedder=client, describer=told())
    assert (done.filled.described, done.filled.embedded, done.filled.waiting) == (0, 0, 1)


def test_a_description_that_changes_while_it_is_encoded_is_not_overwritten(
    conn: Conn, database: OwnSchema, client: Any, told: Any, catalogue: Any
) -> None:
    files = python("rich==1")
    sync_project(conn, "app", files, describer=told(rich="Before"))
    encode = client.encode

    def change_meanwhile(texts: Any, *rest: Any) -> Any:
        with connect(database.url, autocommit=True) as other:
            other.execute("UPDATE xray_packages SET description = 'After'")
        return encode(texts, *rest)

    client.encode = change_meanwhile
    assert sync_project(conn, "app", files, embedder=client).filled.embedded == 0
    assert catalogue(conn) == {"rich": ("After", None)}
    client.encode = encode
    assert sync_project(conn, "app", files, embedder=client).filled.embedded == 1


def test_the_database_itself_refuses_to_lose_a_package_in_use(conn: Conn) -> None:
    sync_packages(conn, "one", "python", {"used": "1"})
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        conn.execute("DELETE FROM xray_packages")


def test_a_sync_within_a_transaction_of_the_callers_goes_and_comes_with_it(
    conn: Conn, report: Any, catalogue: Any
) -> None:
    with conn.transaction() as outer:
        sync_project(conn, "app", python("rich==1"))
        assert set(report(conn, "app")) == {"rich"}
        raise psycopg.Rollback(outer)
    assert (report(conn, "app"), catalogue(conn)) == ({}, {})


def test_a_stricter_isolation_level_of_the_connection_does_no_harm(
    conn: Conn, database: OwnSchema, report: Any
) -> None:
    for level in (psycopg.IsolationLevel.REPEATABLE_READ, psycopg.IsolationLevel.SERIALIZABLE):
        with connect(database.url) as strict:
            strict.isolation_level = level
            sync_project(strict, level.name, python("rich==1"))
        assert set(report(conn, level.name)) == {"rich"}
    with connect(database.url) as strict:
        strict.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
        # In a transaction that has a snapshot, the lock would not show what others wrote.
        with pytest.raises(DatabaseError, match="SET TRANSACTION ISOLATION LEVEL"):
            with strict.transaction():
                strict.execute("SELECT 1 FROM xray_packages")
                sync_project(strict, "late", python("rich==1"))


def test_a_connection_without_autocommit_needs_no_commit_of_the_callers(
    conn: Conn, database: OwnSchema, report: Any, client: Any, told: Any
) -> None:
    with connect(database.url) as other:
        sync_project(other, "app", python("rich==1"), embedder=client, describer=told(rich="C"))
        assert report(conn, "app") == {"rich": ("1", "C")}


def test_a_sync_of_nothing_or_of_nobody_is_refused(conn: Conn) -> None:
    with pytest.raises(InputError, match="there is no lock file"):
        sync_project(conn, "app", LockFiles({"README.md": "Hello."}))
    with pytest.raises(InputError, match="project's name is empty"):
        sync_packages(conn, " ", "python", {"rich": "1"})
