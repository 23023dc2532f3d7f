"""The command line with a database of its own, and a folder for it to read."""

from pathlib import Path

import pytest

from tests.blackbox.course import Course
from tests.schemas import OwnSchema


@pytest.fixture
def course(database: OwnSchema) -> Course:
    """The command line, and its database without tables."""
    return Course({"DATABASE_URL": database.url})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two documents, and a file that is none."""
    folder = tmp_path / "my docs"
    folder.mkdir()
    (folder / "cats.md").write_text("# Cats\n\nA cat purrs when it is stroked.", encoding="utf-8")
    (folder / "ships.md").write_text("# Ships\n\nA frigate has three masts.", encoding="utf-8")
    (folder / "picture.md").write_bytes(b"\x89PNG\xff")
    return folder
