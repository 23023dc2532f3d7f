"""The vector indexes on a real PostgreSQL: built where rows are, once."""

from concurrent.futures import ThreadPoolExecutor

import psycopg

from course_lib.store import (
    build_vector_indexes,
    connect,
    create_schema,
)
from course_lib.store.vector_indexes import HNSW, HnswBuild
from tests.schemas import OwnSchema
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


def test_who_names_a_graph_gets_it_and_leaves_the_others(
    conn: psycopg.Connection,
) -> None:
    create_schema(conn, 3)
    write_many(conn, 3, "issues")
    build_vector_indexes(conn)
    write_many(conn, 3, "documentation")
    build_vector_indexes(conn, HnswBuild(5, 10))
    own = "document_chunks_documentation_embedding_hnsw"
    assert graphs(conn) == {INDEX: HNSW, own: HnswBuild(5, 10)}


def test_one_who_has_written_does_not_wait_for_one_who_builds(
    conn: psycopg.Connection, database: OwnSchema
) -> None:
    create_schema(conn, 3)
    write_many(conn, 3, "issues")
    build_vector_indexes(conn)
    with connect(database.url) as writer:
        writer.execute("UPDATE document_chunks_issues SET name = 'B'")  # locks the table
        assert build_vector_indexes(conn) == []
        assert build_vector_indexes(writer) == []


def test_four_at_once_build_an_index_once(conn: psycopg.Connection, database: OwnSchema) -> None:
    create_schema(conn, 3)
    write_many(conn, 3, "issues")

    def build(_: int) -> list[str]:
        with connect(database.url, autocommit=True) as own:
            return build_vector_indexes(own)

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(build, range(4))) == [[], [], [], ["document_chunks_issues"]]
    assert graphs(conn) == {INDEX: HNSW}
