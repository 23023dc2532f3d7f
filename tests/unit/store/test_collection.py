"""Collections: several indexes in one database, and none sees another's rows."""

from collections.abc import Callable, Iterator

import numpy as np
import psycopg
import pytest
from psycopg.rows import tuple_row

from course_lib.errors import DatabaseError, InputError, SchemaMismatchError
from course_lib.records import Scope, SourceDocument
from course_lib.retriever import Query, search
from course_lib.settings import settings
from course_lib.store import (
    build_vector_indexes,
    connect,
    create_schema,
    drop_schema,
    fresh_database,
    service_url,
    write_chunks,
    write_documents,
)
from course_lib.store.databases import FreshDatabase, default_url
from course_lib.store.models import check_model
from course_lib.store.schema import stored_dimension
from tests.unit.chunks import make_chunk

Open = Callable[[str | None], psycopg.Connection]


@pytest.fixture(scope="module")
def database() -> Iterator[FreshDatabase]:
    with fresh_database("collection") as fresh:
        yield fresh


@pytest.fixture
def collection(database: FreshDatabase, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Connect to a collection as commands do."""
    monkeypatch.setenv("DATABASE_URL", database.url)
    with connect(database.url, autocommit=True) as conn:
        drop_schema(conn)
        for name in ("large", "fresh", "other", "mine", "with-hyphen"):
            conn.execute(f'DROP SCHEMA IF EXISTS "{name}" CASCADE')  # type: ignore[call-overload]

    def connection(name: str | None) -> psycopg.Connection:
        monkeypatch.setenv("RAG_COLLECTION", name or "")
        if not name:
            monkeypatch.delenv("RAG_COLLECTION")
        settings.cache_clear()
        return connect(autocommit=True)

    yield connection
    settings.cache_clear()


def fill(conn: psycopg.Connection, text: str, dimension: int, count: int = 1) -> None:
    create_schema(conn, dimension)
    chunks = [
        make_chunk(f"{text} {index}", tenant_id="local", source_path=f"{index}.md")
        for index in range(count)
    ]
    vectors = np.random.default_rng(7).normal(size=(count, dimension)).astype(np.float32)
    write_chunks(conn, chunks, vectors)
    row = SourceDocument("0.md", text, "hash", "test 1.0.0", "", f"model-{dimension}")
    write_documents(conn, Scope(tenant="local", repo="docs"), [row])


def found(conn: psycopg.Connection, dimension: int, **options: str) -> list[str]:
    results = search(conn, np.ones(dimension), Query(threshold=-1, **options))
    return [result.content for result in results]


def test_indexes_of_several_models_stand_side_by_side(collection: Open) -> None:
    for name, dimension in [(None, 3), ("large", 5), ("with-hyphen", 4)]:
        with collection(name) as conn:
            fill(conn, f"in {name}", dimension)
            assert build_vector_indexes(conn) == ["document_chunks_documentation"]
    for name, dimension in [("with-hyphen", 4), (None, 3), ("large", 5)]:
        with collection(name) as conn:
            assert stored_dimension(conn) == dimension
            assert found(conn, dimension) == [f"in {name} 0"]
            assert found(conn, dimension, question=f"in {name}") == [f"in {name} 0"]
            assert conn.execute("SELECT content_text FROM code_chunks").fetchall() == []
            check_model(conn, f"model-{dimension}", dimension)


def test_an_empty_collection_does_not_answer_from_a_neighbours_index(collection: Open) -> None:
    with collection(None) as conn:
        fill(conn, "public", 3)
    with collection("fresh") as conn:
        assert stored_dimension(conn) is None
        with pytest.raises(DatabaseError, match="there is no index"):
            found(conn, 3)
        # Looking makes nothing.
        schemas = conn.execute("SELECT nspname FROM pg_namespace").fetchall()
        assert ("fresh",) not in schemas and ("course",) in schemas
        create_schema(conn, 4)
        assert stored_dimension(conn) == 4
        assert found(conn, 4) == []


def test_the_tables_are_in_a_named_schema_and_a_program_of_its_own_finds_them(
    collection: Open, database: FreshDatabase
) -> None:
    with collection(None) as conn:
        fill(conn, "mine", 3)
        found = conn.execute("SELECT DISTINCT schemaname FROM pg_tables WHERE tablename ~ '^doc'")
        assert found.fetchall() == [("course",)]
    with psycopg.connect(database.url) as plain:
        rows = plain.execute("SELECT content FROM document_chunks ORDER BY embedding <=> '[1,1,1]'")
        assert rows.fetchall() == [("mine 0",)]


def test_the_services_reader_reads_its_collection(collection: Open) -> None:
    with collection(None) as conn:
        fill(conn, "public", 3)
    with collection("mine") as conn:
        fill(conn, "mine", 4)
    with psycopg.connect(service_url("reader", url=default_url()), row_factory=tuple_row) as conn:
        conn.execute("SELECT set_config('course.tenant', 'local', true)")
        rows = conn.execute("SELECT content FROM document_chunks").fetchall()
        words = conn.execute(
            "SELECT count(*) FROM chunks_with_words('mine', 9, null, null, null, null, null, null, "
            "null)"
        ).fetchone()
    assert rows == [("mine 0",)] and words == (1,)


def test_another_dimension_is_refused_and_a_models_long_name_is_its_name(collection: Open) -> None:
    with collection(None) as conn:
        check_model(conn, "any", 7)  # nothing is stored, nothing is compared
        fill(conn, "public", 3)
        check_model(conn, "sentence-transformers/model-3", 3)
        with pytest.raises(SchemaMismatchError, match="model-3") as caught:
            check_model(conn, "model-3", 4)
        assert "RAG_EMBED_MODEL" in caught.value.hint and "RAG_COLLECTION=" in caught.value.hint
        with pytest.raises(InputError) as wrong:
            found(conn, 4)
        assert "RAG_COLLECTION" in wrong.value.hint


def test_over_4000_dimensions_there_is_no_index_and_search_looks_at_all(collection: Open) -> None:
    with collection(None) as conn:
        fill(conn, "row", 4_001)
        assert build_vector_indexes(conn) == []
        assert found(conn, 4_001) == ["row 0"]


def test_over_2000_dimensions_the_index_is_on_halfvec_and_is_used(collection: Open) -> None:
    dimension = 3_072
    with collection(None) as conn:
        fill(conn, "row", dimension, 60)
        assert build_vector_indexes(conn) == ["document_chunks_documentation"]
        [definition] = conn.execute(
            "SELECT indexdef FROM pg_indexes WHERE indexname LIKE '%hnsw'"
        ).fetchone() or [""]
        assert "halfvec(3072)) halfvec_cosine_ops" in definition
        query = np.random.default_rng(8).normal(size=dimension)
        conn.execute("SET enable_seqscan = off")  # 60 rows are read faster than an index
        for options in ({}, {"question": "row"}):
            before = scans(conn)
            near = search(conn, query, Query(top_k=10, threshold=-1, **options))
            assert scans(conn) > before
            exact = search(conn, query, Query(top_k=10, threshold=-1, exact=True, **options))
            assert len({one.chunk_id for one in near} & {one.chunk_id for one in exact}) >= 9
            scores = {one.chunk_id: one.similarity_score for one in exact}
            for one in near:
                # Similarities are those of the vectors as they are, not of their halves.
                if one.chunk_id in scores:
                    assert one.similarity_score == pytest.approx(scores[one.chunk_id], abs=1e-9)


def scans(conn: psycopg.Connection) -> int:
    conn.execute("SELECT pg_stat_force_next_flush()")
    conn.execute("SELECT pg_stat_clear_snapshot()")
    row = conn.execute(
        "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname LIKE '%hnsw'"
    ).fetchone()
    return int(row[0]) if row else 0
