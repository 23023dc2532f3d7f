"""Search on a real PostgreSQL: equal to NumPy's own ranking, by index or by rows, nothing leaks.

Filters, thresholds, tenants and refusals are in tests/blackbox/test_search.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import psycopg
import pytest
from psycopg.pq import TransactionStatus

from course_lib.errors import DatabaseError
from course_lib.retriever import Query, SearchResult, search
from course_lib.retriever.execution import own_settings
from course_lib.store import (
    build_vector_indexes,
    connect,
    create_schema,
    drop_schema,
)
from course_lib.store.databases import FreshDatabase
from course_lib.store.schema import TABLES
from course_lib.store.vector_indexes import HnswBuild
from tests.schemas import OwnSchema, own_schema
from tests.unit.chunks import PlainRow, copy_chunks, write

Vectors = np.ndarray[Any, np.dtype[np.float32]]
DIMENSION = 48
COUNT = 4_000
NEAR = 1_600


@dataclass(frozen=True)
class Corpus:
    """4,000 random rows with an HNSW index, and the same in NumPy.

    The branch is `near` for those that are most similar to row 0, and `far` for the rest.
    """

    url: str
    vectors: Vectors
    kinds: list[str]
    is_far: Any

    def best(self, query: Vectors, keep: Any = None) -> list[int]:
        """Return the numbers of the rows, the most similar first, by brute force."""
        rows = np.arange(COUNT) if keep is None else np.flatnonzero(keep)
        similarity = self.vectors[rows].astype(np.float64) @ query.astype(np.float64)
        return [int(row) for row in rows[np.argsort(-similarity, kind="stable")]]


def unit(rows: Any) -> Vectors:
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def corpus(worker_database: FreshDatabase) -> Iterator[Corpus]:
    random = np.random.default_rng(6)
    vectors = unit(random.normal(size=(COUNT, DIMENSION)))
    kinds = ["rare" if row % 200 == 0 else "common" for row in range(COUNT)]
    branches = np.full(COUNT, "near", dtype=object)
    branches[np.argsort(-(vectors @ vectors[0]))[NEAR:]] = "far"
    with own_schema(worker_database) as database, database.connect() as conn:
        create_schema(conn, DIMENSION)
        copy_chunks(
            conn,
            (
                PlainRow("ours", branches[row], kinds[row], f"chunk {row}", vector)
                for row, vector in enumerate(vectors)
            ),
        )
        build_vector_indexes(conn, HnswBuild(8, 32))  # half the time of the default
        conn.execute("ANALYZE")
        yield Corpus(database.url, vectors, kinds, branches == "far")


@pytest.fixture
def big(corpus: Corpus) -> Iterator[psycopg.Connection]:
    with connect(corpus.url, autocommit=True) as conn:
        yield conn


@pytest.fixture
def query() -> Vectors:
    return unit(np.random.default_rng(11).normal(size=DIMENSION))


def rows_of(results: list[SearchResult]) -> list[int]:
    return [result.chunk_index for result in results]


def test_the_exact_way_ranks_as_numpy_does(
    big: psycopg.Connection, corpus: Corpus, query: Vectors
) -> None:
    results = search(big, query, Query(top_k=50, threshold=-1, exact=True))
    assert rows_of(results) == corpus.best(query)[:50]
    expected = corpus.vectors[rows_of(results)] @ query
    assert np.allclose([result.similarity_score for result in results], expected, atol=1e-6)


def test_the_index_finds_most_of_it(big: psycopg.Connection, corpus: Corpus) -> None:
    # A graph is built with random levels: a single query says little, twenty say enough.
    random = np.random.default_rng(7)
    shared = 0
    for query in random.standard_normal((20, DIMENSION), dtype=np.float32):
        found = rows_of(search(big, query, Query(top_k=10, threshold=-1, ef_search=1000)))
        shared += len(set(found) & set(corpus.best(query)[:10]))
    assert shared >= 160


def test_where_the_walk_gives_up_the_rest_is_looked_at(
    big: psycopg.Connection, corpus: Corpus
) -> None:
    # The index hands over what is near first, what passes is the far half of the table, and that
    # is more than the exact way's limit.
    big.execute("SET hnsw.max_scan_tuples = 200")
    big.execute("SET enable_sort = off")  # for so many rows the planner would not walk the index
    query = corpus.vectors[0]
    results = search(
        big, query, Query(top_k=600, threshold=-1, partitions="documentation", branch="far")
    )
    assert rows_of(results) == corpus.best(query, corpus.is_far)[:600]


def scans(conn: psycopg.Connection) -> tuple[int, int]:
    """Return how often the graph was walked, and how often the table was read whole."""
    # The counts arrive with a delay, unless one asks for them.
    conn.execute("SELECT pg_stat_force_next_flush()")
    row = conn.execute(
        "SELECT idx_scan, (SELECT seq_scan FROM pg_stat_user_tables"
        " WHERE relid = 'document_chunks_documentation'::regclass) FROM pg_stat_user_indexes"
        " WHERE indexrelid = 'document_chunks_documentation_embedding_hnsw'::regclass"
    ).fetchone()
    assert row is not None
    return row[0], row[1]


def test_without_a_filter_the_index_is_walked(
    big: psycopg.Connection, corpus: Corpus, query: Vectors
) -> None:
    before = scans(big)
    search(big, query)
    walked, read = scans(big)
    assert (walked, read) == (before[0] + 1, before[1])
    search(big, query, Query(exact=True))
    assert scans(big) == (walked, read + 1)


def test_how_many_rows_pass_the_filters_decides_between_index_and_rows(
    big: psycopg.Connection, query: Vectors
) -> None:
    # The same filter with another value: no plan may be kept from one to the other.
    for kind, walks in [("rare", 0), ("common", 1)] * 3:
        before, _ = scans(big)
        assert len(search(big, query, Query(threshold=-1, kind=kind))) == 5
        assert scans(big)[0] == before + walks


@pytest.mark.parametrize(
    ("rows", "candidates"),
    [(-1, "100"), (9_999, "100"), (40_000, "200"), (250_000, "500"), (1e9, "1000")],
)
def test_a_walk_keeps_more_candidates_where_a_partition_has_more_rows(
    big: psycopg.Connection, query: Vectors, rows: float, candidates: str
) -> None:
    kept = "SELECT current_setting('hnsw.ef_search')"
    with big.transaction(force_rollback=True):
        for table in TABLES:
            # What PostgreSQL believes of a partition, which no rows need to be written for.
            believed = rows if table == "document_chunks_issues" else -1
            big.execute(
                "SELECT pg_restore_relation_stats('schemaname', current_schema()::text, "
                "'relname', %s::text, 'reltuples', %s::real)",
                [table, believed],
            )
        for ef_search, expected in ((None, candidates), (77, "77")):
            with own_settings(big, ef_search):
                assert big.execute(kept).fetchone() == (expected,)


@pytest.mark.parametrize("autocommit", [True, False])
def test_its_settings_stay_within_it(corpus: Corpus, query: Vectors, autocommit: bool) -> None:
    def in_force(conn: psycopg.Connection) -> list[Any]:
        names = ("hnsw.ef_search", "hnsw.iterative_scan", "plan_cache_mode")
        return [conn.execute("SELECT current_setting(%s)", [name]).fetchone() for name in names]

    with connect(corpus.url, autocommit=autocommit) as conn:
        search(conn, query)
        assert conn.info.transaction_status == TransactionStatus.IDLE
        before = in_force(conn)
        conn.commit()
        assert before == [("40",), ("off",), ("auto",)]
        with conn.transaction():
            conn.execute("SET LOCAL hnsw.ef_search = 7")
            conn.execute("CREATE TEMP TABLE mine (a int) ON COMMIT DROP")
            first = search(conn, query, Query(exact=True))
            assert search(conn, query, Query(kind="rare", threshold=-1))
            assert in_force(conn) == [("7",), ("off",), ("auto",)]
            assert conn.execute("SELECT count(*) FROM mine").fetchone() == (0,)
        assert in_force(conn) == before
        assert search(conn, query, Query(exact=True)) == first


# --- a small table, to see each filter ---


@pytest.fixture
def conn(database: OwnSchema) -> Iterator[psycopg.Connection]:
    with connect(database.url, autocommit=True) as connection:
        create_schema(connection, 3)
        yield connection


def add(conn: psycopg.Connection, document: str, vector: Any) -> None:
    write(conn, document, source_path=document, vector=vector)


def names(conn: psycopg.Connection, **options: Any) -> list[str]:
    return [r.document_name for r in search(conn, [1, 0, 0], Query(**{"top_k": 20, **options}))]


def test_equals_are_ordered_by_document_and_place_and_zero_vectors_never_come(
    conn: psycopg.Connection,
) -> None:
    for place in (2, 10, 1):
        add(conn, f"many-{place}.md", [1, 0, 0])
    add(conn, "near.md", [1, 0.1, 0])
    # The table refuses such a vector; one that was made by somebody else may not.
    conn.execute("ALTER TABLE document_chunks DROP CONSTRAINT document_chunks_embedding_check")
    add(conn, "a-zero.md", [0, 0, 1])
    conn.execute(
        "UPDATE document_chunks SET embedding = '[0,0,0]' WHERE document_name = 'a-zero.md'"
    )
    ordered = ["many-1.md", "many-10.md", "many-2.md", "near.md"]
    for exact in (True, False):
        assert names(conn, exact=exact, threshold=-1) == ordered
    assert search(conn, [-1, 0, 0]) == []
    assert search(conn, [-1, 0, 0], Query(threshold=-1))[-1].similarity_score == pytest.approx(-1)
    for scale in (1e-30, 1, 1e300):  # the query's length does not matter
        given = np.array([scale, scale, 0])
        assert search(conn, given)[1].similarity_score == pytest.approx(np.sqrt(0.5), abs=1e-6)
        assert given.tolist() == [scale, scale, 0]


def test_nothing_to_search_and_a_connection_that_was_ended_are_told(
    conn: psycopg.Connection, database: OwnSchema
) -> None:
    assert search(conn, [1, 0, 0]) == []
    with connect(database.url, autocommit=True) as victim:
        conn.execute("SELECT pg_terminate_backend(%s)", [victim.info.backend_pid])
        with pytest.raises(DatabaseError, match="broken off"):
            search(victim, [1, 0, 0])
    drop_schema(conn)
    with pytest.raises(DatabaseError, match="no index"):
        search(conn, [1, 0, 0])
