"""What the labs' helpers around a statement do, on a real database."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import psycopg
import pytest
from pgvector.psycopg import register_vector

from course_lib.embedder.vectors import Vectors
from course_lib.records import Query
from course_lib.teaching.lab.crowd import write_crowd
from course_lib.teaching.lab.searching import (
    make_visible,
    measure_index,
    measure_search,
    plan_of,
    rank_words,
    search_ten,
)


@pytest.fixture
def points(conn: psycopg.Connection) -> psycopg.Connection:
    conn.autocommit = True
    register_vector(conn)
    conn.execute("CREATE TABLE points (id int, embedding vector(2))")
    conn.execute("INSERT INTO points SELECT n, ARRAY[1, n / 100.0] FROM generate_series(1, 40) n")
    conn.execute("CREATE INDEX ON points USING hnsw (embedding vector_cosine_ops)")
    return conn


def test_ten_are_found_by_the_index_with_a_setting_and_without_it_alone(
    points: psycopg.Connection,
) -> None:
    query = np.array([1, 0])
    exact, all_pages = search_ten(points, "points", [query])
    assert exact == [{(number,) for number in range(1, 11)}]
    found, pages = search_ten(points, "points", [query, query], "hnsw.ef_search = 40")
    assert found == exact * 2 and pages != all_pages
    few, _ = search_ten(points, "points", [query], "hnsw.ef_search = 3")
    assert few[0] < exact[0], "an index with a list of three finds three"


def test_an_index_is_measured_against_an_exact_scan(points: psycopg.Connection) -> None:
    few = measure_index(points, "points", [np.array([1, 0])], "hnsw.ef_search = 3")
    enough = measure_index(points, "points", [np.array([1, 0])], "hnsw.ef_search = 40")
    assert few["recall"] == 0.3 and enough["recall"] == 1
    assert enough["share of pages"] >= few["share of pages"] >= 1, "an exact scan visits one page"


def test_a_plan_says_how_many_pages_were_visited(points: psycopg.Connection) -> None:
    plan = plan_of(points, "SELECT id FROM points WHERE id < %s", [3])
    assert plan["Node Type"] == "Seq Scan" and plan["Actual Rows"] == 2
    assert plan["Pages"] == plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] > 0
    few = plan_of(points, "SELECT id FROM points WHERE id < %s LIMIT 1", [3])
    assert (plan["Rows Removed"], few["Rows Removed"]) == (38, 0)


def test_a_crowd_starves_a_walk_and_an_iterative_scan_repairs_it(
    conn: psycopg.Connection, folder: Path
) -> None:
    random = np.random.default_rng(0)

    def encode(texts: Sequence[str]) -> Vectors:
        vectors = random.normal(size=(len(texts), 8)).astype(np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    conn.autocommit = True
    (folder / "picture.md").unlink()
    write_crowd(conn, folder, encode)
    counted = "SELECT count(*), count(*) FILTER (WHERE partition = 'issues') FROM document_chunks"
    assert conn.execute(counted).fetchone() == (12_003, 1)
    conn.execute("""
        CREATE INDEX ON document_chunks_documentation USING hnsw (embedding vector_cosine_ops);
        ANALYZE document_chunks""")
    values = Query(kind="doc-section").filters | {"query": encode(["?"])[0], "top_k": 5}
    wanted = {"one": [values], "the same twice": [values, values]}
    starved = measure_search(conn, wanted, "off", ef_search=5)
    assert starved["one"].equals(starved["the same twice"])
    assert starved["one", "rows"] < 5 and starved["one", "walks"] == 1
    assert measure_search(conn, wanted, "on")["one", "rows"] == 5
    exact = measure_search(conn, wanted, "exact")["one"]
    assert (exact["rows"], exact["recall"], exact["walks"]) == (5, 1, 0)
    assert conn.execute("SHOW hnsw.ef_search").fetchone() == ("40",)


def test_what_is_visible_and_a_questions_words_are_made_anew_each_time(
    conn: psycopg.Connection,
) -> None:
    conn.execute("CREATE TABLE document_chunks (name text, content text)")
    conn.execute("INSERT INTO document_chunks VALUES ('mill', 'The sail turns')")
    ranking = """
        SELECT 'mill.md' AS document_name, number AS chunk_index, number AS place
        FROM word JOIN visible ON search_text @@ query ORDER BY number LIMIT %(most)s"""
    for column, found in (("name", "'mill':1"), ("content", "'sail':2 'turn':3")):
        make_visible(conn, f"to_tsvector('english', {column})")
        assert conn.execute("SELECT search_text::text FROM visible").fetchall() == [(found,)]
        ranked = rank_words(conn, ranking, "turning sails", "to_tsvector('english', %s)")
        assert ranked == ([] if column == "name" else [("mill.md", 1), ("mill.md", 2)])
        words = conn.execute("SELECT number, query::text FROM word").fetchall()
        assert words == [(1, "'sail'"), (2, "'turn'")]
