"""The vector indexes on a real PostgreSQL: built where rows are, once, as large as they need."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from course_lib.errors import InputError
from course_lib.retriever import Query, search
from course_lib.store import (
    build_vector_indexes,
    connect,
    create_schema,
    vector_indexes,
)
from course_lib.store.databases import FreshDatabase
from course_lib.store.vector_indexes import HNSW, HNSW_LARGE, HnswBuild, hnsw_build
from tests.schemas import OwnSchema, own_schema
from tests.unit.chunks import write_many

INDEX = "document_chunks_issues_embedding_hnsw"


def graphs(conn: psycopg.Connection) -> dict[str, HnswBuild]:
    """Return the vector indexes by name, and what each was built with."""
    rows = conn.execute(
        "SELECT relname, reloptions FROM pg_class JOIN pg_am ON pg_am.oid = relam "
        "WHERE amname = 'hnsw' AND relkind = 'i' AND relnamespace = current_schema()::regnamespace"
    ).fetchall()
    return {
        name: HnswBuild(*(int(option.partition("=")[2]) for option in options))
        for name, options in rows
    }


@pytest.fixture
def outgrown(conn: psycopg.Connection, monkeypatch: pytest.MonkeyPatch) -> psycopg.Connection:
    """A partition whose index was built over few rows, and which has many now."""
    monkeypatch.setattr(vector_indexes, "HNSW_LARGE_FROM", 100)
    create_schema(conn, 3)
    write_many(conn, 3, "issues", 50)
    build_vector_indexes(conn)
    assert graphs(conn) == {INDEX: HNSW}
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
        " AND schemaname = current_schema()"
    ).fetchall()
    assert len(definitions) == 2
    assert all("hnsw (embedding vector_cosine_ops)" in row[0] for row in definitions)
    write_many(conn, 3, "documentation")
    assert build_vector_indexes(conn) == ["document_chunks_documentation"]


def test_many_rows_get_the_large_graph_and_what_was_asked_for_is_built(
    conn: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hnsw_build(0) == hnsw_build(4_999) == HNSW
    assert hnsw_build(5_000) == HNSW_LARGE
    monkeypatch.setattr(vector_indexes, "HNSW_LARGE_FROM", 100)
    create_schema(conn, 3)
    write_many(conn, 3, "issues", 100)
    write_many(conn, 3, "documentation", 99)
    build_vector_indexes(conn)
    assert graphs(conn) == {INDEX: HNSW_LARGE, "document_chunks_documentation_embedding_hnsw": HNSW}
    write_many(conn, 3, "my own", 100)
    build_vector_indexes(conn, m=40)
    assert graphs(conn)["document_chunks_default_embedding_hnsw"] == HnswBuild(40, 80)


def test_a_partition_that_has_outgrown_its_graph_gets_a_large_one_once(
    outgrown: psycopg.Connection,
) -> None:
    assert build_vector_indexes(outgrown, m=16) == []
    assert graphs(outgrown) == {INDEX: HNSW}, "who names a graph leaves those that are there"
    with outgrown.transaction():
        assert build_vector_indexes(outgrown) == [], "its locks would last as long"
    assert build_vector_indexes(outgrown) == ["document_chunks_issues"]
    assert graphs(outgrown) == {INDEX: HNSW_LARGE}
    assert build_vector_indexes(outgrown) == []
    outgrown.execute(f"DROP INDEX {INDEX}")
    build_vector_indexes(outgrown, m=5, ef_construction=10)
    assert build_vector_indexes(outgrown) == []
    assert graphs(outgrown) == {INDEX: HnswBuild(5, 10)}, "which somebody chose"


def test_an_index_in_use_stays_until_the_next_time(
    outgrown: psycopg.Connection, database: OwnSchema
) -> None:
    with connect(database.url) as reader:
        reader.execute("SELECT count(*) FROM document_chunks")  # and its transaction goes on
        assert build_vector_indexes(outgrown) == []
        assert graphs(outgrown) == {INDEX: HNSW}
        assert len(search(outgrown, [1.0, 2.0, 3.0], Query(top_k=10, threshold=-1))) == 10
    assert build_vector_indexes(outgrown) == ["document_chunks_issues"]
    assert graphs(outgrown) == {INDEX: HNSW_LARGE}


def test_one_who_has_written_and_one_who_replaces_do_not_wait_for_each_other(
    outgrown: psycopg.Connection, database: OwnSchema
) -> None:
    with connect(database.url) as writer:
        write_many(writer, 3, "issues", 210)
        writer.execute("SELECT 1")
        writer.execute("UPDATE document_chunks_issues SET name = 'B'")  # locks the table
        assert build_vector_indexes(outgrown) == []
        assert build_vector_indexes(writer) == []
    assert build_vector_indexes(outgrown) == ["document_chunks_issues"]


def test_an_index_of_another_collection_is_left_alone(
    outgrown: psycopg.Connection, worker_database: FreshDatabase
) -> None:
    with own_schema(worker_database) as mine, mine.connect() as other:
        create_schema(other, 3)
        write_many(other, 3, "issues", 50)
        build_vector_indexes(other)
        assert build_vector_indexes(outgrown) == ["document_chunks_issues"]
        assert (graphs(outgrown), graphs(other)) == ({INDEX: HNSW_LARGE}, {INDEX: HNSW})


@pytest.mark.parametrize("graph", [{"m": 0}, {"m": 101}, {"m": 40, "ef_construction": 64}])
def test_a_graph_that_pgvector_cannot_build_is_refused(
    conn: psycopg.Connection, graph: dict[str, int]
) -> None:
    with pytest.raises(InputError, match=f"there is no graph of m {graph['m']}"):
        build_vector_indexes(conn, **graph)


def test_four_at_once_replace_an_index_once(
    outgrown: psycopg.Connection, database: OwnSchema
) -> None:
    def build(_: int) -> list[str]:
        with connect(database.url, autocommit=True) as own:
            return build_vector_indexes(own)

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(build, range(4))) == [[], [], [], ["document_chunks_issues"]]
    assert graphs(outgrown) == {INDEX: HNSW_LARGE}
