"""An ingest without the model: vectors from a hash, and a count of what was encoded."""

import hashlib
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import psycopg
import pytest

from course_lib.embedder import EmbeddingClient
from course_lib.embedder.vectors import unread

DIMENSION = 8


class CountingClient(EmbeddingClient):
    """Encodes by a hash of the text: equal texts have equal vectors, and it costs nothing."""

    def __init__(self, model: str = "hash", dimension: int = DIMENSION) -> None:
        super().__init__(model)
        self.numbers = dimension
        self.texts: list[str] = []
        self.was_asked_for_its_dimension = False

    @property
    def dimension(self) -> int:
        self.was_asked_for_its_dimension = True
        return self.numbers

    @property
    def max_seq_length(self) -> int:
        return 256

    @property
    def prompts(self) -> dict[str, str]:
        return {}

    def count_tokens(self, text: str) -> int:
        return len(text.split()) + 2

    def unread(self, text: str) -> str:
        return unread(text, [word.span() for word in re.finditer(r"\S+", text)], 256)

    def encode(
        self, texts: Sequence[str], batch_size: int = 32, progress: bool = False
    ) -> np.ndarray[Any, np.dtype[np.float32]]:
        self.texts.extend(texts)
        rows = np.empty((len(texts), self.numbers), np.float32)
        for row, text in zip(rows, texts, strict=True):
            seed = hashlib.sha256(f"{self.model_name} {text}".encode()).digest()
            row[:] = np.random.default_rng(list(seed)).normal(size=self.numbers)
            row /= np.linalg.norm(row)
        return rows


@pytest.fixture
def client() -> CountingClient:
    return CountingClient()


@pytest.fixture
def other_model() -> CountingClient:
    return CountingClient("another model")


@pytest.fixture
def larger_model() -> CountingClient:
    return CountingClient("a larger model", DIMENSION + 1)


def stored(conn: psycopg.Connection) -> list[tuple[Any, ...]]:
    """Return all there is but ids and times, in the order of the keys."""
    rows: list[tuple[Any, ...]] = []
    for table in ("documents", "document_chunks"):
        rows += conn.execute(
            f"SELECT '{table}', to_jsonb({table}) - ARRAY['id', 'created_at', 'updated_at'] "
            f"FROM {table} ORDER BY 2"
        ).fetchall()
    return rows


@pytest.fixture(name="stored")
def stored_fixture() -> Any:
    return stored
