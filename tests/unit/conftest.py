"""The command line with a database of its own, and a folder for it to read."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from course_lib.store import connect, drop_schema, fresh_database
from course_lib.store.databases import FreshDatabase
from tests.unit.command_line import Course


@pytest.fixture(scope="module")
def index() -> Iterator[FreshDatabase]:
    """A database for the command lines of one file of tests."""
    with fresh_database("cli") as fresh:
        yield fresh


@pytest.fixture
def course(index: FreshDatabase) -> Course:
    """The command line, and its database without tables."""
    with connect(index.url, autocommit=True) as conn:
        drop_schema(conn)
    return Course({"DATABASE_URL": index.url})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two documents, and a file that is none."""
    folder = tmp_path / "my docs"
    folder.mkdir()
    (folder / "cats.md").write_text("# Cats\n\nA cat purrs when it is stroked.", encoding="utf-8")
    (folder / "ships.md").write_text("# Ships\n\nA frigate has three masts.", encoding="utf-8")
    (folder / "picture.md").write_bytes(b"\x89PNG\xff")
    return folder
