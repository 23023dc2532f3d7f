"""Writing on a real PostgreSQL: what is counted, what vanishes, what is refused, what remains."""

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import psycopg
import pytest
from psycopg.rows import dict_row

from course_lib.errors import DatabaseError, InputError
from course_lib.records import Chunk, Scope, SourceDocument
from course_lib.store import (
    WriteReport,
    connect,
    delete_documents,
    stored_documents,
    write_chunks,
    write_documents,
)
from course_lib.store.databases import FreshDatabase
from course_lib.store.rows import DOCUMENT_KEY, make_rows
from course_lib.store.writer import replace_document
from tests.schemas import OwnSchema, own_schema
from tests.unit.chunks import make_chunk

DIMENSION = 3


@pytest.fixture
def conn(emptied: psycopg.Connection) -> psycopg.Connection:
    return emptied


@pytest.fixture
def database(tables: OwnSchema) -> OwnSchema:
    return tables


def chunk(content: str = "text", document: str = "a.md", **fields: Any) -> Chunk:
    return make_chunk(content, **{"tenant_id": "local", "source_path": document, **fields})


def vectors(count: int, seed: int = 1) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.random.default_rng(seed).random((count, DIMENSION), dtype=np.float32)


def write(conn: psycopg.Connection, *contents: str, document: str = "a.md") -> WriteReport:
    chunks = [chunk(content, document) for content in contents]
    return write_chunks(conn, chunks, vectors(len(chunks)))


def contents(conn: psycopg.Connection) -> list[str]:
    rows = conn.execute("SELECT content FROM document_chunks ORDER BY document_name, chunk_index")
    return [row[0] for row in rows]


def test_rows_are_counted_as_inserted_updated_unchanged_and_deleted(
    conn: psycopg.Connection,
) -> None:
    assert write(conn, "a", "b", "c") == WriteReport(inserted=3)
    assert write(conn, "a", "b", "c") == WriteReport(unchanged=3)
    assert write(conn, "a", "B", "c", "d") == WriteReport(inserted=1, updated=1, unchanged=2)
    assert write(conn, "A") == WriteReport(updated=1, deleted=3)
    assert contents(conn) == ["A"]


def test_a_document_is_replaced_whole_or_not_at_all(conn: psycopg.Connection) -> None:
    chunks = [chunk(text) for text in ("a", "b", "c")]
    ((key, rows),) = make_rows(chunks, vectors(3), "documentation", "private").items()
    document = dict(zip(DOCUMENT_KEY, key, strict=True))
    assert replace_document(conn, document, rows) == (3, 0)
    assert replace_document(conn, document, rows[::-1]) == (0, 0)
    with pytest.raises(psycopg.DataError):
        replace_document(
            conn, document, [rows[0] | {"content": "A"}, rows[1] | {"embedding": "[1]"}]
        )
    assert contents(conn) == ["a", "b", "c"]
    assert replace_document(conn, document, [rows[0], rows[2] | {"content": "C"}]) == (1, 1)
    assert replace_document(conn, {**document, "branch": "v2"}, []) == (0, 0)
    assert contents(conn) == ["a", "C"]
    assert replace_document(conn, document, []) == (0, 2)


def test_a_changed_vector_alone_is_an_update(conn: psycopg.Connection) -> None:
    write_chunks(conn, [chunk()], vectors(1, seed=1))
    assert write_chunks(conn, [chunk()], vectors(1, seed=2)) == WriteReport(updated=1)
    row = conn.execute("SELECT embedding FROM document_chunks").fetchone()
    assert row is not None
    assert np.array_equal(row[0].to_numpy(), vectors(1, 2)[0])


def test_a_changed_field_is_an_update(conn: psycopg.Connection) -> None:
    for change in (
        {"kind": "other"},
        {"name": "Other"},
        {"line_start": 7},
        {"parser_version": "1.0.1"},
        {"custom_meta": {"namespace": "prod"}},
        {"custom_meta": {"commitSha": "abc"}},
        {"custom_meta": {"citationUrl": "https://example.org"}},
        {"custom_meta": {"anything": [1, None, {"a": True}]}},
    ):
        write(conn, "text")
        assert write_chunks(conn, [chunk(**change)], vectors(1)) == WriteReport(updated=1)
        assert write_chunks(conn, [chunk(**change)], vectors(1)) == WriteReport(unchanged=1)


def test_any_text_comes_back_as_it_went_in(conn: psycopg.Connection) -> None:
    for text in (
        "'; DROP TABLE document_chunks; --",
        "quotes \" ' ` \\ \\N \\x00 %s %(name)s {} $1",
        "emoji \U0001f469\U0001f3fd\u200d\U0001f4bb, 日本語, \u202eleft",
        "tab\tcr\rlf\ncrlf\r\n\x01\x7f",
        "long " * 100_000,
    ):
        start = text[:50]
        record = chunk(text, document=start.replace("\\", "/").lstrip("/"), name=start, kind=start)
        conn.execute("DELETE FROM document_chunks")
        write_chunks(conn, [record], vectors(1))
        row = conn.execute("SELECT content, document_name, name, kind FROM document_chunks")
        assert row.fetchone() == (text, record.source_path, start, start)


def test_vectors_come_back_exactly(conn: psycopg.Connection) -> None:
    given = np.array([[1e-38, -0.1, 3.4e38], [0, 1 / 3, 2]], dtype=np.float32)
    write_chunks(conn, [chunk("a"), chunk("b")], given)
    rows = conn.execute(
        "SELECT embedding::text FROM document_chunks ORDER BY chunk_index"
    ).fetchall()
    stored = np.array([[np.float32(x) for x in row[0][1:-1].split(",")] for row in rows])
    assert np.array_equal(stored, given)


def refused(conn: psycopg.Connection, records: list[Chunk], rows: Any, says: str) -> None:
    """Expect an InputError, and the rows of before."""
    write(conn, "before", "before too")
    with pytest.raises(InputError, match=says):
        write_chunks(conn, records, rows)
    assert contents(conn) == ["before", "before too"]
    assert write(conn, "after") == WriteReport(updated=1, deleted=1)


def bad_vectors(value: float) -> np.ndarray[Any, np.dtype[np.float32]]:
    rows = vectors(2)
    rows[1, 2] = value
    return rows


def test_vectors_that_do_not_fit_are_refused(conn: psycopg.Connection) -> None:
    rows: Any
    for rows, says in (
        (vectors(3), "2 chunks came with vectors of shape"),
        (vectors(2).ravel(), "shape"),
        (vectors(2)[:, :2], "the vectors have 2 dimensions, the table has 3"),
        (bad_vectors(np.nan), r"chunk 1 \(a.md\) holds NaN"),
        (bad_vectors(np.inf), "infinity"),
        (vectors(2) * np.float32([[1], [0]]), r"chunk 1 \(a.md\) holds only zeros"),
    ):
        conn.execute("DELETE FROM document_chunks")
        refused(conn, [chunk("a"), chunk("b")], rows, says)


def test_records_that_do_not_fit_are_refused(conn: psycopg.Connection) -> None:
    fields: dict[str, Any]
    for fields, says in (
        ({"content": "nul \0"}, r"a\.md holds a NUL character"),
        ({"name": "nul \0"}, "cannot be stored"),
        ({"kind": "nul \0"}, "cannot be stored"),
        ({"custom_meta": {"a": "nul \0"}}, "cannot be stored"),
        ({"custom_meta": {"a": float("nan")}}, "cannot be stored"),
        ({"custom_meta": {"namespace": "nul \0"}}, "cannot be stored"),
        ({"custom_meta": {"namespace": 7}}, "customMeta.namespace is 7, no text"),
        ({"custom_meta": {"branch": ["main"]}}, "customMeta.branch is"),
        ({"custom_meta": {"chunkIndex": "1"}}, "chunkIndex '1'"),
        ({"custom_meta": {"chunkIndex": 1.5}}, "chunkIndex 1.5"),
        ({"custom_meta": {"chunkIndex": True}}, "chunkIndex True"),
        ({"custom_meta": {"chunkIndex": None}}, "chunkIndex None"),
        ({"custom_meta": {"chunkIndex": -1}}, "chunkIndex -1"),
        ({"custom_meta": {"chunkIndex": 2**31}}, "chunkIndex 2147483648"),
        ({"custom_meta": {"chunkIndex": 0}}, "two chunks with chunkIndex 0"),
        ({"kind": "".join(map(chr, range(0x4E00, 0x8E00)))}, "cannot be stored: index row"),
    ):
        conn.execute("DELETE FROM document_chunks")
        refused(conn, [chunk("a"), chunk(**{"content": "b", **fields})], vectors(2), says)


def test_without_tables_the_error_says_what_to_call(worker_database: FreshDatabase) -> None:
    with own_schema(worker_database) as empty, empty.connect() as conn:
        with pytest.raises(DatabaseError, match="document_chunks") as caught:
            write_chunks(conn, [chunk()], vectors(1))
    assert "create_schema" in caught.value.hint


def test_it_belongs_to_an_open_transaction(conn: psycopg.Connection, database: OwnSchema) -> None:
    with connect(database.url) as own:
        own.execute("SELECT 1")
        write_chunks(own, [chunk()], vectors(1))
        write_chunks(own, [chunk("again")], vectors(1))
        assert contents(own) == ["again"]
        own.rollback()
    assert contents(conn) == []


def test_two_writers_of_one_document_leave_one_version_whole(
    conn: psycopg.Connection, database: OwnSchema
) -> None:
    versions = {size: [f"version of {size}"] * size for size in (3, 40)}
    failures: list[BaseException] = []

    def keep_writing(size: int) -> None:
        try:
            with connect(database.url, autocommit=True) as own:
                for _ in range(8):
                    write(own, *versions[size])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=keep_writing, args=[size]) for size in versions]
    seen = set()
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        seen.add(tuple(contents(conn)))
    for thread in threads:
        thread.join()
    assert failures == []
    assert seen <= {(), *map(tuple, versions.values())}


def test_document_rows_are_read_back_updated_and_deleted(conn: psycopg.Connection) -> None:
    source = Scope(tenant="local", repo="docs")
    other = Scope(tenant="local", repo="docs", branch="main")

    def row(text: str) -> SourceDocument:
        return SourceDocument("a.md", text, f"hash of {text}", "parser", "settings", "model")

    write_documents(conn, source, [row("one")])
    write_documents(conn, other, [row("two")])
    write(conn, "a", "b")
    assert stored_documents(conn, source) == {
        "a.md": ("", "hash of one", "parser", "settings", "model")
    }
    write_documents(conn, source, [row("three")])
    assert stored_documents(conn, source)["a.md"][1] == "hash of three"
    assert delete_documents(conn, source, ["a.md", "missing.md"]) == 2
    assert stored_documents(conn, source) == {}
    assert list(stored_documents(conn, other)) == ["a.md"]


def test_who_removes_a_document_waits_for_who_writes_it_and_neither_for_ever(
    conn: psycopg.Connection, database: OwnSchema
) -> None:
    source = Scope(tenant="local", repo="docs", branch="")
    row = SourceDocument(
        name="a.md", content="new", content_hash="h", parser="p", settings="s", model="m"
    )
    write_documents(conn, source, [row])
    write(conn, "old")
    with connect(database.url, autocommit=True) as other, ThreadPoolExecutor(1) as pool:
        with conn.transaction():
            write_documents(conn, source, [row])
            removing = pool.submit(delete_documents, other, source, ["a.md"])
            deadline = time.monotonic() + 60
            waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = %s"
            while conn.execute(waiting, [other.info.backend_pid]).fetchone() == (0,):
                assert time.monotonic() < deadline
            # Had the other one deleted the chunks already, each would wait for the other here.
            write(conn, "new")
        assert removing.result(60) == 1
    assert contents(conn) == [] and stored_documents(conn, source) == {}


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ({"partition": None}, "the partition is None"),
        ({"partition": 3}, "the partition is 3"),
        ({"partition": " "}, "the partition is ' '"),
        ({"partition": "half a \udc00"}, "the partition is 'half a"),
        ({"visibility": "secret"}, "the visibility is 'secret'"),
        ({"visibility": None}, "the visibility is None"),
    ],
)
def test_a_place_that_no_row_can_have_is_refused(
    conn: psycopg.Connection, where: dict[str, Any], says: str
) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        write_chunks(conn, [chunk("a")], vectors(1), **where)
    with pytest.raises(InputError, match=re.escape(says)):
        write_chunks(conn, [], vectors(0), **where)
    assert contents(conn) == []


def test_chunks_are_written_whatever_rows_a_connection_gives_and_lists_are_vectors(
    conn: psycopg.Connection,
) -> None:
    conn.row_factory = dict_row  # type: ignore[assignment]
    assert write_chunks(conn, [chunk()], [[1, 0, 0]]).inserted == 1  # type: ignore[arg-type]
    double: Any = np.eye(1, 3, dtype=np.float64)
    assert write_chunks(conn, [chunk()], double) == WriteReport(unchanged=1)
    assert stored_documents(conn, Scope(tenant="local", repo="docs", branch="main")) == {}
