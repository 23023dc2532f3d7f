"""One client a backend for all tests here, the reference itself, an empty state folder."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from course_lib.embedder import EmbeddingClient
from course_lib.embedder.weights import DEFAULT_MODEL, model_directory


@pytest.fixture(scope="session")
def client_of() -> Callable[[str], EmbeddingClient]:
    """The client of a backend, loaded once."""
    clients: dict[str, EmbeddingClient] = {}

    def get(backend: str) -> EmbeddingClient:
        if backend not in clients:
            clients[backend] = EmbeddingClient(DEFAULT_MODEL, backend=backend)  # type: ignore[arg-type]
        return clients[backend]

    return get


@pytest.fixture(params=["openvino", pytest.param("torch", marks=pytest.mark.long)])
def client(request: pytest.FixtureRequest, client_of: Any) -> EmbeddingClient:
    """Each backend in turn."""
    return client_of(request.param)


@pytest.fixture(scope="session")
def reference() -> Any:
    """Sentence-transformers itself, without any of our code; it takes seconds to import."""
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(model_directory(DEFAULT_MODEL)), device="cpu")


@pytest.fixture(scope="session")
def model() -> Path:
    """The folder of the course's own model."""
    found = model_directory(DEFAULT_MODEL)
    assert found is not None
    return found


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty state folder, in which nothing is converted yet."""
    folder = tmp_path / "state"
    monkeypatch.setenv("COURSE_STATE", str(folder))
    monkeypatch.delenv("COURSE_MODELS")
    return folder
