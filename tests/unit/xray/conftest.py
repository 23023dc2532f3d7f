"""What the tests of the X-Ray share: a database with its tables, and a model that counts."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import psycopg
import pytest

from course_lib.embedder import EmbeddingClient
from course_lib.xray import Package, create_tables
from course_lib.xray.descriptions import Descriptions
from tests.schemas import OwnSchema


class CountingClient(EmbeddingClient):
    """The real model, and a list of what it was given."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(cache=True)
        self.texts: list[str] = []
        if name:
            # The same weights under another name: vectors that the tables must keep apart.
            assert self.backend.dimension
            self.model_name = name

    def encode(
        self, texts: Sequence[str], batch_size: int = 32, progress: bool = False
    ) -> np.ndarray[Any, np.dtype[np.float32]]:
        self.texts.extend(texts)
        return super().encode(texts, batch_size, progress)


class Told:
    """A describer that knows what it is told, and remembers what it was asked."""

    def __init__(self, **descriptions: str) -> None:
        self.descriptions = descriptions
        self.asked: list[Package] = []

    def describe(self, packages: Sequence[Package]) -> Iterator[Descriptions]:
        self.asked.extend(packages)
        known = (one for one in packages if one.name in self.descriptions)
        yield {one: self.descriptions[one.name] for one in known}


@pytest.fixture
def bare(database: OwnSchema) -> Iterator[psycopg.Connection[Any]]:
    """A connection to a schema without the tables."""
    with database.connect() as connection:
        yield connection


@pytest.fixture
def conn(bare: psycopg.Connection[Any]) -> psycopg.Connection[Any]:
    """A connection to a database with the tables, empty."""
    create_tables(bare)
    return bare


@pytest.fixture
def client() -> CountingClient:
    return CountingClient()


@pytest.fixture
def other_model() -> CountingClient:
    return CountingClient("another model")


@pytest.fixture
def told() -> type[Told]:
    return Told


def catalogue(conn: psycopg.Connection[Any]) -> dict[str, tuple[str | None, str | None]]:
    """Return name → description and model of the shared catalogue."""
    rows = conn.execute("SELECT name, description, model FROM xray_packages ORDER BY 1").fetchall()
    return {name: (description, model) for name, description, model in rows}


def report(conn: psycopg.Connection[Any], project: str) -> dict[str, tuple[str, str | None]]:
    """Return name → version and description of a project's packages."""
    rows = conn.execute(
        "SELECT name, version, description FROM xray_report_packages WHERE project = %s ORDER BY 1",
        [project],
    ).fetchall()
    return {name: (version, description) for name, version, description in rows}


@pytest.fixture(name="catalogue")
def catalogue_fixture() -> Any:
    return catalogue


@pytest.fixture(name="report")
def report_fixture() -> Any:
    return report
