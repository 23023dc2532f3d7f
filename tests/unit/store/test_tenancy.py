"""Tenants on a real PostgreSQL: what one reads and writes of another's, by any function."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege
from psycopg_pool import ConnectionPool

from course_lib.errors import DatabaseError, InputError
from course_lib.records import PARTITIONS, Chunk, Scope, SourceDocument
from course_lib.retriever import Query, search
from course_lib.store import (
    as_tenant,
    build_vector_indexes,
    connect,
    create_schema,
    delete_documents,
    fresh_database,
    service_url,
    stored_documents,
    write_chunks,
    write_documents,
)
from course_lib.store.databases import FreshDatabase
from course_lib.store.roles import ROLES
from course_lib.store.tenancy import PARENTS, set_visibility
from course_lib.store.urls import url_for
from course_lib.store.writer import delete_chunks, stored_sizes, stored_vectors
from tests.unit.chunks import make_chunk

OURS = Scope(tenant="ours", repo="repo")
THEIRS = Scope(tenant="theirs", repo="repo")
VECTORS = np.eye(3, dtype=np.float32)


def chunk(tenant: str, content: str) -> Chunk:
    return make_chunk(content, tenant_id=tenant, repo_slug="repo")


def row(name: str = "a.md") -> SourceDocument:
    return SourceDocument(name, "text", "hash", "test 1.0.0", "", "model")


@pytest.fixture(scope="module")
def database() -> Iterator[FreshDatabase]:
    with fresh_database("tenancy") as fresh:
        with connect(fresh.url, autocommit=True) as conn:
            create_schema(conn, 3)
        yield fresh


@pytest.fixture
def owner(database: FreshDatabase) -> Iterator[psycopg.Connection]:
    """The owner's connection to a database with one document of either tenant, both private."""
    with connect(database.url, autocommit=True) as conn:
        conn.execute("DELETE FROM document_chunks")
        conn.execute("DELETE FROM documents")
        for source in (OURS, THEIRS):
            write_documents(conn, source, [row()])
            chunks = [chunk(source.tenant, f"{source.tenant} {n}") for n in range(3)]
            write_chunks(conn, chunks, VECTORS)
        yield conn


@pytest.fixture
def reader(owner: psycopg.Connection, database: FreshDatabase) -> Iterator[psycopg.Connection]:
    with connect(service_url("reader", url=database.url), autocommit=True) as conn:
        yield conn


@pytest.fixture
def writer(owner: psycopg.Connection, database: FreshDatabase) -> Iterator[psycopg.Connection]:
    with connect(service_url("writer", url=database.url), autocommit=True) as conn:
        yield conn


def contents(conn: psycopg.Connection) -> list[str]:
    rows = conn.execute("SELECT content FROM document_chunks ORDER BY 1")
    return [content for (content,) in rows]


def everything(owner: psycopg.Connection) -> list[Any]:
    return owner.execute(
        "SELECT tenant_id, document_name, chunk_index, content, visibility, embedding::text "
        "FROM document_chunks UNION ALL "
        "SELECT tenant_id, document_name, 0, content, visibility, '' FROM documents "
        "ORDER BY 1, 2, 3, 4"
    ).fetchall()


def test_the_roles_own_nothing_and_bypass_nothing(
    owner: psycopg.Connection, reader: psycopg.Connection
) -> None:
    for name in ROLES.values():
        found = owner.execute(
            "SELECT rolcanlogin, rolsuper, rolbypassrls, rolcreatedb, rolcreaterole, "
            "rolreplication, "
            "(SELECT count(*) FROM pg_class WHERE relowner = pg_roles.oid), "
            "(SELECT count(*) FROM pg_auth_members WHERE member = pg_roles.oid) "
            "FROM pg_roles WHERE rolname = %s",
            [name],
        ).fetchone()
        assert found == (False, False, False, False, False, False, 0, 0)
    secured = owner.execute(
        "SELECT relname, relforcerowsecurity FROM pg_class WHERE relrowsecurity"
    ).fetchall()
    assert dict(secured) == dict.fromkeys(PARENTS, True) | {
        f"{table}_{name}": False for table in PARENTS for name in (*PARTITIONS, "default")
    }


def test_a_tenant_reads_its_own_rows_and_without_one_there_is_nothing(
    reader: psycopg.Connection,
) -> None:
    with as_tenant(reader, "ours"):
        assert contents(reader) == ["ours 0", "ours 1", "ours 2"]
        assert reader.execute("SELECT tenant_id FROM documents").fetchall() == [("ours",)]
    assert contents(reader) == []
    assert search(reader, [1, 0, 0], Query(threshold=-1)) == []
    with pytest.raises(InputError, match="tenant is empty"), as_tenant(reader, ""):
        raise AssertionError


def test_public_rows_are_read_by_all_and_written_by_their_tenant_alone(
    owner: psycopg.Connection, reader: psycopg.Connection, writer: psycopg.Connection
) -> None:
    set_visibility(owner, "theirs", "repo", "public")
    with as_tenant(reader, "ours"):
        assert len(contents(reader)) == 6
    assert contents(reader) == ["theirs 0", "theirs 1", "theirs 2"]
    before = everything(owner)
    with as_tenant(writer, "ours"):
        assert writer.execute("UPDATE document_chunks SET content = 'x' WHERE tenant_id = 'theirs'")
        assert delete_documents(writer, THEIRS, ["a.md"]) == 0
        set_visibility(writer, "theirs", "repo", "private")
    assert everything(owner) == before


READS: dict[str, Callable[[psycopg.Connection], Any]] = {
    "stored_documents": lambda conn: stored_documents(conn, THEIRS),
    "stored_sizes": lambda conn: stored_sizes(conn, THEIRS, ["a.md"]),
    "stored_vectors": lambda conn: stored_vectors(conn, THEIRS, ["a.md"]),
    "search": lambda conn: search(conn, [0, 1, 0], Query(threshold=-1, tenant="theirs")),
    "code_chunks": lambda conn: conn.execute("SELECT * FROM code_chunks").fetchall(),
}


def test_no_function_reads_another_tenants_rows(
    writer: psycopg.Connection, owner: psycopg.Connection
) -> None:
    secret = [chunk("theirs", "kind: Secret")]
    write_chunks(owner, secret, VECTORS[:1], partition="code_manifests")
    for name, read in READS.items():
        with as_tenant(writer, "theirs"):
            assert read(writer), name  # there is something to find
        with as_tenant(writer, "ours"):
            assert not read(writer), name


WRITES: dict[str, Callable[[psycopg.Connection], Any]] = {
    "write_chunks": lambda conn: write_chunks(conn, [chunk("theirs", "evil")], VECTORS[:1]),
    "write_chunks elsewhere": lambda conn: write_chunks(
        conn, [chunk("theirs", "evil")], VECTORS[:1], partition="my own"
    ),
    "write_documents": lambda conn: write_documents(conn, THEIRS, [row()]),
    "write_documents again": lambda conn: write_documents(conn, THEIRS, [row("b.md")]),
    "delete_chunks": lambda conn: delete_chunks(conn, THEIRS, ["a.md"]),
    "delete_documents": lambda conn: delete_documents(conn, THEIRS, ["a.md"]),
    "set_visibility": lambda conn: set_visibility(conn, "theirs", "repo", "public"),
    "give away": lambda conn: conn.execute("UPDATE document_chunks SET tenant_id = 'theirs'"),
}


def test_no_function_writes_another_tenants_rows(
    owner: psycopg.Connection, writer: psycopg.Connection
) -> None:
    before = [one for one in everything(owner) if one[0] == "theirs"]
    for name, write in WRITES.items():
        try:
            with as_tenant(writer, "ours"):
                write(writer)
        except InsufficientPrivilege as error:
            assert "row-level security" in str(error)
        assert [one for one in everything(owner) if one[0] == "theirs"] == before, name


def test_the_writer_writes_its_tenants_rows(
    owner: psycopg.Connection, writer: psycopg.Connection
) -> None:
    with as_tenant(writer, "ours"):
        report = write_chunks(writer, [chunk("ours", "new")], VECTORS[:1])
        assert (report.updated, report.deleted) == (1, 2)
        write_documents(writer, OURS, [row("b.md")])
        assert build_vector_indexes(writer) == []
        create_schema(writer, 3)
    assert "new" in contents(owner)


@pytest.mark.parametrize("role", ["reader", "writer"])
def test_the_roles_cannot_change_what_guards_the_rows(
    owner: psycopg.Connection, database: FreshDatabase, role: Any
) -> None:
    with connect(service_url(role, url=database.url), autocommit=True) as conn:
        for statement in (
            "DROP TABLE document_chunks",
            "ALTER TABLE documents DISABLE ROW LEVEL SECURITY",
            "CREATE TABLE mine (a int)",
            "TRUNCATE document_chunks",
            "DROP POLICY tenant_reads ON documents",
            "SET ROLE postgres",
            "SELECT * FROM pg_authid",
            "DELETE FROM document_chunks_documentation",
        ):
            with pytest.raises(InsufficientPrivilege):
                conn.execute(statement)  # type: ignore[call-overload]


def test_the_reader_writes_nothing_and_sees_no_partition_directly(
    reader: psycopg.Connection,
) -> None:
    with as_tenant(reader, "ours"):
        for statement in (
            "DELETE FROM documents",
            "UPDATE document_chunks SET content = ''",
            *(f"SELECT FROM document_chunks_{name}" for name in PARTITIONS),
        ):
            with pytest.raises(InsufficientPrivilege), reader.transaction():
                reader.execute(statement)  # type: ignore[call-overload]


def test_a_pooled_connection_carries_no_tenant_over(
    owner: psycopg.Connection, database: FreshDatabase
) -> None:
    url = service_url("reader", url=database.url)
    with ConnectionPool(url, min_size=1, max_size=1, open=True) as pool:
        with pool.connection() as conn, as_tenant(conn, "theirs"):
            assert len(contents(conn)) == 3
            pid = conn.info.backend_pid
        with pool.connection() as conn:
            assert conn.info.backend_pid == pid
            assert contents(conn) == []
        with pytest.raises(ZeroDivisionError), pool.connection() as conn:
            with as_tenant(conn, "theirs"):
                raise ZeroDivisionError
        with pool.connection() as conn:
            assert conn.info.backend_pid == pid
            assert contents(conn) == []
            with as_tenant(conn, "ours"):
                assert contents(conn) == ["ours 0", "ours 1", "ours 2"]


def test_an_inner_tenant_ends_with_its_block(reader: psycopg.Connection) -> None:
    with as_tenant(reader, "ours"):
        with as_tenant(reader, "theirs"):
            assert contents(reader)[0] == "theirs 0"
        assert contents(reader)[0] == "ours 0"
        with pytest.raises(ZeroDivisionError), as_tenant(reader, "theirs"):
            raise ZeroDivisionError
        assert contents(reader)[0] == "ours 0"
    with reader.transaction():
        with as_tenant(reader, "ours"):
            assert contents(reader)
        assert contents(reader) == []


def test_the_owners_tools_see_everything_and_pay_nothing_for_the_policies(
    owner: psycopg.Connection,
) -> None:
    assert len(contents(owner)) == 6
    assert len(search(owner, [1, 0, 0], Query(top_k=9, threshold=-1))) == 6
    plan = owner.execute("EXPLAIN SELECT content FROM document_chunks").fetchall()
    assert "course.tenant" not in str(plan) and "Filter" not in str(plan)


def test_nobody_logs_in_as_a_service_and_whoever_may_use_the_database_becomes_one(
    owner: psycopg.Connection, database: FreshDatabase
) -> None:
    for role, name in ROLES.items():
        url = service_url(role, url=database.url)  # type: ignore[arg-type]
        assert service_url(role, url=database.url) == url  # type: ignore[arg-type]
        with connect(url) as conn:
            row = conn.execute("SELECT session_user, current_user").fetchone()
            assert row == (database.name, name)
        with pytest.raises(DatabaseError, match="refuses the login"):
            connect(url_for(database.url, database.name, name, "unknown"))
    rights = "SELECT pg_has_role(%s, 'USAGE')"
    assert [owner.execute(rights, [name]).fetchone() for name in ROLES.values()] == [(False,)] * 2


def test_code_is_presented_by_its_view(owner: psycopg.Connection) -> None:
    piece = chunk("ours", "kind: Deployment").model_copy(
        update={
            "kind": "Deployment",
            "name": "api",
            "custom_meta": {"branch": "main", "citationUrl": "https://x.example/a"},
        }
    )
    for partition in PARTITIONS:
        write_chunks(owner, [piece], VECTORS[:1], partition=partition)
    with owner.cursor(row_factory=psycopg.rows.dict_row) as cursor:
        found = cursor.execute("SELECT * FROM code_chunks").fetchall()
    expected = {
        "content_text": "kind: Deployment",
        "file_path": "a.md",
        "resource_kind": "Deployment",
        "resource_name": "api",
        "repo_name": "repo",
        "branch": "main",
        "citation_url": "https://x.example/a",
    }
    assert found == [expected] * 3
