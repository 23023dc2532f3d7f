"""What most tests share: a database of their own, a connection to it, and the real model."""

from collections.abc import Iterator

import psycopg
import pytest

from course_lib.embedder import EmbeddingClient
from course_lib.store import connect, fresh_database
from course_lib.store.databases import FreshDatabase


@pytest.fixture
def database() -> Iterator[FreshDatabase]:
    """An empty database with pgvector, for one test."""
    with fresh_database("test") as fresh:
        yield fresh


@pytest.fixture
def conn(database: FreshDatabase) -> Iterator[psycopg.Connection]:
    """A connection to the test's own database, with autocommit."""
    with connect(database.url, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="session")
def embedder() -> EmbeddingClient:
    """The real model. The first text that is not in the cache on disk costs seconds."""
    return EmbeddingClient(cache=True)
