"""Storing shards: the same index as an ingest, done twice, at once, and after a death half-way."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from course_lib.embedder import EmbeddingClient
from course_lib.errors import InputError
from course_lib.indexing import ingest
from course_lib.indexing.repository import ingest_repository
from course_lib.pipeline import sources
from course_lib.pipeline.corpus import shard_names, write_corpus
from course_lib.pipeline.splitting import split_shard
from course_lib.pipeline.storing import Stored, build_index, database, store_shard
from course_lib.store import connect, create_schema, fresh_database
from course_lib.store.databases import FreshDatabase
from tests.pipeline.conftest import split, stored
from tests.service.running import until

if TYPE_CHECKING:
    from course_lib.teaching.github_server import GitHubServer


def store_all(
    shards: list[tuple[Path, Path]], conn: psycopg.Connection, embedder: EmbeddingClient
) -> Stored:
    counts = [store_shard(*files, conn=conn, embedder=embedder).counts() for files in shards]
    # As Kubeflow hands them over: numbers in lists are floats.
    floats = [{name: float(value) for name, value in one.items()} for one in counts]
    return build_index(conn, floats)


def without_time(rows: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    return [row[:-1] for row in rows]


def test_shards_give_the_same_index_as_an_ingest(
    folder: Path, tmp_path: Path, conn: psycopg.Connection, embedder: EmbeddingClient
) -> None:
    total = store_all(split(folder, tmp_path, 3), conn, embedder)
    assert total.documents == 6 and total.chunks == total.inserted == len(stored(conn))
    assert isinstance(total.chunks, int)
    with fresh_database("test") as other, connect(other.url, autocommit=True) as reference:
        ingest(
            folder,
            conn=reference,
            embedder=embedder,
            repo="mill",
            chunk_size=80,
            chunk_overlap=0,
        )
        assert without_time(stored(conn)) == without_time(stored(reference))
    # And an ingest of the same folder finds nothing to do.
    report = ingest(
        folder, conn=conn, embedder=embedder, repo="mill", chunk_size=80, chunk_overlap=0
    )
    assert (report.inserted, report.updated, report.deleted) == (0, 0, 0)


def test_doing_it_twice_changes_nothing(
    folder: Path, tmp_path: Path, conn: psycopg.Connection, embedder: EmbeddingClient
) -> None:
    shards = split(folder, tmp_path, 2)
    store_all(shards, conn, embedder)
    before = stored(conn)
    again = store_all(shards, conn, embedder)
    assert stored(conn) == before, "not even the time of the last change"
    assert (again.inserted, again.updated, again.deleted, again.encoded) == (0, 0, 0, 0)
    assert again.unchanged == again.chunks == len(before)


def test_another_number_of_shards_changes_nothing_either(
    folder: Path, tmp_path: Path, conn: psycopg.Connection, embedder: EmbeddingClient
) -> None:
    store_all(split(folder, tmp_path, 2), conn, embedder)
    before = stored(conn)
    store_all(split(folder, tmp_path, 5), conn, embedder)
    assert stored(conn) == before


def test_what_is_gone_leaves_the_index_and_what_cannot_be_read_stays(
    folder: Path, tmp_path: Path, conn: psycopg.Connection, embedder: EmbeddingClient
) -> None:
    store_all(split(folder, tmp_path, 3), conn, embedder)
    (folder / "sail.md").unlink()
    (folder / "brake.md").write_bytes(b"\xff\xfe is no text")
    total = store_all(split(folder, tmp_path, 3), conn, embedder)
    names = {row[3] for row in stored(conn)}
    assert "sail.md" not in names and "brake.md" in names and len(names) == 5
    # The file that could not be read is told to each of the three shards.
    assert total.deleted > 0 and total.kept == 3


def test_the_index_is_built_once_after_the_shards(
    folder: Path, tmp_path: Path, conn: psycopg.Connection, embedder: EmbeddingClient
) -> None:
    query = "SELECT count(*) FROM pg_indexes WHERE indexname LIKE '%_hnsw'"
    shards = split(folder, tmp_path, 2)
    counts = [store_shard(*files, conn=conn, embedder=embedder).counts() for files in shards]
    assert conn.execute(query).fetchone() == (0,)
    build_index(conn, counts)
    assert conn.execute(query).fetchone() == (1,)
    with pytest.raises(InputError, match="no shard"):
        build_index(conn, [])


def test_shards_are_encoded_at_the_same_time_and_an_ingest_waits_for_them(
    folder: Path, tmp_path: Path, database: FreshDatabase, embedder: EmbeddingClient
) -> None:
    class Stopped(EmbeddingClient):
        reached, go_on = threading.Event(), threading.Event()

        def encode(self, texts: Any, *given: Any, **more: Any) -> Any:
            self.reached.set()
            assert self.go_on.wait(60)
            return embedder.encode(texts, *given, **more)

    (first, second) = split(folder, tmp_path, 2)
    waits = threading.Event()

    def store_first() -> None:
        with connect(database.url) as conn:
            store_shard(*first, conn=conn, embedder=Stopped())

    def ingest_all() -> None:
        with connect(database.url) as conn:
            ingest(folder, conn=conn, embedder=embedder, repo="mill", say=lambda said: waits.set())

    with ThreadPoolExecutor(2) as pool:
        try:
            storing = pool.submit(store_first)
            assert Stopped.reached.wait(60)
            with connect(database.url) as conn:
                assert store_shard(*second, conn=conn, embedder=embedder).inserted > 0
            ingesting = pool.submit(ingest_all)
            assert waits.wait(60) and not ingesting.done()
        finally:
            Stopped.go_on.set()
        storing.result(60)
        ingesting.result(60)


def test_a_shard_that_is_killed_half_way_is_completed_by_running_it_again(
    folder: Path, tmp_path: Path, database: FreshDatabase, embedder: EmbeddingClient
) -> None:
    code = """
import sys
from course_lib.embedder import EmbeddingClient
from course_lib.indexing import update
from course_lib.pipeline.storing import database, store_shard
update.BATCH_CHUNKS = 1  # a transaction a document
with database() as conn:
    store_shard(*sys.argv[1:], conn=conn, embedder=EmbeddingClient())
"""
    ((rows, chunks),) = split(folder, tmp_path, 1)
    with connect(database.url, autocommit=True) as conn, _Stop(conn, "millstone.md") as stop:
        victim = subprocess.Popen(
            [sys.executable, "-c", code, str(rows), str(chunks)],
            env={**os.environ, "DATABASE_URL": database.url},
        )
        try:
            until(stop.is_reached)
        finally:
            victim.kill()
            victim.wait(60)
        stop.release()
        half = stored(conn)
        names = {row[3] for row in half}
        assert 0 < len(names) < 6, "it died in the middle"
        done = store_shard(rows, chunks, conn=conn, embedder=embedder)
        assert 0 < done.encoded < done.chunks, "what was stored is not encoded again"
        whole = stored(conn)
    assert len({row[3] for row in whole}) == 6 and len(whole) == done.chunks
    assert len({row[3:5] for row in whole}) == len(whole), "nothing is there twice"
    assert {row for row in whole if row[3] in names} == set(half), "what was whole stays"


def test_a_repository_in_shards_gives_the_same_index_as_ingest_repository(
    tmp_path: Path,
    conn: psycopg.Connection,
    embedder: EmbeddingClient,
    github: GitHubServer,
) -> None:
    from course_lib.teaching.github_server import sample_repository

    github.add(sample_repository())
    endings = [".py", ".md"]
    for ref in ("v1.0.0", "main"):
        documents = tmp_path / f"{ref}.jsonl"
        commit = sources.pin_commit("heron/platform", ref)
        corpus = sources.github_code(
            "heron/platform", ref, endings, commit=commit, dest=tmp_path / "code"
        )
        # Both revisions under one name, so that files change, go and stay.
        corpus = replace(corpus, origin=replace(corpus.origin, branch="main"))
        write_corpus(documents, corpus)
        for name in shard_names(2):
            split_shard(documents, name, tmp_path / "chunks", tmp_path / "rows")
            store_shard(tmp_path / "rows", tmp_path / "chunks", conn=conn, embedder=embedder)
    with fresh_database("test") as other, connect(other.url, autocommit=True) as reference:
        ingest_repository(
            "heron/platform",
            "main",
            endings,
            conn=reference,
            embedder=embedder,
            dest=tmp_path / "reference",
        )
        # A hash knows the commit that a file was first stored with, and a vector, in its last
        # digit, the texts that it was encoded with.
        mine, theirs = ([(*row[:6], *row[7:9]) for row in stored(one)] for one in (conn, reference))
        assert mine == theirs


def test_issues_since_some_day_leave_the_others_in_the_index(
    tmp_path: Path,
    conn: psycopg.Connection,
    embedder: EmbeddingClient,
    github: GitHubServer,
) -> None:
    from course_lib.teaching.github_server import sample_repository

    github.add(sample_repository())
    counts = []
    for since in ("", "2026-06-01"):
        write_corpus(tmp_path / "issues", sources.github_issues("heron/platform", since))
        split_shard(tmp_path / "issues", "0/1", tmp_path / "chunks", tmp_path / "rows")
        store_shard(tmp_path / "rows", tmp_path / "chunks", conn=conn, embedder=embedder)
        counts.append(len(stored(conn)))
    assert counts[0] == counts[1] > 0
    assert {row[0] for row in stored(conn)} == {"issues"}


def test_files_of_two_shards_do_not_go_together(
    folder: Path, tmp_path: Path, conn: psycopg.Connection, embedder: EmbeddingClient
) -> None:
    (first, second) = split(folder, tmp_path, 2)
    with pytest.raises(InputError, match="which is not in shard"):
        store_shard(first[0], second[1], conn=conn, embedder=embedder)


def test_a_step_without_a_database_says_where_it_comes_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    with pytest.raises(InputError, match="no DATABASE_URL") as caught:
        database()
    assert "rag-database" in caught.value.hint


class _Stop:
    """Holds whoever stores a chunk of one document, in the middle of its transaction."""

    KEY = 4711

    def __init__(self, conn: psycopg.Connection, name: str) -> None:
        self._conn = conn
        create_schema(conn)
        conn.execute(
            f"""
            CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF NEW.document_name = '{name}' THEN
                    PERFORM pg_advisory_xact_lock({self.KEY});
                END IF;
                RETURN NEW;
            END $$;
            CREATE TRIGGER stop BEFORE INSERT ON document_chunks
                FOR EACH ROW EXECUTE FUNCTION stop();
            """
        )

    def __enter__(self) -> _Stop:
        self._conn.execute(f"SELECT pg_advisory_lock({self.KEY})")
        return self

    def __exit__(self, *error: object) -> None:
        self._conn.execute("SELECT pg_advisory_unlock_all()")

    def is_reached(self) -> bool:
        row = self._conn.execute(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = %s "
            "AND NOT granted",
            [self.KEY],
        ).fetchone()
        return row is not None and row[0] > 0

    def release(self) -> None:
        self._conn.execute(f"SELECT pg_advisory_unlock({self.KEY})")
