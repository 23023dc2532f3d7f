"""What black-box tests share: one database a worker, a schema a test, one filled index a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock

from tests.blackbox.course import Course
from tests.blackbox.places import Place, new_place
from tests.blackbox.surface import fresh_database

DATA = Path(__file__).parents[2] / "data"
CORPORA = {
    "documents": ("documentation", "documents"),
    "code": ("code_pipelines", "code"),
    "manifests": ("code_manifests", "manifests"),
}
"""Folder of `data/` → the partition and the repository's name that it is ingested with."""


@pytest.fixture(scope="session")
def data() -> Path:
    """The course's own documents, code and manifests."""
    return DATA


@pytest.fixture(scope="session")
def database_url() -> Iterator[str]:
    """The one database of this worker."""
    with fresh_database("blackbox") as fresh:
        yield fresh.url


@pytest.fixture
def place(database_url: str) -> Iterator[Place]:
    """An empty index of this test's own."""
    with new_place(database_url) as made:
        yield made


@pytest.fixture(scope="module")
def shared_place(database_url: str) -> Iterator[Place]:
    """An index that the tests of one file share."""
    with new_place(database_url) as made:
        yield made


@pytest.fixture
def course(place: Place) -> Course:
    """`course`, with an empty index of this test's own."""
    return place.course


@pytest.fixture(scope="session")
def backup(tmp_path_factory: pytest.TempPathFactory, database_url: str, worker_id: str) -> Path:
    """The backup of an index over `data/`; made once, whatever number of workers there is."""
    folder = tmp_path_factory.getbasetemp()
    if worker_id != "master":
        folder = folder.parent
    file = folder / "data-backup.jsonl"
    with FileLock(f"{file}.lock"):
        if not file.exists():
            with new_place(database_url) as made:
                for name, (partition, repo) in CORPORA.items():
                    made.course(
                        *("ingest", DATA / name, "--partition", partition, "--repo", repo)
                    ).ok()
                made.course("backup", file).ok()
    return file


@pytest.fixture(scope="session")
def filled(backup: Path, database_url: str) -> Iterator[Place]:
    """An index over documents, code and manifests of `data/`, for reading only."""
    with new_place(database_url) as made:
        made.course("restore", backup).ok()
        yield made
