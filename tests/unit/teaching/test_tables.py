from collections.abc import Iterator
from typing import Any

import numpy as np
import psycopg
import pytest

from course_lib.teaching import Lab
from course_lib.teaching.lab.tables import explain, nearest_ids, new_table, notices_shown, seconds


@pytest.fixture(scope="module")
def conn() -> Iterator[psycopg.Connection[Any]]:
    lab = Lab("05")  # its database lives as long as it does
    with lab.connect(autocommit=True) as connection:
        yield connection


def test_a_table_is_made_anew_each_time(conn):
    for _ in range(2):
        new_table(conn, "Odd name", "id int")
        conn.execute('INSERT INTO "Odd name" VALUES (1)')
    assert conn.execute('SELECT count(*) FROM "Odd name"').fetchone() == (1,)


def test_notices_are_shown_inside_and_not_outside(conn, capsys):
    with notices_shown(conn):
        conn.execute("DROP TABLE IF EXISTS inside")
    conn.execute("DROP TABLE IF EXISTS outside")
    assert capsys.readouterr().out == 'NOTICE: table "inside" does not exist, skipping.\n'


def test_the_nearest_are_found_exactly_and_by_index(conn):
    new_table(conn, "points", "id int, embedding vector(2)")
    conn.execute("INSERT INTO points VALUES (1, '[1,0]'), (2, '[1,1]'), (3, '[0,1]')")
    conn.execute("CREATE INDEX ON points USING hnsw (embedding vector_cosine_ops)")
    queries = np.array([[1, 0.1], [0.1, 1]], dtype=np.float32)
    assert nearest_ids(conn, "points", queries, 2, exact=True) == [{1, 2}, {2, 3}]
    assert nearest_ids(conn, "points", queries, 2) == [{1, 2}, {2, 3}]
    assert conn.execute("SHOW enable_seqscan").fetchone() == ("on",)


def test_a_plan_holds_no_long_vector(conn):
    new_table(conn, "long", "embedding vector(384)")
    query = np.full(384, 0.123456, dtype=np.float32)
    plan = "\n".join(
        line for (line,) in explain(conn, "SELECT FROM long ORDER BY embedding <=> %s", query)
    )
    assert "'[…]'" in plan and "0.123456" not in plan and "actual" in plan


def test_the_stopwatch_calls_what_it_is_given():
    called = []
    assert seconds(called.append, 1) >= 0
    assert called == [1]
