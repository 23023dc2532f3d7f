"""Storing shards: what stays, what goes, two at once, and after a failure half-way."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from course_lib.embedder import EmbeddingClient
from course_lib.errors import InputError
from course_lib.indexing import IngestOptions, ingest
from course_lib.pipeline import sources
from course_lib.pipeline.corpus import shard_names, write_corpus
from course_lib.pipeline.storing import COUNTS, add_up, build_index, database, store_shard
from course_lib.records import Scope
from course_lib.store import connect
from tests.pipeline.conftest import split, split_shard, stored
from tests.schemas import OwnSchema

if TYPE_CHECKING:
    from course_lib.teaching.github_server import GitHubServer


def store_all(
    shards: list[tuple[Path, Path]], conn: psycopg.Connection, embedder: EmbeddingClient
) -> dict[str, int]:
    counts = [store_shard(*files, conn=conn, embedder=embedder) for files in shards]
    # As Kubeflow hands them over: numbers in lists are floats.
    floats = [{name: float(value) for name, value in one.items()} for one in counts]
    return build_index(conn, *as_they_came(floats))


def as_they_came(counts: Sequence[Mapping[str, float]]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return counts with what the splitter has counted, and the names of the shards."""
    names = shard_names(len(counts))
    told = zip(counts, names, strict=True)
    return [{**one, "split": one["chunks"], "shard": name} for one, name in told], names


def test_what_is_gone_leaves_the_index_and_what_cannot_be_read_stays(
    folder: Path, tmp_path: Path, conn: psycopg.Connection, embedder: EmbeddingClient
) -> None:
    store_all(split(folder, tmp_path, 3), conn, embedder)
    (folder / "sail.md").unlink()
    (folder / "brake.md").write_bytes(b"\xff\xfe is not text")
    total = store_all(split(folder, tmp_path, 3), conn, embedder)
    names = {row[3] for row in stored(conn)}
    assert "sail.md" not in names and "brake.md" in names and len(names) == 5
    # The file that could not be read is told to each of the three shards.
    assert total["deleted"] > 0 and total["kept"] == 3


def test_counts_are_added_up_in_whole_numbers_and_compared_shard_by_shard() -> None:
    one: dict[str, Any] = {name: at for at, name in enumerate(COUNTS, 1)}
    stored, names = as_they_came([one] * 3)
    total = add_up([{**each, "split": 2.0} for each in reversed(stored)], names)
    assert list(total.values()) == [3, 6, 9, 12, 15, 18, 21, 24]
    assert {type(value) for value in total.values()} == {int}
    assert add_up([], []) == dict.fromkeys(COUNTS, 0)
    stored[1]["split"] = 3.0
    with pytest.raises(InputError, match="shard 1/3: 2 of 3 chunks"):
        add_up(stored, names)


def test_a_shard_that_is_missing_or_came_twice_is_noticed() -> None:
    stored, names = as_they_came([dict.fromkeys(COUNTS, 0)] * 3)
    for came in ([stored[0], stored[2]], [stored[0], stored[0], stored[2]], [*stored, stored[1]]):
        with pytest.raises(InputError, match="wanted: .'0/3', '1/3', '2/3'.$"):
            add_up(came, names)
    assert add_up(stored * 2, names * 2) == add_up(stored, names), "two sources"


def test_the_index_is_built_once_after_the_shards(
    folder: Path, tmp_path: Path, conn: psycopg.Connection, embedder: EmbeddingClient
) -> None:
    query = "SELECT count(*) FROM pg_indexes WHERE indexname LIKE '%_hnsw'"
    shards = split(folder, tmp_path, 2)
    counts = [store_shard(*files, conn=conn, embedder=embedder) for files in shards]
    assert conn.execute(query).fetchone() == (0,)
    came, names = as_they_came(counts)
    with pytest.raises(InputError, match="of 1 chunks"):
        build_index(conn, [{**one, "split": 1} for one in came], names)
    assert conn.execute(query).fetchone() == (0,)
    build_index(conn, came, names)
    assert conn.execute(query).fetchone() == (1,)
    with pytest.raises(InputError, match="no shard"):
        build_index(conn, [], [])


def test_shards_are_encoded_at_the_same_time_and_an_ingest_waits_for_them(
    folder: Path, tmp_path: Path, database: OwnSchema, embedder: EmbeddingClient
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
            options = IngestOptions(say=lambda said: waits.set())
            ingest(folder, Scope(repo="mill"), options, conn=conn, embedder=embedder)

    with ThreadPoolExecutor(2) as pool:
        try:
            storing = pool.submit(store_first)
            assert Stopped.reached.wait(60)
            with connect(database.url) as conn:
                assert store_shard(*second, conn=conn, embedder=embedder)["inserted"] > 0
            ingesting = pool.submit(ingest_all)
            assert waits.wait(60) and not ingesting.done()
        finally:
            Stopped.go_on.set()
        storing.result(60)
        ingesting.result(60)


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
    with pytest.raises(InputError, match="which is not among the documents"):
        store_shard(first[0], second[1], conn=conn, embedder=embedder)


def test_chunks_that_were_lost_on_the_way_are_stored_by_the_next_run(
    folder: Path, tmp_path: Path, conn: psycopg.Connection, embedder: EmbeddingClient
) -> None:
    [(rows, chunks)] = split(folder, tmp_path, 1)
    whole = chunks.read_bytes().splitlines(keepends=True)
    chunks.write_bytes(b"".join(whole[:-2]))
    half = store_shard(rows, chunks, conn=conn, embedder=embedder)
    assert half["chunks"] == len(stored(conn)) == len(whole) - 2
    chunks.write_bytes(b"".join(whole))
    repaired = store_shard(rows, chunks, conn=conn, embedder=embedder)
    assert repaired["encoded"] == repaired["inserted"] == 2 and len(stored(conn)) == len(whole)
    again = store_shard(rows, chunks, conn=conn, embedder=embedder)
    assert again["unchanged"] == len(whole) and again["encoded"] == 0


def test_a_step_without_a_database_says_where_it_comes_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    with pytest.raises(InputError, match="no DATABASE_URL") as caught:
        database()
    assert "rag-database" in caught.value.hint
