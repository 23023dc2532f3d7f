"""Every backend gives the reference's vectors, whatever it is given."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from course_lib.embedder import EmbeddingClient
from course_lib.embedder.weights import DEFAULT_MODEL
from course_lib.loader import read_documents, split_document
from course_lib.settings import project_root
from tests.needs import needs_torch

LEAST_COSINE = 0.999999
ODD_TEXTS = [
    "",
    " \n\t ",
    "[CLS] [SEP] [MASK] [PAD]",
    "Crème brûlée, naïve façade, Straße, İstanbul",
    "機械学習のパイプライン",
    "🙂👩‍💻 emoji",
    "a\u200bb\u00adc\u0000d\ufffd",
    "e\u0301 combining, ﬁ ligature, \u202eright to left",
    "x" * 101 + " " + "y" * 100,
    "word " * 254,
    "word " * 255,
    "word " * 1000,
    "kubectl apply -f https://example.org/a_b-c.yaml # 3.14e-10",
]


def passages() -> list[str]:
    """Chunks of the course's documents."""
    pages = read_documents(project_root() / "data" / "documents")
    return [chunk.content for page in pages for chunk in split_document(page)]


def questions() -> list[str]:
    """Questions about these documents."""
    file = project_root() / "data" / "questions" / "documents.jsonl"
    return [json.loads(line)["question"] for line in file.read_text(encoding="utf-8").splitlines()]


def cosines(left: Any, right: Any) -> Any:
    return (left * right).sum(axis=1)


def ten_best(asked: Any, found: Any) -> Any:
    return np.argsort(-(asked @ found.T), axis=1, kind="stable")[:, :10]


# --- against the reference ---


@pytest.mark.long
def test_vectors_and_rankings_are_the_references(client: EmbeddingClient, reference: Any) -> None:
    texts, asked = passages(), questions()
    assert len(texts) > 100 and len(asked) > 50
    expected, expected_asked, odd = (
        reference.encode(some, normalize_embeddings=True) for some in (texts, asked, ODD_TEXTS)
    )
    found, found_asked = client.encode(texts), client.encode(asked)
    assert cosines(found, expected).min() > LEAST_COSINE
    assert cosines(found_asked, expected_asked).min() > LEAST_COSINE
    assert cosines(client.encode(ODD_TEXTS), odd).min() > LEAST_COSINE
    pairs = zip(ten_best(found_asked, found), ten_best(expected_asked, expected), strict=True)
    assert np.mean([np.isin(mine, theirs).mean() for mine, theirs in pairs]) >= 0.999


@pytest.mark.long
def test_word_pieces_are_those_of_sentence_transformers(client_of: Any, reference: Any) -> None:
    texts = [*ODD_TEXTS, *passages()]
    tokenizer = reference.tokenizer
    expected = [tokenizer(text, truncation=True, max_length=256)["input_ids"] for text in texts]
    openvino, torch = client_of("openvino").backend, client_of("torch").backend
    assert openvino.prepare(texts) == expected
    assert [openvino.offsets(text) for text in texts] == [torch.offsets(text) for text in texts]


# --- by themselves ---


def test_vectors_have_length_1_and_tell_texts_apart(client: EmbeddingClient) -> None:
    found = client.encode([*ODD_TEXTS, *passages()[:4]])
    assert found.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    asked = client.encode(["How is a feature computed for training and serving?", "cats purr"])
    near = client.encode(["one definition of a feature for training and serving", "a purring cat"])
    assert (asked @ near.T).argmax(axis=1).tolist() == [0, 1]


def test_empty_strings_and_no_strings_are_encoded(client: EmbeddingClient) -> None:
    assert client.encode([]).shape == (0, 384)
    two = client.encode(["", ""])
    assert np.isfinite(two).all()
    np.testing.assert_allclose(two[0], two[1], atol=1e-6)


def test_a_huge_string_is_read_to_the_256th_word_piece(client: EmbeddingClient) -> None:
    huge = "retrieval " * 5_000
    vectors = client.encode([huge, "retrieval " * 254, "x" * 50_000, "?" * 50_000])
    assert np.isfinite(vectors).all()
    assert vectors[0] @ vectors[1] > LEAST_COSINE
    assert client.count_tokens(huge) == 5_002
    assert client.unread(huge) == "retrieval " * (5_000 - 254)
    assert client.unread("retrieval " * 254) == client.unread("") == ""


def test_a_lone_surrogate_counts_as_a_question_mark(client: EmbeddingClient) -> None:
    spoilt, readable = client.encode(["broken \ud800 text", "broken ? text"])
    assert spoilt @ readable > 0.99999
    assert client.count_tokens("\udfff") == 3
    assert client.unread("\udfff " * 300) == "\udfff " * (300 - 254)


def test_many_texts_come_back_in_order_in_batches_of_any_size_from_threads_at_once(
    client: EmbeddingClient,
) -> None:
    texts = [f"{number % 29} {'word ' * (number % 7)}" for number in range(120)]
    vectors = client.encode(texts, batch_size=64)
    assert vectors.shape == (120, 384)
    ones = np.concatenate([client.encode([text]) for text in texts[:29]])
    assert cosines(vectors[:29], ones).min() > LEAST_COSINE
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda size: client.encode(texts[:40], batch_size=size), (1, 3, 8)):
            assert cosines(found, vectors[:40]).min() > LEAST_COSINE


@pytest.mark.long
def test_batches_of_every_shape_run_in_two_sessions_of_one_process() -> None:
    # In a process of its own: what this looks for is a crash, not an exception.
    program = """
import numpy as np
from course_lib.embedder import EmbeddingClient
clients = [EmbeddingClient("all-MiniLM-L6-v2", backend="openvino") for _ in range(2)]
random = np.random.default_rng(7)
for turn in range(12):
    count, longest = random.integers(1, 17), random.integers(1, 200)
    texts = ["word " * random.integers(0, longest) for _ in range(count)]
    assert np.isfinite(clients[turn % 7 == 0].encode(texts)).all()
"""
    subprocess.run([sys.executable, "-c", program], check=True)


# --- which one ---


@needs_torch
def test_the_backend_is_a_setting_that_an_argument_overrides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from course_lib.settings import settings

    monkeypatch.setenv("RAG_EMBED_BACKEND", "torch")
    settings.cache_clear()
    try:
        assert EmbeddingClient(DEFAULT_MODEL).backend.name == "torch"
        assert EmbeddingClient(DEFAULT_MODEL, backend="openvino").backend.name == "openvino"
        assert EmbeddingClient(DEFAULT_MODEL, backend="auto").backend.name == "openvino"
    finally:
        monkeypatch.undo()
        settings.cache_clear()


TWO_MODELS = """
import faulthandler, signal
from course_lib.embedder import EmbeddingClient
faulthandler.enable()
first, second = (EmbeddingClient(backend="openvino") for _ in range(2))
first.encode(["one"])
second.encode(["one"])
del first
del second
signal.signal(signal.SIGINT, lambda *_: print("a signal came"))
signal.raise_signal(signal.SIGINT)
"""


def test_a_process_that_gave_up_two_models_lives_on_when_a_signal_comes() -> None:
    done = subprocess.run([sys.executable, "-c", TWO_MODELS], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("a signal came\n", 0), done.stderr


def test_bfloat16_is_taken_where_it_is_asked_for_and_the_processor_has_it() -> None:
    import openvino

    has_it = "BF16" in openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    exact = EmbeddingClient(DEFAULT_MODEL)
    rounded = EmbeddingClient(DEFAULT_MODEL, precision="bfloat16")
    assert exact.backend.name == "openvino"
    assert rounded.backend.name == ("openvino-bfloat16" if has_it else "openvino")
    texts = passages()[:8]
    assert cosines(exact.encode(texts), rounded.encode(texts)).min() > 0.9998
