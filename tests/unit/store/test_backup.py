"""Backups: every row comes back as it was, and a backup that does not fit changes nothing."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from course_lib.errors import DatabaseError, InputError, SchemaMismatchError
from course_lib.loader import check_lines, write_jsonl
from course_lib.loader.contract import Rejection
from course_lib.records import Chunk
from course_lib.store import (
    Source,
    SourceDocument,
    backup_lines,
    connect,
    create_schema,
    drop_schema,
    fresh_database,
    restore,
    write_chunks,
    write_documents,
)
from course_lib.store.databases import FreshDatabase
from course_lib.store.schema import stored_dimension
from course_lib.store.tenancy import set_visibility

DIMENSION = 5


@pytest.fixture(scope="module")
def database() -> Iterator[FreshDatabase]:
    with fresh_database("backup") as fresh:
        yield fresh


@pytest.fixture
def conn(database: FreshDatabase) -> Iterator[psycopg.Connection]:
    """A database with 1,203 chunks of three documents, and odd values among them."""
    with connect(database.url, autocommit=True) as connection:
        drop_schema(connection)
        create_schema(connection, DIMENSION)
        random = np.random.default_rng(3)
        for tenant, count in (("acme", 1200), ("beta", 2), ("odd", 1)):
            text = "quotes \" ' \\ \\n\n\t🐘 {} %s $1" if tenant == "odd" else "text"
            source = Source("documentation" if tenant == "acme" else "my own", tenant, "r", "main")
            document = SourceDocument("a.md", text, "hash", "p 1.0.0", "", "the-model", "c0ffee")
            write_documents(connection, source, [document])
            scale = 10.0 ** random.integers(-20, 20)
            vectors = (random.normal(size=(count, DIMENSION)) * scale).astype(np.float32)
            chunks = [chunk(tenant, f"{text} {number}") for number in range(count)]
            write_chunks(connection, chunks, vectors, partition=source.partition)
        set_visibility(connection, "beta", "r", "public")
        yield connection


def chunk(tenant: str, content: str) -> Chunk:
    return Chunk(
        tenant_id=tenant,
        repo_slug="r",
        root_kind="external-source",
        source_path="a.md",
        content=content,
        hash_inputs=["content"],
        parser_id="p",
        parser_version="1.0.0",
        kind="k",
        name="n",
        custom_meta={"branch": "main", "own": {"π": [1.5, None, "\u2028"]}},
    )


def everything(conn: psycopg.Connection) -> list[Any]:
    """Return all columns of all rows, ids, times and vectors included."""
    found: list[Any] = []
    for table in ("documents", "document_chunks"):
        found += conn.execute(
            f"SELECT t::text FROM {table} AS t ORDER BY partition, tenant_id, chunk_index"  # type: ignore[arg-type]
            if table == "document_chunks"
            else "SELECT t::text FROM documents AS t ORDER BY partition, tenant_id"
        ).fetchall()
    return found


@pytest.fixture
def backup(conn: psycopg.Connection, tmp_path: Path) -> Path:
    path = tmp_path / "backup.jsonl"
    assert write_jsonl(path, backup_lines(conn)) == 1 + 3 + 1203
    return path


def test_every_row_comes_back_as_it_was(conn: psycopg.Connection, backup: Path) -> None:
    before = everything(conn)
    drop_schema(conn)
    report = restore(conn, backup, model="the-model")
    assert (report.documents, report.chunks) == (3, 1203)
    assert everything(conn) == before
    assert stored_dimension(conn) == DIMENSION
    index = conn.execute("SELECT to_regclass('document_chunks_default_embedding_hnsw')").fetchone()
    assert index != (None,)
    restore(conn, backup, model="the-model")
    assert everything(conn) == before


def test_restored_documents_are_replaced_and_others_stay(
    conn: psycopg.Connection, backup: Path
) -> None:
    before = everything(conn)
    vectors = np.ones((1, DIMENSION), np.float32)
    write_chunks(conn, [chunk("acme", "newer")], vectors)
    later = Source("issues", "acme", "r")
    write_documents(conn, later, [SourceDocument("b", "", "", "", "", "the-model")])
    restore(conn, backup, model="the-model")
    assert [row for row in everything(conn) if not row[0].startswith("(issues")] == before
    assert len(everything(conn)) == len(before) + 1


def test_another_model_or_dimension_is_refused(conn: psycopg.Connection, backup: Path) -> None:
    before = everything(conn)
    with pytest.raises(SchemaMismatchError, match="vectors of the model the-model") as caught:
        restore(conn, backup, model="another")
    assert "RAG_EMBED_MODEL" in caught.value.hint
    assert everything(conn) == before
    drop_schema(conn)
    create_schema(conn, DIMENSION + 1)
    with pytest.raises(SchemaMismatchError, match="6 dimensions, the model gives 5"):
        restore(conn, backup, model="the-model")
    assert everything(conn) == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda lines: lines[:-1], "holds 3 documents and 1202 chunks, its header promises 3 and"),
        (lambda lines: lines[1:], "does not begin with the header"),
        (lambda lines: [], "record 1"),
        (lambda lines: [*lines[:-1], lines[-1][:50]], "record 1207"),
        (lambda lines: [*lines[:-1], lines[-1].replace("row", "\udcff", 1)], "record 1207"),
        (lambda lines: [*lines[:-1], "[]"], "is no backup-record-v1 record"),
        (lambda lines: [*lines[:-1], lines[-1].replace("backup-record-v1", "v2")], "record 1207"),
        (lambda lines: [*lines[:-1], _edit(lines[-1], embedding=[1, 2])], "does not fit"),
        (lambda lines: [*lines[:-1], _edit(lines[-1], colour="red")], "colour"),
        (lambda lines: [*lines[:-1], _edit(lines[-1], visibility="odd")], "does not fit"),
        (lambda lines: [*lines[:-1], _edit(lines[-1], content=None)], "does not fit"),
        (lambda lines: [*lines[:-1], '{"schemaVersion":"backup-record-v1"}'], "row of no table"),
    ],
)
def test_a_broken_backup_changes_nothing(
    conn: psycopg.Connection, backup: Path, change: Any, reason: str
) -> None:
    lines = backup.read_text(encoding="utf-8").split("\n")[:-1]
    # "\udcff" stands for the byte 0xff, which is no UTF-8.
    backup.write_bytes("\n".join(change(lines)).encode("utf-8", "surrogateescape"))
    conn.execute("DELETE FROM documents WHERE tenant_id = 'beta'")
    before = everything(conn)
    with pytest.raises(InputError) as caught:
        restore(conn, backup, model="the-model")
    assert reason in str(caught.value)
    assert everything(conn) == before


def _edit(line: str, **values: Any) -> str:
    record = json.loads(line)
    record["row"] |= values
    return json.dumps(record)


def test_a_backups_records_are_no_parsed_chunks(backup: Path) -> None:
    assert all(isinstance(judged, Rejection) for judged in check_lines(backup))


def test_a_file_that_is_missing_is_named(conn: psycopg.Connection, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none cannot be read"):
        restore(conn, tmp_path / "none", model="the-model")


def test_a_backup_of_nothing_is_refused(conn: psycopg.Connection) -> None:
    drop_schema(conn)
    with pytest.raises(DatabaseError, match="no index"):
        list(backup_lines(conn))
    with conn.transaction(), pytest.raises(DatabaseError, match="transaction of its own"):
        list(backup_lines(conn))
