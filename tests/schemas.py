"""A schema of a test's own in the one database of its worker: milliseconds, and no CREATE DATABASE.

Tests whose subject is a database, a role or an owner ask for the fixture `own_database` instead.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
from psycopg import sql

from course_lib.store import connect
from course_lib.store.collection import in_collection
from course_lib.store.databases import FreshDatabase

_numbers = itertools.count(1)


@dataclass(frozen=True)
class OwnSchema:
    """Where a test's tables are.

    Attributes
    ----------
    url
        The database, with this schema as the collection.
    name
        The database's name.
    schema
        What RAG_COLLECTION would name.
    """

    url: str
    name: str
    schema: str

    def connect(self, *, autocommit: bool = True) -> psycopg.Connection:
        """Return a connection that sees the schema and pgvector, before there are tables too."""
        return connect(self.url, autocommit=autocommit)


@contextmanager
def own_schema(database: FreshDatabase) -> Iterator[OwnSchema]:
    """Make an empty schema, and remove it with all that is in it."""
    schema = f"test_{next(_numbers)}"
    name = sql.Identifier(schema)
    with psycopg.connect(database.url, autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE SCHEMA {}").format(name))
        try:
            yield OwnSchema(in_collection(database.url, schema), database.name, schema)
        finally:
            # What a test left in a transaction would wait for the drop, and the drop for it.
            # An autovacuum at work here may be ended by no role without rights, and ends itself.
            conn.execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_locks "
                "JOIN pg_class ON relation = oid JOIN pg_stat_activity USING (pid) "
                "WHERE relnamespace = %s::regnamespace AND backend_type = 'client backend' "
                "AND pid <> pg_backend_pid()",
                [schema],
            )
            conn.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(name))
