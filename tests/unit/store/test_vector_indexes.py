"""The vector indexes on a real PostgreSQL: built where rows are, once, as large as they need."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from course_lib.errors import InputError
from course_lib.retriever import search
from course_lib.store import (
    build_vector_indexes,
    connect,
    create_schema,
    drop_schema,
    fresh_database,
    vector_indexes,
)
from course_lib.store.collection import in_collection
from course_lib.store.databases import FreshDatabase
from course_lib.store.vector_indexes import LARGE, SMALL, Graph, graph_for
from tests.unit.chunks import write_many

INDEX = "document_chunks_issues_embedding_hnsw"


@pytest.fixture(scope="module")
def database() -> Iterator[FreshDatabase]:
    with fresh_database("indexes") as fresh:
        yield fresh


@pytest.fixture
def conn(database: FreshDatabase) -> Iterator[psycopg.Connection]:
    """A connection to a database without tables."""
    with connect(database.url, autocommit=True) as connection:
        drop_schema(connection)
        yield connection


def tables(conn: psycopg.Connection) -> set[str]:
    return {
        row[0]
        for row in conn.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    }


def graphs(conn: psycopg.Connection) -> dict[str, Graph]:
    """Return the vector indexes by name, and what each was built with."""
    rows = conn.execute(
        "SELECT relname, reloptions FROM pg_class JOIN pg_am ON pg_am.oid = relam "
        "WHERE amname = 'hnsw' AND relkind = 'i'"
    ).fetchall()
    return {
        name: Graph(*(int(option.partition("=")[2]) for option in options))
        for name, options in rows
    }


@pytest.fixture
def outgrown(conn: psycopg.Connection, monkeypatch: pytest.MonkeyPatch) -> psycopg.Connection:
    """A partition whose index was built over few rows, and which has many now."""
    monkeypatch.setattr(vector_indexes, "LARGE_FROM", 100)
    create_schema(conn, 3)
    write_many(conn, 3, "issues", 50)
    build_vector_indexes(conn)
    assert graphs(conn) == {INDEX: SMALL}
    write_many(conn, 3, "issues", 200)
    return conn


def test_an_index_is_built_where_there_are_rows_and_only_once(conn: psycopg.Connection) -> None:
    create_schema(conn, 3)
    assert build_vector_indexes(conn) == []
    write_many(conn, 3, "issues")
    write_many(conn, 3, "my own")
    assert build_vector_indexes(conn) == ["document_chunks_issues", "document_chunks_default"]
    assert build_vector_indexes(conn) == []
    definitions = conn.execute(
        "SELECT indexdef FROM pg_indexes WHERE indexdef LIKE '%hnsw%'"
    ).fetchall()
    assert len(definitions) == 2
    assert all("hnsw (embedding vector_cosine_ops)" in row[0] for row in definitions)
    write_many(conn, 3, "documentation")
    assert build_vector_indexes(conn) == ["document_chunks_documentation"]


def test_four_at_once_build_one_index(conn: psycopg.Connection, database: FreshDatabase) -> None:
    create_schema(conn, 3)
    write_many(conn, 3, "issues", 50)

    def build(_: int) -> list[str]:
        with connect(database.url) as own:
            return build_vector_indexes(own)

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(build, range(4))) == [[], [], [], ["document_chunks_issues"]]


def test_what_pgvector_cannot_index_is_searched_without_an_index(conn: psycopg.Connection) -> None:
    create_schema(conn, 4001)
    write_many(conn, 4001, "documentation")
    assert build_vector_indexes(conn) == []


def test_building_is_committed_on_a_connection_without_autocommit(
    conn: psycopg.Connection, database: FreshDatabase
) -> None:
    with connect(database.url) as own:
        create_schema(own, 3)
        write_many(own, 3, "issues")
        build_vector_indexes(own)
        assert own.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


def test_many_rows_get_the_large_graph_and_what_was_asked_for_is_built(
    conn: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert graph_for(0) == graph_for(4_999) == SMALL
    assert graph_for(5_000) == LARGE
    monkeypatch.setattr(vector_indexes, "LARGE_FROM", 100)
    create_schema(conn, 3)
    write_many(conn, 3, "issues", 100)
    write_many(conn, 3, "documentation", 99)
    build_vector_indexes(conn)
    assert graphs(conn) == {INDEX: LARGE, "document_chunks_documentation_embedding_hnsw": SMALL}
    write_many(conn, 3, "my own", 100)
    build_vector_indexes(conn, m=40)
    assert graphs(conn)["document_chunks_default_embedding_hnsw"] == Graph(40, 80)


def test_a_partition_that_has_outgrown_its_graph_gets_a_large_one_once(
    outgrown: psycopg.Connection,
) -> None:
    assert build_vector_indexes(outgrown, m=16) == []
    assert graphs(outgrown) == {INDEX: SMALL}, "who names a graph leaves those that are there"
    with outgrown.transaction():
        assert build_vector_indexes(outgrown) == [], "its locks would last as long"
    assert build_vector_indexes(outgrown) == ["document_chunks_issues"]
    assert graphs(outgrown) == {INDEX: LARGE}
    assert build_vector_indexes(outgrown) == []
    outgrown.execute(f"DROP INDEX {INDEX}")
    build_vector_indexes(outgrown, m=5, ef_construction=10)
    assert build_vector_indexes(outgrown) == []
    assert graphs(outgrown) == {INDEX: Graph(5, 10)}, "which somebody chose"


def test_an_index_in_use_stays_until_the_next_time(
    outgrown: psycopg.Connection, database: FreshDatabase
) -> None:
    with connect(database.url) as reader:
        reader.execute("SELECT count(*) FROM document_chunks")  # and its transaction goes on
        assert build_vector_indexes(outgrown) == []
        assert graphs(outgrown) == {INDEX: SMALL}
        assert len(search(outgrown, [1.0, 2.0, 3.0], 10, -1, exact=False)) == 10
    assert build_vector_indexes(outgrown) == ["document_chunks_issues"]
    assert graphs(outgrown) == {INDEX: LARGE}


def test_one_who_has_written_and_one_who_replaces_do_not_wait_for_each_other(
    outgrown: psycopg.Connection, database: FreshDatabase
) -> None:
    with connect(database.url) as writer:
        write_many(writer, 3, "issues", 210)
        writer.execute("SELECT 1")
        writer.execute("UPDATE document_chunks_issues SET name = 'B'")  # locks the table
        assert build_vector_indexes(outgrown) == []
        assert build_vector_indexes(writer) == []
    assert build_vector_indexes(outgrown) == ["document_chunks_issues"]


def test_an_index_of_another_collection_is_left_alone(
    conn: psycopg.Connection, database: FreshDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_indexes, "LARGE_FROM", 100)
    with connect(in_collection(database.url, "mine"), autocommit=True) as mine:
        for each, count in ((conn, 50), (mine, 50)):
            drop_schema(each)
            create_schema(each, 3)
            write_many(each, 3, "issues", count)
            build_vector_indexes(each)
        write_many(mine, 3, "issues", 200)
        schemas = (
            "SELECT relnamespace::regnamespace::text, reloptions[1] FROM pg_class "
            "WHERE relname = %s ORDER BY 1 DESC"
        )
        before = conn.execute(schemas, [INDEX]).fetchall()
        assert [options for _, options in before] == ["m=16", "m=16"]
        assert build_vector_indexes(mine) == ["document_chunks_issues"]
        assert [options for _, options in conn.execute(schemas, [INDEX])] == ["m=16", "m=24"]
        drop_schema(mine)


@pytest.mark.parametrize("graph", [{"m": 0}, {"m": 101}, {"m": 40, "ef_construction": 64}])
def test_a_graph_that_pgvector_cannot_build_is_refused(
    conn: psycopg.Connection, graph: dict[str, int]
) -> None:
    with pytest.raises(InputError, match=f"there is no graph of m {graph['m']}"):
        build_vector_indexes(conn, **graph)


def test_four_at_once_replace_an_index_once(
    outgrown: psycopg.Connection, database: FreshDatabase
) -> None:
    def build(_: int) -> list[str]:
        with connect(database.url, autocommit=True) as own:
            return build_vector_indexes(own)

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(build, range(4))) == [[], [], [], ["document_chunks_issues"]]
    assert graphs(outgrown) == {INDEX: LARGE}
