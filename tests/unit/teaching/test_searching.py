"""What the labs' helpers around a statement do, on a real database."""

import numpy as np
import psycopg
import pytest
from pgvector.psycopg import register_vector

from course_lib.teaching.lab.searching import (
    make_visible,
    measure_index,
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
