"""Embeddings from a server that speaks OpenAI's protocol: a real one, on loopback."""

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from course_lib.embedder import EmbeddingClient, VectorCache
from course_lib.errors import ModelError
from course_lib.settings import settings
from tests.blackbox.language_models import Models, Reply, models, nobody, refusal

KEY = "sk-very-secret-key"
EMBEDDINGS = "/v1/embeddings"


def vector_of(text: str, dimension: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return what the server says of a text: longer than 1, as a server's may be."""
    seed = int.from_bytes(text.encode()[:6].ljust(6, b"\0"), "big")
    return np.random.default_rng(seed).normal(size=dimension).astype(np.float32)


class Vectors:
    """What the server gives when nothing else was put before it."""

    own_dimension = 1024
    change: Callable[[list[dict[str, Any]]], object] = staticmethod(lambda rows: None)

    def __call__(self, asked: dict[str, Any]) -> Reply:
        rows: list[dict[str, Any]] = []
        for index, text in enumerate(asked["input"]):
            assert text, "the real server refuses an empty text"
            found = vector_of(text, asked.get("dimensions", self.own_dimension))
            packed = base64.b64encode(found.astype("<f4").tobytes()).decode()
            is_packed = asked.get("encoding_format") == "base64"
            embedding = packed if is_packed else found.tolist()
            rows.append({"object": "embedding", "index": index, "embedding": embedding})
        rows.reverse()  # the protocol promises an index, not an order
        self.change(rows)
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        whole = {"object": "list", "data": rows, "model": asked["model"], "usage": usage}
        return Reply([json.dumps(whole).encode()])


@pytest.fixture
def vectors() -> Vectors:
    return Vectors()


@pytest.fixture
def server(vectors: Vectors) -> Iterator[Models]:
    with models({EMBEDDINGS: [vectors]}) as server:
        yield server


@pytest.fixture
def client(
    server: Models, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[EmbeddingClient]:
    """A client as the settings make one."""
    for name, value in {
        "COURSE_ROOT": str(tmp_path),
        "RAG_EMBED_BACKEND": "openai",
        "RAG_VECTOR_DIM": "1024",
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": f"{server.url}/v1",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("RAG_EMBED_MODEL", raising=False)
    settings.cache_clear()
    yield EmbeddingClient(cache=VectorCache(tmp_path / "vectors.sqlite"))
    settings.cache_clear()


def busy(status: int = 429, code: str = "rate_limit_exceeded") -> Reply:
    return refusal(status, code, f"Incorrect: {KEY}")


def failed(client: EmbeddingClient) -> ModelError:
    with pytest.raises(ModelError) as caught:
        client.encode(["text"])
    shown = f"{caught.value} {caught.value.__cause__!r} {caught.value.hint}"
    assert KEY not in shown
    return caught.value


def test_a_server_that_refuses_dimensions_is_asked_without_them_and_the_length_is_checked(
    client: EmbeddingClient, server: Models, vectors: Vectors
) -> None:
    refused = refusal(422, "unsupported_parameter", "Unsupported parameter: dimensions")
    server.replies[EMBEDDINGS].insert(0, refused)
    client.encode(["one"])
    client.encode(["two"])
    assert [asked.get("dimensions") for asked in server.bodies(EMBEDDINGS)] == [1024, None, None]
    vectors.own_dimension = 768
    error = failed(client)
    assert "the shape (1, 768), and unit vectors of (1, 1024)" in error.args[0]
    assert "RAG_VECTOR_DIM" in error.hint


def test_vectors_have_the_dimension_asked_for_unit_length_and_the_texts_order(
    client: EmbeddingClient, server: Models
) -> None:
    texts = [f"{number:02} {'word ' * (number % 7)}" for number in range(70)]
    found = client.encode([*texts, ""], batch_size=1000)[:-1]
    assert (client.model_name, client.dimension) == ("text-embedding-3-large", 1024)
    expected = np.stack([vector_of(text, 1024) for text in texts])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    bodies = server.bodies(EMBEDDINGS)
    assert [len(asked["input"]) for asked in bodies] == [32, 32, 7]
    assert {(asked["model"], asked["dimensions"]) for asked in bodies} == {
        ("text-embedding-3-large", 1024)
    }
    assert {headers["authorization"] for _, headers, _ in server.asked} == {f"Bearer {KEY}"}
    # What was encoded is not sent again.
    np.testing.assert_array_equal(client.encode(texts[:2]), found[:2])
    assert len(server.asked) == 3


def test_a_busy_server_is_asked_again(client: EmbeddingClient, server: Models) -> None:
    server.replies[EMBEDDINGS][:0] = [busy(), busy(503, "overloaded"), busy()]
    assert client.encode(["text"]).shape == (1, 1024)
    assert len(server.asked) == 4


def test_each_refusal_says_what_to_do_and_never_the_key(
    client: EmbeddingClient, server: Models
) -> None:
    for status in (429, 401, 403, 404, 400):
        server.replies[EMBEDDINGS] = [busy(status, "some_code")]
        error = failed(client)
        assert f"Error code: {status} - Incorrect: [key]" in str(error.args[0])
        assert "OPENAI_API_KEY" in error.hint


def test_a_server_that_is_not_there_is_named(
    client: EmbeddingClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("course_lib.embedder.openai_backend.RETRIES", 0)
    monkeypatch.setenv("OPENAI_BASE_URL", nobody() + "/v1")
    settings.cache_clear()
    assert "Connection error" in str(failed(EmbeddingClient()))


def test_what_is_no_vector_of_that_length_is_refused(
    client: EmbeddingClient, vectors: Vectors
) -> None:
    changes: list[tuple[Callable[[list[dict[str, Any]]], object], str]] = [
        (lambda rows: rows.pop(), "No embedding data"),
        (lambda rows: rows.append(rows[0]), "(2, 1024), and unit vectors of (1, 1024)"),
        (lambda rows: rows[0].update(embedding=[0.5] * 768), "(1, 768), and unit vectors of"),
        (lambda rows: rows[0].update(embedding=[0.0] * 1024), "and unit vectors of"),
        (lambda rows: rows[0].update(embedding=["x"] * 1024), "could not convert"),
    ]
    for change, what in changes:
        vectors.change = change
        assert what in str(failed(client))


def test_without_a_key_nothing_is_sent(
    client: EmbeddingClient, server: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "")
    settings.cache_clear()
    error = failed(EmbeddingClient())
    assert "api_key" in str(error) and "OPENAI_API_KEY" in error.hint
    assert not server.asked


def test_sbert_is_another_word_for_auto(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_EMBED_BACKEND", "sbert")
    settings.cache_clear()
    try:
        client = EmbeddingClient()
        assert client.model_name == "all-MiniLM-L6-v2"
        assert client.backend.name == EmbeddingClient(backend="auto").backend.name
    finally:
        settings.cache_clear()
