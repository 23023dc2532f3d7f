"""One embedded server for the tests of connections and databases; a table for those of rows."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from course_lib.settings import settings
from course_lib.store import connect, create_schema
from course_lib.store.databases import FreshDatabase
from course_lib.store.server import ensure_server, remove_server
from tests.schemas import OwnSchema, own_schema

DIMENSION = 3


@pytest.fixture(scope="session")
def server_folder() -> Iterator[Path]:
    """A state folder that any account can enter, with a running server of the tests' own."""
    folder = Path(tempfile.mkdtemp(prefix="course-test-"))
    folder.chmod(0o755)
    ensure_server(folder / "state")
    yield folder / "state"
    remove_server(folder / "state")
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def embedded(server_folder: Path) -> Iterator[Path]:
    """That server, as the one which `connect()` takes, here and in processes started here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COURSE_STATE", str(server_folder))
        for name in ("DATABASE_URL", "PGPASSWORD"):
            patch.delenv(name, raising=False)
        settings.cache_clear()
        yield server_folder
    settings.cache_clear()


@pytest.fixture(scope="module")
def tables(worker_database: FreshDatabase) -> Iterator[OwnSchema]:
    """A schema with the tables, for all tests of a file."""
    with own_schema(worker_database) as made:
        with made.connect() as conn:
            create_schema(conn, DIMENSION)
        yield made


@pytest.fixture
def emptied(tables: OwnSchema) -> Iterator[psycopg.Connection]:
    """A connection to the file's tables without rows."""
    with connect(tables.url, autocommit=True) as conn:
        conn.execute("DELETE FROM document_chunks")
        conn.execute("DELETE FROM documents")
        yield conn
