from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from course_lib.teaching import Lab
from course_lib.teaching.lab.tables import notices_shown


@pytest.fixture(scope="module")
def conn() -> Iterator[psycopg.Connection[Any]]:
    lab = Lab("05")  # its database lives as long as it does
    with lab.connect(autocommit=True) as connection:
        yield connection


def test_notices_are_shown_inside_and_not_outside(conn, capsys):
    with notices_shown(conn):
        conn.execute("DROP TABLE IF EXISTS inside")
    conn.execute("DROP TABLE IF EXISTS outside")
    assert capsys.readouterr().out == 'NOTICE: table "inside" does not exist, skipping.\n'
