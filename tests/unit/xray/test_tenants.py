"""Tenants and the service's roles: reports are a tenant's own, the catalogue is everybody's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege

from course_lib.errors import DatabaseError, SchemaMismatchError
from course_lib.store import as_tenant, connect, fresh_database, service_url
from course_lib.store.databases import FreshDatabase
from course_lib.xray import (
    LockFiles,
    create_tables,
    drop_tables,
    forget_project,
    suggest,
    sync_packages,
    sync_project,
)

Conn = psycopg.Connection[Any]
FILES = LockFiles({"requirements.txt": "rich==1\ntyper==1"})


@pytest.fixture(scope="module")
def roles() -> Iterator[FreshDatabase]:
    """A database whose roles are these tests' own."""
    with fresh_database("xray") as fresh:
        yield fresh


@pytest.fixture
def bare(roles: FreshDatabase) -> Iterator[Conn]:
    with connect(roles.url, autocommit=True) as connection:
        drop_tables(connection)
        yield connection


@pytest.fixture
def writer(conn: Conn, roles: FreshDatabase) -> Any:
    url = service_url("writer", url=roles.url)
    create_tables(conn)  # lets the role at the tables, which are older than it
    with connect(url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def reader(conn: Conn, roles: FreshDatabase) -> Any:
    url = service_url("reader", url=roles.url)
    create_tables(conn)
    with connect(url, autocommit=True) as connection:
        yield connection


def test_the_writer_syncs_its_own_tenant_and_sees_no_other(
    conn: Conn, writer: Conn, client: Any, told: Any, report: Any
) -> None:
    sync_project(conn, "theirs", FILES, tenant="theirs")
    done = sync_project(
        writer,
        "ours",
        FILES,
        tenant="ours",
        embedder=client,
        describer=told(rich="Colours", typer="Commands"),
    )
    assert done.filled.embedded == 2
    assert report(conn, "ours")["rich"] == ("1", "Colours")
    with as_tenant(writer, "ours"):
        rows = writer.execute("SELECT DISTINCT project FROM xray_report_packages").fetchall()
        assert rows == [("ours",)]
        assert writer.execute("SELECT DISTINCT project FROM xray_checksums").fetchall() == [
            ("ours",)
        ]
    assert writer.execute("SELECT count(*) FROM xray_report_packages").fetchone() == (0,)


def test_the_writer_does_not_take_a_package_from_a_tenant_that_it_cannot_see(
    conn: Conn, writer: Conn, catalogue: Any
) -> None:
    sync_packages(conn, "theirs", "python", {"shared": "1"}, tenant="theirs")
    sync_packages(writer, "ours", "python", {"shared": "1", "mine": "1"}, tenant="ours")
    assert forget_project(writer, "ours", tenant="ours")[0].orphans == ("mine",)
    assert set(catalogue(conn)) == {"shared"}


def test_the_writer_cannot_write_as_another_tenant(writer: Conn) -> None:
    with pytest.raises(InsufficientPrivilege), as_tenant(writer, "ours"):
        writer.execute("INSERT INTO xray_packages (language, name) VALUES ('python', 'x')")
        writer.execute(
            "INSERT INTO xray_report_packages (tenant_id, project, language, name, version) "
            "VALUES ('theirs', 'p', 'python', 'x', '1')"
        )


def test_the_reader_suggests_and_writes_nothing(conn: Conn, reader: Conn, client: Any) -> None:
    sync_project(conn, "app", FILES, tenant="ours", embedder=client)
    found = suggest(reader, client, "x", project="app", language="python", tenant="ours")
    assert len(found.packages) == 2
    assert (
        suggest(reader, client, "x", project="app", language="python", tenant="theirs").packages
        == ()
    )
    with pytest.raises(DatabaseError, match="refused the work"):
        sync_project(reader, "new", LockFiles({"requirements.txt": "rich==1"}), tenant="ours")
    assert reader.execute("SELECT count(*) FROM xray_report_packages").fetchone() == (0,)
    for statement in (b"DELETE FROM xray_packages", b"SELECT * FROM xray_used"):
        with pytest.raises(InsufficientPrivilege):
            reader.execute(statement)


def test_a_role_without_rights_is_told_who_makes_the_tables(conn: Conn, writer: Conn) -> None:
    drop_tables(conn)
    with pytest.raises(DatabaseError, match="tables of the X-Ray are missing"):
        sync_project(writer, "app", FILES)
    with pytest.raises(DatabaseError, match="holds no packages yet"):
        suggest(writer, None, "x", project="app", language="python")
    assert forget_project(writer, "app") == []


def test_tables_of_another_version_are_refused_by_name_and_keep_their_rows(bare: Conn) -> None:
    sync_project(bare, "app", FILES)
    bare.execute("COMMENT ON TABLE xray_packages IS 'schema version 0'")
    with pytest.raises(SchemaMismatchError, match="xray_packages is of schema version 0") as caught:
        sync_project(bare, "other", FILES)
    assert "xray_report_packages" in caught.value.hint
    assert bare.execute("SELECT DISTINCT project FROM xray_checksums").fetchall() == [("app",)]


def test_the_tables_are_made_once_and_dropped_whole(bare: Conn) -> None:
    create_tables(bare)
    sync_packages(bare, "app", "python", {"rich": "1"})
    create_tables(bare)
    assert bare.execute("SELECT count(*) FROM xray_packages").fetchone() == (1,)
    drop_tables(bare)
    drop_tables(bare)
    names = bare.execute("SELECT relname FROM pg_class WHERE relname LIKE 'xray%'").fetchall()
    assert names == []
