"""What black-box tests share: one database a worker, a schema a test, one filled index a run."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from filelock import FileLock

from tests.blackbox.course import Course, kept_vectors
from tests.blackbox.places import Place, new_place
from tests.blackbox.surface import (
    build_vector_indexes,
    connect,
    create_schema,
    find_binaries,
    fresh_database,
)

DATA = Path(__file__).parents[2] / "data"
CORPORA = {
    "documents": ("documentation", "documents"),
    "code": ("code_pipelines", "code"),
    "manifests": ("code_manifests", "manifests"),
}
"""Folder of `data/` → the partition and the repository's name that it is ingested with."""


FILLED = "filled"
"""The schema of the index over `data/`, which is the same in every database."""


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
def dump(tmp_path_factory: pytest.TempPathFactory, database_url: str, worker_id: str) -> Path:
    """The index over `data/`, by pg_dump; made once, whatever number of workers there is."""
    folder = tmp_path_factory.getbasetemp()
    if worker_id != "master":
        folder = folder.parent
    file = folder / "data.dump"
    with FileLock(f"{file}.lock"):
        if not file.exists():
            with new_place(database_url, FILLED) as made:
                with kept_vectors():
                    for name, (partition, repo) in CORPORA.items():
                        where = ("--partition", partition, "--repo", repo)
                        made.course("ingest", DATA / name, *where).ok()
                words = ("--format=custom", f"--schema={FILLED}", f"--file={file}", database_url)
                subprocess.run([find_binaries().program("pg_dump"), *words], check=True)
    return file


@contextmanager
def filled_place(database_url: str, dump: Path) -> Iterator[Place]:
    """Fill the one schema of a database that a dump can go to."""
    with new_place(database_url, FILLED) as made:
        with connect(made.url) as conn:
            conn.execute(f"CREATE SCHEMA {FILLED}")
            create_schema(conn, 384)
        # The rows alone: the policies of a dump name the role that made it.
        words = ("--data-only", f"--dbname={database_url}", dump)
        subprocess.run([find_binaries().program("pg_restore"), *words], check=True)
        with connect(made.url, autocommit=True) as conn:
            build_vector_indexes(conn)
        yield made


@pytest.fixture(scope="session")
def filled(dump: Path, database_url: str) -> Iterator[Place]:
    """An index over documents, code and manifests of `data/`, for reading only."""
    with filled_place(database_url, dump) as made:
        yield made


@pytest.fixture(scope="module")
def filled_to_write(dump: Path) -> Iterator[Place]:
    """The same in a database of its own, for the tests of one file."""
    with fresh_database("blackbox") as fresh, filled_place(fresh.url, dump) as made:
        yield made
