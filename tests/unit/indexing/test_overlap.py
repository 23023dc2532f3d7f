"""Batches that are encoded and written at the same time: in order, and none behind an error."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import psycopg
import pytest

from course_lib.indexing import overlap, update
from course_lib.indexing.overlap import overlapped
from course_lib.records import Scope
from course_lib.store import connect
from tests.schemas import OwnSchema
from tests.unit.indexing.conftest import CountingClient

LIMIT = 60


def test_all_batches_are_written_in_order() -> None:
    written: list[int] = []
    overlapped(iter(range(100)), lambda number: number * 2, written.append)
    assert written == list(range(0, 200, 2))


def test_no_batches_are_no_work() -> None:
    overlapped(iter([]), lambda number: number, pytest.fail)


def test_a_batch_is_written_and_the_next_one_read_while_one_is_encoded() -> None:
    """Encoding the second batch waits for the first to be written and the third to be read."""
    is_written, is_read = threading.Event(), threading.Event()

    def batches() -> Iterator[int]:
        yield 1
        yield 2
        is_read.set()
        yield 3

    def encode(number: int) -> int:
        if number == 2:
            assert is_written.wait(LIMIT) and is_read.wait(LIMIT)
        return number

    overlapped(batches(), encode, lambda number: is_written.set())


def test_a_failing_encoder_leaves_what_was_before_it() -> None:
    written: list[int] = []
    with pytest.raises(ZeroDivisionError):
        overlapped(iter([2, 1, 0, 3]), lambda number: 1 / number, lambda _: written.append(1))
    assert len(written) == 2


def test_nothing_is_written_behind_a_write_that_failed() -> None:
    tried: list[int] = []

    def write(number: int) -> None:
        tried.append(number)
        if number == 1:
            raise ValueError("full")

    with pytest.raises(ValueError, match="full"):
        overlapped(iter(range(10)), lambda number: number, write)
    assert tried == [0, 1]


def test_a_source_that_fails_is_told_and_what_came_before_is_written() -> None:
    written: list[int] = []

    def batches() -> Iterator[int]:
        yield 1
        raise OSError("unreadable")

    with pytest.raises(OSError, match="unreadable"):
        overlapped(batches(), lambda number: number, written.append)
    assert written == [1]


def test_ctrl_c_waits_for_the_write_under_way() -> None:
    encoding = threading.Event()
    written: list[int] = []

    def encode(number: int) -> int:
        if number == 2:
            encoding.set()
            raise KeyboardInterrupt
        return number

    def write(number: int) -> None:
        assert encoding.wait(LIMIT)
        written.append(number)

    with pytest.raises(KeyboardInterrupt):
        overlapped(iter([1, 2, 3]), encode, write, give_up=pytest.fail)
    assert written == [1]


def test_a_write_that_does_not_end_is_made_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlap, "PATIENCE", 0.05)
    writing, go_on = threading.Event(), threading.Event()

    def encode(number: int) -> int:
        if number == 2:
            assert writing.wait(LIMIT)
            raise KeyboardInterrupt
        return number

    def write(number: int) -> None:
        writing.set()
        assert go_on.wait(LIMIT)

    with pytest.raises(KeyboardInterrupt):
        overlapped(iter([1, 2, 3]), encode, write, give_up=go_on.set)
    assert go_on.is_set()


def test_ctrl_c_ends_an_update_whose_write_waits_for_somebody(
    database: OwnSchema,
    conn: psycopg.Connection,
    client: CountingClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(overlap, "PATIENCE", 0.2)
    monkeypatch.setattr(update, "BATCH_CHUNKS", 1)
    documents = {name: _row(name) for name in ("a", "b", "c")}
    source = Scope(tenant="local", repo="repo")

    def run(own: psycopg.Connection, **changes: str) -> None:
        now = {name: _row(name, changes.get(name, name)) for name in documents}
        update.update_source(own, client, source, now, lambda name: [_chunk(name, now[name])])

    run(conn)
    with connect(database.url) as blocking, connect(database.url, autocommit=True) as own:
        blocking.execute("SELECT FROM documents WHERE document_name = 'a' FOR UPDATE")
        encode, waits = client.encode, "SELECT 1 FROM pg_locks WHERE NOT granted AND pid = %s"

        def interrupted(texts: list[str], batch_size: int = 32) -> object:
            if texts == ["b 2"]:
                deadline = threading.Event()
                for _ in range(LIMIT * 50):
                    if conn.execute(waits, [own.info.backend_pid]).fetchone():
                        raise KeyboardInterrupt
                    deadline.wait(0.02)
            return encode(texts, batch_size)

        monkeypatch.setattr(client, "encode", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(own, a="a 2", b="b 2")
        assert own.closed
        blocking.rollback()
    monkeypatch.setattr(client, "encode", encode)
    stored = "SELECT content FROM document_chunks ORDER BY document_name"
    assert [content for (content,) in conn.execute(stored)] == ["a", "b", "c"]
    run(conn, a="a 2", b="b 2")
    assert [content for (content,) in conn.execute(stored)] == ["a 2", "b 2", "c"]


def test_indexes_are_built_while_the_rest_is_encoded(
    conn: psycopg.Connection, client: CountingClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(update, "BATCH_CHUNKS", 1)
    monkeypatch.setattr(update, "SLOWER", 0)
    build, rows = update.build_vector_indexes, []

    def watched(own: psycopg.Connection) -> object:
        found = own.execute("SELECT count(*) FROM document_chunks").fetchone()
        rows.append(found[0] if found else None)
        return build(own)

    monkeypatch.setattr(update, "build_vector_indexes", watched)
    documents = {name: _row(name) for name in "abcdefghij"}
    source = Scope(tenant="local", repo="repo")

    def split(name: str) -> list[object]:
        return [_chunk(name, documents[name])]

    report = update.update_source(conn, client, source, documents, split)  # type: ignore[arg-type]
    assert rows == [8, 10] and report.written.inserted == 10
    assert conn.execute(
        "SELECT indisvalid FROM pg_index JOIN pg_class ON oid = indexrelid "
        "WHERE relname = 'document_chunks_documentation_embedding_hnsw'"
    ).fetchone() == (True,)


def _row(name: str, text: str = "") -> update.SourceDocument:
    return update.SourceDocument(name, text or name, f"hash of {text or name}", "p", "s", "hash")


def _chunk(name: str, document: update.SourceDocument) -> update.Chunk:
    return update.Chunk(
        tenant_id="local",
        repo_slug="repo",
        root_kind="external-source",
        source_path=name,
        content=document.content,
        hash_inputs=["content"],
        parser_id="markdown",
        parser_version="1.0.0",
        kind="doc-section",
        name=name,
    )
