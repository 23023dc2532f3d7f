"""Ingest over a real PostgreSQL: what changes, what does not, and what is never lost."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from course_lib.errors import DatabaseError, InputError, SchemaMismatchError
from course_lib.indexing import IngestOptions, IngestReport, ingest
from course_lib.records import Scope
from course_lib.store import connect
from tests.schemas import OwnSchema

Stored = Callable[[psycopg.Connection], list[tuple[Any, ...]]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three documents of 3, 2 and 1 chunks at a chunk size of 40."""
    folder = tmp_path / "docs"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.md").write_text("# A\n\n" + "alpha beta gamma. " * 4, encoding="utf-8")
    (folder / "b.txt").write_text("delta epsilon zeta. " * 3, encoding="utf-8")
    (folder / "sub" / "c.md").write_text("# C\n\nshort", encoding="utf-8")
    return folder


def run(
    folder: Path,
    conn: psycopg.Connection,
    client: Any,
    *,
    chunk_size: int = 40,
    partition: str = "documentation",
) -> IngestReport:
    options = IngestOptions(chunk_size=chunk_size, chunk_overlap=0)
    return ingest(folder, Scope(partition=partition), options, conn=conn, embedder=client)


def counts(report: IngestReport) -> tuple[int, int, int, int, int, int]:
    return (
        report.documents,
        report.chunks,
        report.inserted,
        report.updated,
        report.unchanged,
        report.deleted,
    )


def names(conn: psycopg.Connection) -> set[str]:
    rows = conn.execute(
        "SELECT document_name FROM documents UNION SELECT document_name FROM document_chunks"
    )
    return {row[0] for row in rows}


def test_other_sizes_encode_what_changed_and_another_model_everything(
    conn: psycopg.Connection, client: Any, other_model: Any, folder: Path
) -> None:
    run(folder, conn, client)
    client.texts.clear()
    report = run(folder, conn, client, chunk_size=1000)
    assert counts(report) == (3, 3, 0, 2, 1, 3)
    assert len(client.texts) == 2
    assert counts(run(folder, conn, other_model, chunk_size=1000)) == (3, 3, 0, 3, 0, 0)
    assert len(other_model.texts) == 3


def test_files_that_only_have_other_names_are_written_and_not_encoded(
    folder: Path, conn: psycopg.Connection, client: Any
) -> None:
    run(folder, conn, client)
    (folder / "sub").rename(folder / "part")
    (folder / "a.md").rename(folder / "z.md")
    (folder / "b.txt").unlink()
    client.texts.clear()
    assert counts(run(folder, conn, client)) == (2, 4, 4, 0, 0, 6)
    assert client.texts == [] and names(conn) == {"z.md", "part/c.md"}
    (folder / "z.md").rename(folder / "a.md")
    (folder / "a.md").write_text("# A\n\nnew text", encoding="utf-8")
    assert counts(run(folder, conn, client)) == (2, 2, 1, 0, 1, 3)
    assert client.texts == ["A\n# A\n\nnew text"], "another name and another text: a new document"


def test_a_model_of_another_dimension_is_refused_and_nothing_is_changed(
    conn: psycopg.Connection, client: Any, larger_model: Any, folder: Path, stored: Stored
) -> None:
    run(folder, conn, client)
    before = stored(conn)
    (folder / "b.txt").unlink()
    with pytest.raises(SchemaMismatchError, match="8 dimensions, the model gives 9"):
        run(folder, conn, larger_model)
    assert stored(conn) == before


def test_each_partition_that_got_rows_gets_its_index(
    conn: psycopg.Connection, client: Any, folder: Path
) -> None:
    run(folder, conn, client)
    run(folder, conn, client, partition="my own")
    found = conn.execute(
        "SELECT tablename FROM pg_indexes WHERE indexdef LIKE '%USING hnsw%'"
        " AND schemaname = current_schema() ORDER BY 1"
    )
    assert found.fetchall() == [("document_chunks_default",), ("document_chunks_documentation",)]


def test_a_connection_without_autocommit_commits_batch_by_batch(
    database: OwnSchema, conn: psycopg.Connection, client: Any, folder: Path
) -> None:
    own = connect(database.url, autocommit=False)
    assert run(folder, own, client).inserted == 6
    own.close()
    assert names(conn) == {"a.md", "b.txt", "sub/c.md"}


def test_a_connection_is_free_afterwards_and_after_an_error(
    database: OwnSchema, conn: psycopg.Connection, client: Any, other_model: Any, folder: Path
) -> None:
    def locks() -> int:
        row = conn.execute(
            "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database"
            " WHERE locktype = 'advisory' AND datname = current_database()"
        ).fetchone()
        return int(row[0]) if row else 0

    def fail(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    run(folder, conn, client)
    assert locks() == 0
    other_model.encode = fail
    with pytest.raises(KeyboardInterrupt):
        run(folder, conn, other_model)
    assert locks() == 0
    assert counts(run(folder, conn, client)) == (3, 6, 0, 0, 6, 0)


def test_what_the_database_refuses_is_an_error_with_its_reason(
    database: OwnSchema, conn: psycopg.Connection, client: Any, folder: Path
) -> None:
    run(folder, conn, client)
    conn.execute("SET default_transaction_read_only = on")
    (folder / "b.txt").unlink()
    with pytest.raises(DatabaseError, match="read-only transaction"):
        run(folder, conn, client)


def test_what_cannot_be_read_stays_and_no_index_is_emptied_for_a_pattern(
    conn: psycopg.Connection, client: Any, folder: Path
) -> None:
    ingest(folder, conn=conn, embedder=client)
    (folder / ".gitignore").write_text("b.txt\n/sub/\n", encoding="utf-8")
    (folder / "a.md").write_bytes(b"\xff")
    (folder / "d.md").write_text("# D", encoding="utf-8")
    ingest(folder, conn=conn, embedder=client)
    assert names(conn) == {"a.md", "d.md"}
    (folder / ".gitignore").write_text("*", encoding="utf-8")
    with pytest.raises(
        InputError, match=r"(?s)ignored: 3 files and 1 folder by .gitignore .*--no-ignore"
    ):
        ingest(folder, conn=conn, embedder=client)
    assert names(conn) == {"a.md", "d.md"}
