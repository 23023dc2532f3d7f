"""A learner's SQL, on the real server: what PostgreSQL says of it, with its line."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from course_lib.teaching import Lab
from course_lib.teaching.checks.encoded import error_value
from course_lib.teaching.checks.statements import refused, run


@pytest.fixture(scope="module")
def lab() -> Lab:
    return Lab("01")


@pytest.fixture
def connection(lab: Lab) -> Iterator[psycopg.Connection[Any]]:
    with lab.connect(autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize(
    ("text", "params", "said"),
    [
        ("CREATE TABLE x (\n    content txt\n)", None,
         'PostgreSQL: type "txt" does not exist, in line 2: content txt'),
        ("\nCREATE TABLE x (\n    content text\n\n", None,
         "PostgreSQL: syntax error at end of input, in line 3: content text"),
        ("SELECT %(first)s::int,\n       %(second)s::int,\n       nothing\nFROM pg_class",
         {"first": 1, "second": 2},
         'PostgreSQL: column "nothing" does not exist, in line 3: nothing'),
        ("SELECT 1; ALTER TABLE pg_class_of_mine ADD x int", None,
         'PostgreSQL: relation "pg_class_of_mine" does not exist, in the text of SQL'),
    ],
)  # fmt: skip
def test_what_postgresql_says_is_told_with_the_line_that_it_means(connection, text, params, said):
    with pytest.raises(psycopg.Error) as failed:
        run(connection, text, params)
    value = error_value(failed.value)
    assert value["says"] == said
    assert "PostgreSQL accepts" in refused(value)


def test_a_row_that_a_table_refuses_is_not_blamed_on_the_text(connection):
    with pytest.raises(psycopg.DataError) as failed:
        run(connection, "SELECT '[1,2]'::vector(3), %(one)s", {"one": 1})
    assert refused(error_value(failed.value)) == refused(1) == ""


def test_a_placeholder_without_a_name_is_psycopgs_own_matter(connection):
    with pytest.raises(psycopg.ProgrammingError, match="placeholders"):
        run(connection, "SELECT %(one)s, %s", {"one": 1})
