"""Where a test keeps its rows: a schema of its own in the one database of a test run's worker."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row

from tests.blackbox.course import Course

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Place:
    """An index of a test's own: the database, the schema in it, and `course` set to both.

    Attributes
    ----------
    url
        The database; connections made with it see the schema and nobody else's tables.
    schema
        What RAG_COLLECTION names.
    course
        The command line that works in it.
    """

    url: str
    schema: str
    course: Course

    def rows(self, query: str, *values: object) -> list[dict[str, Any]]:
        """Return what a query gives, read with plain SQL and none of the course's code."""
        with psycopg.connect(self.url, row_factory=dict_row) as conn:
            return conn.execute(query.encode(), values).fetchall()

    def one(self, query: str, *values: object) -> Any:
        """Return the one value that a query gives."""
        (row,) = self.rows(query, *values)
        (value,) = row.values()
        return value


@contextmanager
def new_place(database_url: str, schema: str = "") -> Iterator[Place]:
    """Make a place, in a new schema if none is named, and remove it with all that is in it."""
    schema = schema or f"net-{next(_numbers)}"
    url = make_conninfo(database_url, options=f'-csearch_path="{schema}",public')
    course = Course({"DATABASE_URL": database_url, "RAG_COLLECTION": schema})
    try:
        yield Place(url, schema, course)
    finally:
        with psycopg.connect(database_url, autocommit=True) as conn:
            conn.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema)))
