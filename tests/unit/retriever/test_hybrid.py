"""Hybrid search on a real PostgreSQL: words find what vectors miss, and the rules still hold."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import psycopg
import pytest

from course_lib.errors import DatabaseError
from course_lib.retriever import Query, SearchResult, search
from course_lib.retriever.query import fuse
from course_lib.retriever.statements import WITH_WORDS
from course_lib.store import (
    as_tenant,
    build_vector_indexes,
    connect,
    create_schema,
    fresh_database,
    service_url,
)
from course_lib.store.databases import FreshDatabase
from tests.schemas import OwnSchema, own_schema
from tests.unit.chunks import PlainRow, copy_chunks, write

NEAR, FAR = (1, 0, 0), (0, 1, 0)


@pytest.fixture(scope="module")
def tables(worker_database: FreshDatabase) -> Iterator[OwnSchema]:
    with own_schema(worker_database) as made, made.connect() as conn:
        create_schema(conn, 3)
        yield made


@pytest.fixture
def conn(tables: OwnSchema) -> Iterator[psycopg.Connection]:
    with connect(tables.url, autocommit=True) as connection:
        connection.execute("TRUNCATE document_chunks")
        yield connection


def ask(conn: psycopg.Connection, question: str, **options: Any) -> list[SearchResult]:
    return search(conn, NEAR, Query(question, **{"top_k": 20, **options}))


def names(conn: psycopg.Connection, question: str, **options: Any) -> list[str]:
    return [result.document_name for result in ask(conn, question, **options)]


def rrf(*places: int) -> float:
    return sum(1 / (60 + place) for place in places)


def test_both_rankings_see_the_same_rows_whatever_is_written_in_between(
    conn: psycopg.Connection, tables: OwnSchema
) -> None:
    write(conn, "the old wings", source_path="page.md")

    class Interrupted(psycopg.Cursor[Any]):
        def execute(self, query: Any, *args: Any, **options: Any) -> Any:
            if query is WITH_WORDS:
                with connect(tables.url, autocommit=True) as other:
                    write(other, "the new wings", source_path="page.md")
            return super().execute(query, *args, **options)

    conn.cursor_factory = Interrupted
    assert [result.content for result in ask(conn, "wings")] == ["the old wings"]
    conn.cursor_factory = psycopg.Cursor
    assert [result.content for result in ask(conn, "wings")] == ["the new wings"]


def test_equal_scores_are_ordered_by_document_and_place(conn: psycopg.Connection) -> None:
    # Two lists of one row each that mirror each other give equal scores.
    write(conn, "b", vector=NEAR, source_path="b.md")
    write(conn, "word", vector=FAR, source_path="a.md")
    for _ in range(3):
        [first, second] = ask(conn, "word")
        assert (first.document_name, second.document_name) == ("a.md", "b.md")
        assert (first.score, second.score) == pytest.approx((rrf(1, 2), rrf(1)))
    conn.execute("UPDATE document_chunks SET embedding = '[0,0,1]' WHERE document_name = 'a.md'")
    write(conn, "word", "word", vector=(0, 0, 1), source_path="c.md")
    places = [(r.document_name, r.chunk_index) for r in ask(conn, "word")]
    assert places == [("a.md", 0), ("c.md", 0), ("c.md", 1), ("b.md", 0)]


def test_the_mode_follows_from_the_words_unless_it_is_given(conn: psycopg.Connection) -> None:
    write(conn, "word", vector=FAR, source_path="far.md")
    write(conn, "nothing", source_path="near.md")
    assert names(conn, "word") == names(conn, "word", mode="hybrid") == ["far.md", "near.md"]
    assert names(conn, "word", mode="dense") == ["near.md", "far.md"]
    assert [r.document_name for r in search(conn, NEAR)] == ["near.md", "far.md"]
    assert names(conn, "the of and") == ["near.md", "far.md"]  # no word is found


def test_an_index_of_an_earlier_version_says_what_it_lacks(conn: psycopg.Connection) -> None:
    write(conn, "word")
    conn.execute("ALTER TABLE document_chunks DROP COLUMN search_text")
    conn.execute("DROP FUNCTION chunks_with_words, search_words")
    with pytest.raises(DatabaseError, match="earlier version") as caught:
        ask(conn, "word")
    assert "mode='dense'" in caught.value.hint and "`course db reset`" in caught.value.hint
    assert names(conn, "word", mode="dense") == ["a.md"]


# --- plans, many rows, tenants ---

MANY = 10_000


@pytest.fixture(scope="module")
def many() -> Iterator[FreshDatabase]:
    """10,000 rows of two tenants: `common` stands in all, `rare` in one in 200."""
    random = np.random.default_rng(3)
    with fresh_database("many") as fresh, connect(fresh.url, autocommit=True) as conn:
        create_schema(conn, 3)
        copy_chunks(
            conn,
            (
                PlainRow(
                    tenant,
                    "",
                    "thing",
                    f"common {tenant} {'rare' if row % 200 == 0 else 'frequent'}",
                    random.normal(size=3).astype(np.float32),
                )
                for tenant in ("ours", "theirs")
                for row in range(MANY // 2)
            ),
        )
        build_vector_indexes(conn)
        conn.execute("VACUUM ANALYZE document_chunks")
        service_url("reader", url=fresh.url)
        yield fresh


def scans(conn: psycopg.Connection) -> dict[str, int]:
    conn.execute("SELECT pg_stat_force_next_flush()")
    return dict(
        conn.execute(
            "SELECT replace(indexrelname, 'document_chunks_documentation_', ''), idx_scan "
            "FROM pg_stat_user_indexes WHERE relname = 'document_chunks_documentation' "
            "UNION ALL SELECT 'all', seq_scan FROM pg_stat_user_tables "
            "WHERE relname = 'document_chunks_documentation'"
        ).fetchall()
    )


@pytest.mark.parametrize("role", ["owner", "reader"])
def test_both_indexes_are_used_and_the_table_is_never_read_whole(
    many: FreshDatabase, role: str
) -> None:
    url = many.url if role == "owner" else service_url("reader", url=many.url)
    with connect(many.url, autocommit=True) as owner, connect(url, autocommit=True) as conn:
        before = scans(owner)
        with as_tenant(conn, "ours"):
            assert len(ask(conn, "rare", threshold=-1)) == 20
        conn.execute("SELECT pg_stat_force_next_flush()")
        after = scans(owner)
    used = {name for name, count in after.items() if count > before[name]}
    assert {"search_text_idx", "embedding_hnsw"} <= used
    assert "all" not in used


def test_no_tenant_is_shown_what_is_anothers(many: FreshDatabase) -> None:
    url = service_url("reader", url=many.url)
    with connect(url, autocommit=True) as conn:
        assert ask(conn, "rare theirs", threshold=-1) == []
        for own, other in (("ours", "theirs"), ("theirs", "ours")):
            with as_tenant(conn, own):
                for exact in (True, False):
                    results = ask(conn, f"rare {other}", threshold=-1, exact=exact)
                    assert len(results) == 20
                    assert all(f" {own} " in result.content for result in results)
                    assert ask(conn, "rare", threshold=-1, tenant=other, exact=exact) == []


def test_a_word_of_anothers_says_nothing_about_ones_own_rows(many: FreshDatabase) -> None:
    # In the other tenant's rows the word is frequent; the places must not show it.
    with connect(service_url("reader", url=many.url), autocommit=True) as conn:
        with as_tenant(conn, "ours"):
            before = [(r.chunk_id, r.score) for r in ask(conn, "rare frequent", threshold=-1)]
    with connect(many.url, autocommit=True) as owner, owner.transaction(force_rollback=True):
        owner.execute("UPDATE document_chunks SET name = 'rare' WHERE tenant_id = 'theirs'")
        after = [
            (r.chunk_id, r.score) for r in ask(owner, "rare frequent", threshold=-1, tenant="ours")
        ]
    assert after == before


def test_rankings_are_fused_by_hand() -> None:
    assert fuse(["d", "c"], ["b", "a"]) == [
        ("d", 1 / 61), ("b", 1 / 61), ("c", 1 / 62), ("a", 1 / 62)
    ]  # fmt: skip
    assert fuse(["z", "x"], iter(["y"]), ["x", "y"]) == [
        ("x", 1 / 62 + 1 / 61), ("y", 1 / 61 + 1 / 62), ("z", 1 / 61)
    ]  # fmt: skip
    assert fuse([], []) == fuse() == []
