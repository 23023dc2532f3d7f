"""The tables on a real PostgreSQL: made once, stored as they should be, and seen by name."""

import re
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from course_lib.errors import DatabaseError, SchemaMismatchError
from course_lib.store import connect, create_schema, drop_schema, schema
from course_lib.store.databases import FreshDatabase
from course_lib.store.models import check_model
from course_lib.store.schema import stored_dimension
from tests.schemas import OwnSchema, own_schema
from tests.unit.chunks import write, write_many


def value(conn: psycopg.Connection, query: str) -> object:
    row = conn.execute(query).fetchone()
    return row[0] if row else None


def tables(conn: psycopg.Connection) -> set[str]:
    return {
        row[0]
        for row in conn.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
        )
    }


def test_creating_it_again_changes_nothing_and_another_dimension_is_refused(
    conn: psycopg.Connection,
) -> None:
    assert stored_dimension(conn) is None
    drop_schema(conn)
    create_schema(conn, 3)
    write_many(conn, 3, "documentation")
    create_schema(conn, 3)
    with pytest.raises(SchemaMismatchError, match="3 dimensions, the model gives 4") as caught:
        create_schema(conn, 4)
    assert "RAG_EMBED_MODEL" in caught.value.hint and "RAG_COLLECTION" in caught.value.hint
    assert stored_dimension(conn) == 3
    assert value(conn, "SELECT count(*) FROM document_chunks") == 3
    drop_schema(conn)
    assert tables(conn) == set()
    create_schema(conn, 4)
    assert stored_dimension(conn) == 4


def test_four_at_once_make_one_schema(conn: psycopg.Connection, database: OwnSchema) -> None:
    def create(_: int) -> None:
        with connect(database.url) as own:
            create_schema(own, 3)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(create, range(4)))
    assert len(tables(conn)) == 14


@pytest.mark.parametrize(("dimension", "storage"), [(1747, "p"), (1751, "e")])
def test_a_vector_is_kept_in_its_row_where_it_fits_on_a_page(
    conn: psycopg.Connection, dimension: int, storage: str
) -> None:
    create_schema(conn, dimension)
    kinds = conn.execute(
        "SELECT DISTINCT attstorage FROM pg_attribute "
        "WHERE attname = 'embedding' AND attrelid::regclass::text LIKE 'document_chunks%'"
        " AND attnum > 0 AND atttypmod > 0"
        " AND attrelid IN (SELECT oid FROM pg_class WHERE relkind IN ('r', 'p'))"
    ).fetchall()
    assert kinds == [(storage,)]
    write_many(conn, dimension, "documentation")
    assert value(conn, "SELECT count(*) FROM document_chunks") == 3


def test_one_partition_is_read_without_the_others(conn: psycopg.Connection) -> None:
    create_schema(conn, 3)
    for partition, scanned in [
        ("issues", "document_chunks_issues"),
        ("own", "document_chunks_default"),
    ]:
        plan = conn.execute(
            "EXPLAIN SELECT * FROM document_chunks WHERE partition = ANY(%s)", [[partition]]
        ).fetchall()
        read = set(re.findall(r" on (document_chunks_\w+)", "\n".join(row[0] for row in plan)))
        assert read == {scanned}


def test_a_line_more_in_the_file_is_a_column_more(
    conn: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Out of the metadata, and without another line anywhere."""
    line = "    audience text GENERATED ALWAYS AS (metadata ->> 'audience') STORED,\n"
    assert line.strip() in schema.WORDS_AND_TENANTS, "the file says so at its beginning"
    more = re.sub(r"(?=    embedding +vector)", line, schema.SCHEMA)
    assert len(more) == len(schema.SCHEMA) + len(line)
    monkeypatch.setattr(schema, "SCHEMA", more)
    create_schema(conn, 3)
    write(conn, "now", custom_meta={"audience": "operators"})
    assert value(conn, "SELECT audience FROM document_chunks") == "operators"


def test_tables_of_another_version_are_refused_and_stay(
    conn: psycopg.Connection, database: OwnSchema
) -> None:
    create_schema(conn, 3)
    write_many(conn, 3, "documentation")
    conn.execute("COMMENT ON TABLE document_chunks IS 'course schema 000000000000'")

    for refused in (
        lambda: create_schema(conn, 4),
        lambda: check_model(conn, "model", 3),
    ):
        with pytest.raises(SchemaMismatchError, match="another version of the schema") as caught:
            refused()
        assert "`course db reset`" in caught.value.hint and "`course ingest`" in caught.value.hint
    assert value(conn, "SELECT count(*) FROM document_chunks") == 3
    drop_schema(conn)
    create_schema(conn, 3)


def test_comments_and_blanks_make_no_other_version(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = schema.schema_version()
    monkeypatch.setattr(schema, "SCHEMA", f"-- More.\n\n{schema.SCHEMA}\n    -- and more\n")
    assert schema.schema_version() == ours
    monkeypatch.setattr(schema, "SCHEMA", f"{schema.SCHEMA}\nDROP TABLE documents_default;")
    assert schema.schema_version() != ours


def test_dropping_leaves_a_neighbours_tables_and_functions(
    conn: psycopg.Connection, worker_database: FreshDatabase
) -> None:
    """Also where one's own were dropped, and another schema's are in sight."""
    create_schema(conn, 3)
    with own_schema(worker_database) as mine, connect(mine.url, autocommit=True) as other:
        other.execute(
            f'SET search_path = "{mine.schema}", {value(conn, "SELECT current_schema()")}'
        )
        assert stored_dimension(other) == 3
        drop_schema(other)
    write_many(conn, 3, "documentation")
    assert value(conn, "SELECT count(*) FROM document_chunks") == 3


def test_a_vector_without_a_direction_is_refused_by_the_table(conn: psycopg.Connection) -> None:
    create_schema(conn, 3)
    write_many(conn, 3, "documentation")
    with pytest.raises(psycopg.errors.CheckViolation):
        conn.execute("UPDATE document_chunks SET embedding = '[0,0,0]'")


def test_tables_in_public_are_of_an_earlier_version_and_are_dropped(
    own_database: FreshDatabase,
) -> None:
    with connect(own_database.url, autocommit=True) as conn:
        conn.execute(schema.filled(schema.SCHEMA, 3))
        assert value(conn, "SELECT to_regclass('public.document_chunks') IS NOT NULL")
        with pytest.raises(SchemaMismatchError, match="another version"):
            create_schema(conn, 3)
        drop_schema(conn)
        create_schema(conn, 3)
        assert value(conn, "SELECT to_regclass('public.document_chunks') IS NULL")


def test_a_neighbours_tables_in_public_are_not_taken_for_ours(own_database: FreshDatabase) -> None:
    with connect(own_database.url, autocommit=True) as conn:
        conn.execute(
            "CREATE TABLE public.documents (id int);"
            "CREATE TABLE public.document_chunks (id int, embedding vector(9))"
        )
        assert stored_dimension(conn) is None
        create_schema(conn, 3)
        assert stored_dimension(conn) == 3
        drop_schema(conn)
        assert value(conn, "SELECT to_regclass('public.documents') IS NOT NULL")
        assert value(conn, "SELECT to_regclass('public.document_chunks') IS NOT NULL")


def test_a_view_on_the_index_keeps_it_from_being_dropped(conn: psycopg.Connection) -> None:
    create_schema(conn, 3)
    conn.execute("CREATE TEMP VIEW texts AS SELECT content FROM document_chunks")
    with pytest.raises(DatabaseError, match="not dropped: view .*texts depends on"):
        drop_schema(conn)
    assert stored_dimension(conn) == 3


def test_a_learners_index_is_reset_by_the_learners_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """`course db reset` would drop the course's own index, and mend nothing."""
    monkeypatch.setenv("COURSE_MINE", "one:two")
    with pytest.raises(SchemaMismatchError) as caught:
        schema.check_version("course schema 000000000000")
    assert "`course mine db reset`" in caught.value.hint
