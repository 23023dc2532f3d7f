"""Backups: every row comes back as it was, and a backup that does not fit changes nothing."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from course_lib.errors import DatabaseError, InputError, SchemaMismatchError
from course_lib.records import Chunk
from course_lib.store import (
    Source,
    SourceDocument,
    backup_lines,
    create_schema,
    drop_schema,
    restore,
    write_chunks,
    write_documents,
)
from course_lib.store.databases import FreshDatabase
from course_lib.store.schema import stored_dimension
from course_lib.store.tenancy import set_visibility
from tests.schemas import OwnSchema, own_schema

DIMENSION = 5


@pytest.fixture(scope="module")
def index(worker_database: FreshDatabase) -> Iterator[OwnSchema]:
    """33 chunks of three documents, and odd values among them."""
    with own_schema(worker_database) as made, made.connect() as connection:
        create_schema(connection, DIMENSION)
        random = np.random.default_rng(3)
        for tenant, count in (("acme", 30), ("beta", 2), ("odd", 1)):
            text = "quotes \" ' \\ \\n\n\t🐘 {} %s $1" if tenant == "odd" else "text"
            source = Source("documentation" if tenant == "acme" else "my own", tenant, "r", "main")
            document = SourceDocument("a.md", text, "hash", "p 1.0.0", "", "the-model", "c0ffee")
            write_documents(connection, source, [document])
            scale = 10.0 ** random.integers(-20, 20)
            vectors = (random.normal(size=(count, DIMENSION)) * scale).astype(np.float32)
            chunks = [chunk(tenant, f"{text} {number}") for number in range(count)]
            write_chunks(connection, chunks, vectors, partition=source.partition)
        set_visibility(connection, "beta", "r", "public")
        yield made


@pytest.fixture(scope="module")
def lines(index: OwnSchema) -> list[str]:
    """Return the lines of the index's backup."""
    with index.connect() as conn:
        return list(backup_lines(conn))


@pytest.fixture
def conn(index: OwnSchema) -> Iterator[psycopg.Connection]:
    with index.connect() as connection:
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
def backup(lines: list[str], tmp_path: Path) -> Path:
    path = tmp_path / "backup.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_every_row_comes_back_as_it_was_and_later_ones_stay(
    conn: psycopg.Connection, backup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("course_lib.store.backup.BATCH", 7)
    before = everything(conn)
    vectors = np.ones((1, DIMENSION), np.float32)
    write_chunks(conn, [chunk("acme", "newer")], vectors)
    later = Source("issues", "acme", "r")
    write_documents(conn, later, [SourceDocument("b", "", "", "", "", "the-model")])
    report = restore(conn, backup, model="the-model")
    assert (report.documents, report.chunks) == (3, 33)
    assert [row for row in everything(conn) if not row[0].startswith("(issues")] == before
    assert len(everything(conn)) == len(before) + 1
    drop_schema(conn)
    restore(conn, backup, model="the-model")
    assert everything(conn) == before
    assert stored_dimension(conn) == DIMENSION
    index = conn.execute("SELECT to_regclass('document_chunks_default_embedding_hnsw')").fetchone()
    assert index != (None,)


def test_another_model_or_dimension_is_refused(
    conn: psycopg.Connection, backup: Path, database: OwnSchema
) -> None:
    before = everything(conn)
    with pytest.raises(SchemaMismatchError, match="vectors of the model the-model") as caught:
        restore(conn, backup, model="another")
    assert "RAG_EMBED_MODEL" in caught.value.hint
    assert everything(conn) == before
    with database.connect() as other:
        create_schema(other, DIMENSION + 1)
        with pytest.raises(SchemaMismatchError, match="6 dimensions, the model gives 5"):
            restore(other, backup, model="the-model")
        assert everything(other) == []


def test_a_broken_backup_changes_nothing(conn: psycopg.Connection, backup: Path) -> None:
    conn.execute("DELETE FROM documents WHERE tenant_id = 'beta'")
    before = everything(conn)
    lines = backup.read_text(encoding="utf-8").split("\n")[:-1]
    start, last = lines[:-1], lines[-1]
    for broken, reason in [
        (start, "holds 3 documents and 32 chunks, its header promises 3 and"),
        (lines[1:], "does not begin with the header"),
        ([], "record 1"),
        ([*start, last[:50]], "record 37"),
        # "\udcff" stands for the byte 0xff, which is no UTF-8.
        ([*start, last.replace("row", "\udcff", 1)], "record 37"),
        ([*start, "[]"], "is no backup-record-v1 record"),
        ([*start, last.replace("backup-record-v1", "v2")], "record 37"),
        ([*start, _edit(last, embedding=[1, 2])], "does not fit"),
        ([*start, _edit(last, colour="red")], "colour"),
        ([*start, _edit(last, visibility="odd")], "does not fit"),
        ([*start, _edit(last, content=None)], "does not fit"),
        ([*start, '{"schemaVersion":"backup-record-v1"}'], "row of no table"),
    ]:
        backup.write_bytes("\n".join(broken).encode("utf-8", "surrogateescape"))
        with pytest.raises(InputError) as caught:
            restore(conn, backup, model="the-model")
        assert reason in str(caught.value)
        assert everything(conn) == before


def _edit(line: str, **values: Any) -> str:
    record = json.loads(line)
    record["row"] |= values
    return json.dumps(record)


def test_what_cannot_be_backed_up_or_read_is_an_error(database: OwnSchema, tmp_path: Path) -> None:
    with database.connect() as conn:
        with pytest.raises(InputError, match="none cannot be read"):
            restore(conn, tmp_path / "none", model="the-model")
        with pytest.raises(DatabaseError, match="no index"):
            list(backup_lines(conn))
        with conn.transaction(), pytest.raises(DatabaseError, match="transaction of its own"):
            list(backup_lines(conn))
