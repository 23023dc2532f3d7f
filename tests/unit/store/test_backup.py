"""Backups in several batches; files, damage and messages are in tests/blackbox/test_backup.py."""

from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from course_lib.errors import DatabaseError, SchemaMismatchError
from course_lib.loader import write_jsonl
from course_lib.records import Scope, SourceDocument
from course_lib.store import (
    backup_lines,
    create_schema,
    drop_schema,
    restore,
    write_chunks,
    write_documents,
)
from course_lib.store.tenancy import set_visibility
from tests.schemas import OwnSchema
from tests.unit.chunks import make_chunk

DIMENSION = 5


def fill(conn: psycopg.Connection) -> None:
    """Write 33 chunks of three tenants: odd texts, own metadata, vectors of any length."""
    create_schema(conn, DIMENSION)
    random = np.random.default_rng(3)
    meta = {"branch": "main", "own": {"π": [1.5, None, "\u2028"]}}
    for tenant, count in (("acme", 30), ("beta", 2), ("odd", 1)):
        text = "quotes \" ' \\ \\n\n\t🐘 {} %s $1" if tenant == "odd" else "text"
        partition = "documentation" if tenant == "acme" else "my own"
        source = Scope(tenant=tenant, repo="docs", branch="main", partition=partition)
        document = SourceDocument("a.md", text, "hash", "p 1.0.0", "", "the-model", "c0ffee")
        write_documents(conn, source, [document])
        scale = 10.0 ** random.integers(-20, 20)
        vectors = (random.normal(size=(count, DIMENSION)) * scale).astype(np.float32)
        chunks = [
            make_chunk(f"{text} {number}", tenant_id=tenant, custom_meta=meta)
            for number in range(count)
        ]
        write_chunks(conn, chunks, vectors, partition=partition)
    set_visibility(conn, "beta", "docs", "public")


def everything(conn: psycopg.Connection) -> list[Any]:
    """Return all columns of all rows, ids, times and vectors included."""
    return (
        conn.execute("SELECT t::text FROM documents AS t ORDER BY tenant_id").fetchall()
        + conn.execute(
            "SELECT t::text FROM document_chunks AS t ORDER BY tenant_id, chunk_index"
        ).fetchall()
    )


def test_every_row_comes_back_as_it_was_and_another_model_or_dimension_does_not(
    database: OwnSchema, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("course_lib.store.backup.BATCH", 7)
    file = tmp_path / "backup.jsonl"
    with database.connect() as conn:
        with pytest.raises(DatabaseError, match="no index"):
            list(backup_lines(conn))
        with conn.transaction(), pytest.raises(DatabaseError, match="transaction of its own"):
            list(backup_lines(conn))
        fill(conn)
        before = everything(conn)
        assert write_jsonl(file, backup_lines(conn)) == 1 + 3 + 33
        with pytest.raises(SchemaMismatchError, match="vectors of the model the-model"):
            restore(conn, file, model="another")
        assert everything(conn) == before
        drop_schema(conn)
        report = restore(conn, file, model="the-model")
        assert (report.documents, report.chunks) == (3, 33)
        assert everything(conn) == before
        drop_schema(conn)
        create_schema(conn, DIMENSION + 1)
        with pytest.raises(SchemaMismatchError, match="6 dimensions, the model gives 5"):
            restore(conn, file, model="the-model")
        assert everything(conn) == []
