"""Search on a real PostgreSQL: equal to NumPy's own ranking, always `top_k` rows, nothing leaks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import psycopg
import pytest
from psycopg.pq import TransactionStatus

from course_lib.errors import DatabaseError, InputError
from course_lib.records import Chunk
from course_lib.retriever import SearchResult, search
from course_lib.retriever.query import find, want
from course_lib.store import (
    build_vector_indexes,
    connect,
    create_schema,
    drop_schema,
    fresh_database,
    write_chunks,
)
from course_lib.store.databases import FreshDatabase
from course_lib.store.schema import TABLES
from tests.unit.chunks import PlainRow, copy_chunks

Vectors = np.ndarray[Any, np.dtype[np.float32]]
DIMENSION = 384
COUNT = 20_000
NEAR = 8_000


@dataclass(frozen=True)
class Corpus:
    """20,000 random rows with an HNSW index, and the same in NumPy.

    The branch is `near` for those that are most similar to row 0, and `far` for the rest.
    """

    url: str
    vectors: Vectors
    tenants: list[str]
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
def corpus() -> Iterator[Corpus]:
    random = np.random.default_rng(6)
    vectors = unit(random.normal(size=(COUNT, DIMENSION)))
    kinds = ["rare" if row % 1000 == 0 else "common" for row in range(COUNT)]
    tenants = ["half" if row % 2 else "other" for row in range(COUNT)]
    branches = np.full(COUNT, "near", dtype=object)
    branches[np.argsort(-(vectors @ vectors[0]))[NEAR:]] = "far"
    with fresh_database("search") as database, connect(database.url, autocommit=True) as conn:
        create_schema(conn, DIMENSION)
        copy_chunks(
            conn,
            (
                PlainRow(tenants[row], branches[row], kinds[row], f"chunk {row}", vector)
                for row, vector in enumerate(vectors)
            ),
        )
        build_vector_indexes(conn, m=8, ef_construction=32)  # half the time of the default
        conn.execute("ANALYZE")
        yield Corpus(database.url, vectors, tenants, kinds, branches == "far")


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
    results = search(big, query, top_k=50, threshold=-1, exact=True)
    assert rows_of(results) == corpus.best(query)[:50]
    expected = corpus.vectors[rows_of(results)] @ query
    assert np.allclose([result.similarity_score for result in results], expected, atol=1e-6)


def test_the_index_finds_most_of_it(big: psycopg.Connection, corpus: Corpus) -> None:
    # Random vectors in 384 dimensions are the hardest there are for a graph, which is built with
    # random levels: a single query says little, twenty say enough.
    random = np.random.default_rng(7)
    shared = 0
    for query in random.standard_normal((20, 384), dtype=np.float32):
        found = rows_of(search(big, query, top_k=10, threshold=-1, ef_search=1000, exact=False))
        shared += len(set(found) & set(corpus.best(query)[:10]))
    assert shared >= 80


def test_a_filter_that_keeps_one_row_in_a_thousand_gives_all_it_should(
    big: psycopg.Connection, corpus: Corpus, query: Vectors
) -> None:
    rare = np.array(corpus.kinds) == "rare"
    for exact in (None, False, True):
        results = search(big, query, top_k=20, threshold=-1, kind="rare", exact=exact)
        assert len(results) == 20
        if exact is not False:
            assert rows_of(results) == corpus.best(query, rare)[:20]


@pytest.mark.parametrize("top_k", [1, 10, 200])
@pytest.mark.parametrize(
    "filters", [{}, {"tenant": "half"}, {"kind": "common"}, {"document": "7.md"}]
)
def test_as_many_rows_come_as_were_asked_for(
    big: psycopg.Connection, query: Vectors, filters: dict[str, Any], top_k: int
) -> None:
    assert len(search(big, query, top_k=top_k, threshold=-1, **filters)) == top_k


def test_where_the_walk_gives_up_the_rest_is_looked_at(
    big: psycopg.Connection, corpus: Corpus
) -> None:
    # The index hands over what is near first, what passes is the far half of the table, and that
    # is more than the exact way's limit.
    big.execute("SET hnsw.max_scan_tuples = 1000")
    big.execute("SET enable_sort = off")  # for so many rows the planner would not walk the index
    query = corpus.vectors[0]
    results = search(big, query, 3000, -1, "documentation", branch="far")
    assert rows_of(results) == corpus.best(query, corpus.is_far)[:3000]


def test_more_than_there_is_gives_all_there_is(big: psycopg.Connection, query: Vectors) -> None:
    assert len(search(big, query, top_k=100_000, threshold=-1)) == COUNT
    assert len(search(big, query, top_k=100_000, threshold=-1, kind="rare")) == COUNT // 1000


def test_the_threshold_cuts_off_and_nothing_else(
    big: psycopg.Connection, corpus: Corpus, query: Vectors
) -> None:
    similarity = np.sort(corpus.vectors @ query)[::-1]
    for wanted in (0, 1, 7, 30):
        threshold = float((similarity[wanted - 1] + similarity[wanted]) / 2) if wanted else 0.9
        results = search(big, query, top_k=30, threshold=threshold, exact=True)
        assert len(results) == wanted
        assert all(result.similarity_score >= threshold for result in results)


def test_a_row_on_the_threshold_is_in(big: psycopg.Connection, corpus: Corpus) -> None:
    assert rows_of(search(big, corpus.vectors[5], threshold=1.0)) == [5]


def scans(conn: psycopg.Connection) -> tuple[int, int]:
    """Return how often the graph was walked, and how often the table was read whole."""
    # The counts arrive with a delay, unless one asks for them.
    conn.execute("SELECT pg_stat_force_next_flush()")
    row = conn.execute(
        "SELECT idx_scan, (SELECT seq_scan FROM pg_stat_user_tables"
        " WHERE relname = 'document_chunks_documentation') FROM pg_stat_user_indexes"
        " WHERE indexrelname = 'document_chunks_documentation_embedding_hnsw'"
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
    search(big, query, exact=True)
    assert scans(big) == (walked, read + 1)


def test_how_many_rows_pass_the_filters_decides_between_index_and_rows(
    big: psycopg.Connection, query: Vectors
) -> None:
    # The same filter with another value: no plan may be kept from one to the other.
    for kind, walks in [("rare", 0), ("common", 1)] * 6:
        before, _ = scans(big)
        assert len(search(big, query, top_k=5, threshold=-1, kind=kind)) == 5
        assert scans(big)[0] == before + walks


def test_in_a_pipeline_of_the_callers_no_setting_is_left_behind(
    big: psycopg.Connection, corpus: Corpus
) -> None:
    search(big, corpus.vectors[5])  # loads the extension, whose settings are unknown before
    with big.pipeline():
        assert rows_of(search(big, corpus.vectors[5], top_k=1, ef_search=99)) == [5]
        assert big.execute("SHOW hnsw.ef_search").fetchone() == ("40",)


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
        with big.cursor() as cursor:
            wanted = want(query, 5, -1, None, None, None, None)
            steps = find(wanted, None)
            cursor.execute(next(steps), wanted.values)
            assert cursor.execute(kept).fetchone() == (candidates,)
            wanted = want(query, 5, -1, None, None, None, 77)
            cursor.execute(next(find(wanted, None)), wanted.values)
            assert cursor.execute(kept).fetchone() == ("77",)


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
            first = search(conn, query, exact=True)
            assert search(conn, query, kind="rare", threshold=-1)
            assert in_force(conn) == [("7",), ("off",), ("auto",)]
            assert conn.execute("SELECT count(*) FROM mine").fetchone() == (0,)
        assert in_force(conn) == before
        assert search(conn, query, exact=True) == first


def test_many_searches_on_one_connection_agree(big: psycopg.Connection, query: Vectors) -> None:
    # After five times PostgreSQL may keep a generic plan; psycopg prepares on the server.
    answers = [rows_of(search(big, query, top_k=7, kind="rare", threshold=-1)) for _ in range(12)]
    assert answers == [answers[0]] * 12


# --- a small table, to see each filter ---


@pytest.fixture(scope="module")
def small_database() -> Iterator[FreshDatabase]:
    with fresh_database("filters") as fresh:
        yield fresh


@pytest.fixture
def conn(small_database: FreshDatabase) -> Iterator[psycopg.Connection]:
    """Eight chunks that differ in one property each, all with the same vector."""
    with connect(small_database.url, autocommit=True) as connection:
        drop_schema(connection)
        create_schema(connection, 3)
        chunks: list[tuple[str, str, dict[str, Any]]] = [
            ("plain.md", "documentation", {}),
            ("issue.md", "issues", {}),
            ("own.md", "my own", {}),
            ("kind.md", "documentation", {"kind": "Deployment"}),
            ("repo.md", "documentation", {"repo_slug": "other"}),
            ("branch.md", "documentation", {"custom_meta": {"branch": "main"}}),
            ("namespace.md", "documentation", {"custom_meta": {"namespace": "prod"}}),
            ("tenant.md", "documentation", {"tenant_id": "other"}),
        ]
        for document, partition, fields in chunks:
            add(connection, document, [1, 0, 0], partition, **fields)
        yield connection


def add(
    conn: psycopg.Connection,
    document: str,
    vector: Any,
    partition: str = "documentation",
    **fields: Any,
) -> None:
    chunk = Chunk(
        **{
            "tenant_id": "local",
            "repo_slug": "docs",
            "root_kind": "external-source",
            "source_path": document,
            "content": document,
            "hash_inputs": ["content"],
            "parser_id": "test",
            "parser_version": "1.0.0",
            "kind": "doc-section",
            "name": "Heading",
            "line_start": 3,
            **fields,
        }
    )
    write_chunks(conn, [chunk], np.array([vector], np.float32), partition=partition)


def names(conn: psycopg.Connection, **options: Any) -> list[str]:
    return [r.document_name for r in search(conn, [1, 0, 0], **{"top_k": 20, **options})]


EVERYTHING = sorted(
    f"{name}.md"
    for name in ("plain", "issue", "own", "kind", "repo", "branch", "namespace", "tenant")
)


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({}, EVERYTHING),
        ({"kind": "Deployment"}, ["kind.md"]),
        ({"repo": "other"}, ["repo.md"]),
        ({"branch": "main"}, ["branch.md"]),
        ({"namespace": "prod"}, ["namespace.md"]),
        ({"document": "plain.md"}, ["plain.md"]),
        ({"tenant": "other"}, ["tenant.md"]),
        ({"partitions": "issues"}, ["issue.md"]),
        ({"partitions": "my own"}, ["own.md"]),
        ({"partitions": ["issues", "my own"]}, ["issue.md", "own.md"]),
        ({"partitions": {"issues"}}, ["issue.md"]),
        ({"partitions": ["unknown"]}, []),
        ({"partitions": []}, []),
        ({"branch": ""}, sorted({*EVERYTHING} - {"branch.md"})),
        ({"partitions": "documentation", "kind": "Deployment", "repo": "docs"}, ["kind.md"]),
        ({"kind": "Deployment", "repo": "other"}, []),
        ({"kind": "deployment"}, []),
    ],
)
@pytest.mark.parametrize("exact", [None, True, False])
def test_each_filter_keeps_what_it_says(
    conn: psycopg.Connection, filters: dict[str, Any], found: list[str], exact: bool | None
) -> None:
    assert names(conn, exact=exact, **filters) == found


@pytest.mark.parametrize(
    "name", ["kind", "repo", "branch", "namespace", "document", "tenant", "partitions"]
)
@pytest.mark.parametrize(
    "value",
    ["' OR 1=1 --", "'); DROP TABLE document_chunks; --", "%s %(query)s {}", "\\", '"', "$1"],
)
def test_values_are_values_and_never_sql(conn: psycopg.Connection, name: str, value: str) -> None:
    assert names(conn, **{name: value}) == []
    assert names(conn) == EVERYTHING


def test_equals_are_ordered_by_document_and_place(conn: psycopg.Connection) -> None:
    for place in (2, 10, 1):
        add(conn, f"many-{place}.md", [1, 0, 0])
    ordered = sorted([*EVERYTHING, "many-1.md", "many-2.md", "many-10.md"])
    for exact in (None, True, False):
        assert names(conn, exact=exact) == ordered
    assert names(conn, exact=True, top_k=3) == ordered[:3]


def test_a_result_says_where_it_comes_from(conn: psycopg.Connection) -> None:
    meta = {"branch": "b", "namespace": "n", "citationUrl": "u", "chunkIndex": 4, "charStart": 1}
    add(conn, "full.md", [0, 0, 2], "issues", custom_meta=meta)
    [result] = search(conn, np.array([0, 0, 1.0]), threshold=0.5)
    assert result == SearchResult(
        chunk_id=result.chunk_id,
        document_name="full.md",
        chunk_index=4,
        content="full.md",
        similarity_score=1.0,
        score=1.0,
        partition="issues",
        repo_slug="docs",
        branch="b",
        kind="doc-section",
        name="Heading",
        namespace="n",
        citation_url="u",
        metadata={"charStart": 1, "parserId": "test", "parserVersion": "1.0.0", "lineStart": 3},
    )
    assert conn.execute(
        "SELECT id::text FROM document_chunks WHERE document_name = 'full.md'"
    ).fetchone() == (result.chunk_id,)


@pytest.mark.parametrize("scale", [1e-30, 1, 1e30, 1e300])
def test_the_length_of_the_query_does_not_matter(conn: psycopg.Connection, scale: float) -> None:
    given = np.array([scale, scale, 0])
    [first, *_] = search(conn, given)
    assert first.similarity_score == pytest.approx(np.sqrt(0.5), abs=1e-6)
    assert given.tolist() == [scale, scale, 0]


def test_opposite_vectors_have_the_similarity_minus_one(conn: psycopg.Connection) -> None:
    assert search(conn, [-1, 0, 0]) == []
    assert search(conn, [-1, 0, 0], threshold=-1)[0].similarity_score == pytest.approx(-1)


def test_a_row_whose_vector_is_zero_is_never_found_and_disturbs_nothing(
    conn: psycopg.Connection,
) -> None:
    # The writer refuses such a vector; somebody else's program may not.
    add(conn, "a-zero.md", [0, 0, 1])
    conn.execute(
        "UPDATE document_chunks SET embedding = '[0,0,0]' WHERE document_name = 'a-zero.md'"
    )
    add(conn, "near.md", [1, 0.1, 0])
    for exact in (None, True, False):
        assert names(conn, threshold=-1, exact=exact) == [*EVERYTHING, "near.md"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"query_vector": [1, 0]}, "different vector dimensions 3 and 2"),
        ({"query_vector": [1, 0, 0, 0]}, "different vector dimensions 3 and 4"),
        ({"query_vector": [float("nan"), 0, 0]}, "NaN"),
        ({"query_vector": [float("inf"), 0, 0]}, "infinity"),
        ({"query_vector": [0, 0, 0]}, "zeros"),
        ({"query_vector": []}, "shape"),
        ({"query_vector": [[1, 0, 0]]}, r"shape \(1, 3\)"),
        ({"query_vector": "what is drift?"}, "is no vector: could not convert"),
        ({"query_vector": None}, "query vector"),
        ({"top_k": 0}, "top_k is 0"),
        ({"top_k": -1}, "top_k is -1"),
        ({"threshold": 1.5}, "threshold is 1.5"),
        ({"threshold": float("nan")}, "threshold is nan"),
        ({"ef_search": 0}, "ef_search is 0"),
        ({"ef_search": 1001}, "ef_search is 1001"),
        ({"kind": "nul \0"}, "NUL"),
    ],
)
@pytest.mark.parametrize("exact", [None, True])
def test_a_wrong_argument_is_refused_and_the_connection_stays_usable(
    conn: psycopg.Connection, arguments: dict[str, Any], says: str, exact: bool | None
) -> None:
    with pytest.raises(InputError, match=says):
        search(conn, **{"query_vector": [1, 0, 0], "exact": exact, **arguments})
    assert names(conn) == EVERYTHING


def test_without_tables_the_error_says_so(conn: psycopg.Connection) -> None:
    drop_schema(conn)
    with pytest.raises(DatabaseError, match="no index"):
        search(conn, [1, 0, 0])


def test_empty_tables_give_nothing(conn: psycopg.Connection) -> None:
    conn.execute("TRUNCATE document_chunks")
    assert search(conn, [1, 0, 0]) == []


def test_a_connection_that_was_ended_is_an_error_and_no_traceback(
    conn: psycopg.Connection, small_database: FreshDatabase
) -> None:
    with connect(small_database.url, autocommit=True) as victim:
        conn.execute("SELECT pg_terminate_backend(%s)", [victim.info.backend_pid])
        with pytest.raises(DatabaseError, match="broken off"):
            search(victim, [1, 0, 0])
