"""Many rows change without the vector index, which is there again afterwards."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import psycopg
import pytest

from course_lib.store import (
    build_vector_indexes,
    connect,
    create_schema,
    service_url,
    vector_indexes,
)
from course_lib.store.databases import FreshDatabase
from course_lib.store.vector_indexes import HnswBuild, vector_index_rebuilt
from tests.schemas import OwnSchema, own_schema

ROWS = 20


def fill(conn: psycopg.Connection) -> None:
    conn.execute(
        "INSERT INTO document_chunks (partition, tenant_id, repo_slug, document_name,"
        " chunk_index, kind, name, content, content_hash, embedding)"
        " SELECT 'issues', 'local', 'heron', 'a.md', n, 'issue', 'a', 'text', 'hash',"
        " ARRAY[n, 1, 1]::vector FROM generate_series(1, %s) AS n",
        [ROWS],
    )


@pytest.fixture(scope="module")
def database(worker_database: FreshDatabase) -> Iterator[OwnSchema]:
    with own_schema(worker_database) as fresh, fresh.connect() as conn:
        create_schema(conn, 3)
        fill(conn)
        build_vector_indexes(conn)
        yield fresh


@pytest.fixture
def conn(database: OwnSchema, monkeypatch: pytest.MonkeyPatch) -> Iterator[psycopg.Connection]:
    monkeypatch.setattr(vector_indexes, "FEWEST_ROWS", 2)
    with connect(database.url, autocommit=True) as connection:
        yield connection
        build_vector_indexes(connection)


def indexes(conn: psycopg.Connection) -> list[str]:
    found = conn.execute(
        "SELECT indexdef FROM pg_indexes WHERE indexdef LIKE '%hnsw%'"
        " AND schemaname = current_schema()"
    )
    return [row[0] for row in found]


def test_the_index_is_away_meanwhile_and_then_the_one_it_was(conn: psycopg.Connection) -> None:
    before = indexes(conn)
    with vector_index_rebuilt(conn, "issues", ROWS) as is_away:
        assert is_away
        assert indexes(conn) == []
        conn.execute("UPDATE document_chunks SET commit_sha = 'new'")
    assert indexes(conn) == before
    found = conn.execute("SELECT count(*) FROM document_chunks WHERE commit_sha = 'new'").fetchone()
    assert found == (ROWS,)


@pytest.mark.parametrize(("partition", "changing"), [("issues", 1), ("issues", 3), ("mine", ROWS)])
def test_few_rows_are_learnt_and_where_there_is_no_index_none_comes(
    conn: psycopg.Connection, partition: str, changing: int
) -> None:
    before = indexes(conn)
    with vector_index_rebuilt(conn, partition, changing) as is_away:
        assert not is_away
        assert indexes(conn) == before
    assert indexes(conn) == before


def test_in_a_transaction_that_is_open_the_index_stays(conn: psycopg.Connection) -> None:
    with conn.transaction(), vector_index_rebuilt(conn, "issues", ROWS) as is_away:
        assert not is_away


def test_whoever_uses_the_table_is_not_waited_for_long(
    conn: psycopg.Connection, database: OwnSchema, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_indexes, "PATIENCE", "50ms")
    before = indexes(conn)
    with connect(database.url) as other:
        other.execute("SELECT count(*) FROM document_chunks")  # its transaction stays open
        with vector_index_rebuilt(conn, "issues", ROWS) as is_away:
            assert not is_away
    assert indexes(conn) == before
    assert conn.execute("SHOW lock_timeout").fetchone() != ("50ms",)


def test_who_owns_nothing_leaves_the_index_alone(
    conn: psycopg.Connection, database: OwnSchema
) -> None:
    before = indexes(conn)
    with connect(service_url("writer", url=database.url), autocommit=True) as writer:
        create_schema(conn, 3)  # grants the role its rights
        with vector_index_rebuilt(writer, "issues", ROWS) as is_away:
            assert not is_away
    assert indexes(conn) == before


def test_after_a_failure_the_next_ingest_builds_the_index(conn: psycopg.Connection) -> None:
    with pytest.raises(ZeroDivisionError), vector_index_rebuilt(conn, "issues", ROWS):
        raise ZeroDivisionError
    assert indexes(conn) == []
    assert build_vector_indexes(conn) == ["document_chunks_issues"]


def test_an_index_that_somebody_built_meanwhile_is_not_built_again(
    conn: psycopg.Connection, database: OwnSchema
) -> None:
    with vector_index_rebuilt(conn, "issues", ROWS), connect(database.url) as other:
        build_vector_indexes(other, HnswBuild(4, 64))
    assert len(indexes(conn)) == 1
    assert "m='4'" in indexes(conn)[0]
    conn.execute("DROP INDEX document_chunks_issues_embedding_hnsw")


def test_of_two_at_once_one_takes_it_away_and_both_go_on(
    conn: psycopg.Connection, database: OwnSchema
) -> None:
    before = indexes(conn)
    both_have_counted = Barrier(2)

    def change(_: int) -> bool:
        with connect(database.url, autocommit=True) as own:
            both_have_counted.wait(60)
            with vector_index_rebuilt(own, "issues", ROWS) as is_away:
                own.execute("UPDATE document_chunks SET commit_sha = 'both'")
                return is_away

    with ThreadPoolExecutor(2) as pool:
        assert any(pool.map(change, range(2)))
    assert indexes(conn) == before


def test_an_index_that_somebody_else_takes_away_meanwhile_is_theirs_to_build(
    conn: psycopg.Connection, database: OwnSchema, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_late(_: psycopg.Connection) -> bool:
        conn.execute("DROP INDEX document_chunks_issues_embedding_hnsw")
        return True

    with connect(database.url, autocommit=True) as own, monkeypatch.context() as meanwhile:
        meanwhile.setattr(vector_indexes, "owns_tables", is_late)
        with vector_index_rebuilt(own, "issues", ROWS) as is_away:
            assert not is_away
    assert indexes(conn) == []


def test_in_a_collection_it_comes_back_although_another_one_has_an_index_of_that_name(
    conn: psycopg.Connection, worker_database: FreshDatabase
) -> None:
    others = indexes(conn)
    with own_schema(worker_database) as mine, mine.connect() as own:
        create_schema(own, 3)
        fill(own)
        build_vector_indexes(own)
        before = indexes(own)
        with vector_index_rebuilt(own, "issues", ROWS) as is_away:
            assert is_away
            assert (indexes(own), indexes(conn)) == ([], others)
        assert (indexes(own), indexes(conn)) == (before, others)
