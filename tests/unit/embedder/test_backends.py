"""Every backend gives the reference's vectors, whatever it is given."""

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from course_lib.embedder import EmbeddingClient
from course_lib.embedder.bert_backend import BertBackend
from course_lib.embedder.trial import top_ten
from course_lib.loader import read_documents, split_document
from course_lib.settings import project_root

LEAST_COSINE = {"torch": 0.999999, "onnx-f32": 0.999999, "openvino-f32": 0.999999}
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
    "word " * 5000,
    "kubectl apply -f https://example.org/a_b-c.yaml # 3.14e-10",
]


def chunks() -> list[str]:
    """Every chunk of the course's documents."""
    documents = read_documents(project_root() / "data" / "documents")
    return [chunk.content for document in documents for chunk in split_document(document)]


def questions() -> list[str]:
    path = project_root() / "data" / "questions" / "documents.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["question"] for line in lines]


def cosines(left: Any, right: Any) -> Any:
    return (left * right).sum(axis=1)


def least_cosine(client: EmbeddingClient) -> float:
    # bfloat16 keeps eight bits of a number.
    return LEAST_COSINE.get(client.backend.name, 0.9998)


@pytest.fixture(scope="module")
def of_real_texts(reference: Any) -> tuple[Any, Any]:
    """The reference's vectors of the chunks and of the questions."""
    return (
        reference.encode(chunks(), normalize_embeddings=True),
        reference.encode(questions(), normalize_embeddings=True),
    )


def test_vectors_and_rankings_of_real_chunks_are_the_references(
    client: EmbeddingClient, of_real_texts: tuple[Any, Any]
) -> None:
    passages, asked = chunks(), questions()
    assert len(passages) > 100 and len(asked) > 50
    expected, expected_asked = of_real_texts

    found, found_asked = client.encode(passages), client.encode(asked)

    assert cosines(found, expected).min() > least_cosine(client)
    assert cosines(found_asked, expected_asked).min() > least_cosine(client)
    pairs = zip(top_ten(found_asked, found), top_ten(expected_asked, expected), strict=True)
    kept = np.mean([len(set(mine) & set(theirs)) / 10 for mine, theirs in pairs])
    assert kept >= 0.99


@pytest.mark.parametrize("backend", ["openvino", "onnx"])
def test_word_pieces_are_those_of_sentence_transformers(
    backend: str, client_of: Any, reference: Any
) -> None:
    fast = client_of(backend).backend
    texts = [*ODD_TEXTS, *chunks()]
    expected = [reference.tokenizer(t, truncation=True, max_length=256)["input_ids"] for t in texts]
    assert fast.prepare(texts) == expected


def test_odd_texts_get_the_references_vectors(client: EmbeddingClient, reference: Any) -> None:
    expected = reference.encode(ODD_TEXTS, normalize_embeddings=True)
    found = client.encode(ODD_TEXTS)
    assert cosines(found, expected).min() > least_cosine(client)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)


def test_empty_strings_and_no_strings_are_encoded(client: EmbeddingClient) -> None:
    assert client.encode([]).shape == (0, 384)
    assert client.encode_tokens([]) == []
    two = client.encode(["", ""])
    assert np.isfinite(two).all()
    np.testing.assert_allclose(two[0], two[1], atol=1e-6)
    assert client.encode_tokens([""])[0].shape == (0, 384)


def test_a_string_of_a_megabyte_is_read_to_the_256th_word_piece(client: EmbeddingClient) -> None:
    huge = "retrieval " * 100_000
    assert len(huge) == 1_000_000
    vectors = client.encode([huge, "retrieval " * 254, "x" * 1_000_000, "?" * 1_000_000])
    assert np.isfinite(vectors).all()
    assert vectors[0] @ vectors[1] > least_cosine(client)
    assert client.count_tokens(huge) == 100_002


def test_a_lone_surrogate_counts_as_a_question_mark(client: EmbeddingClient) -> None:
    spoilt, readable = client.encode(["broken \ud800 text", "broken ? text"])
    assert spoilt @ readable > 0.99999
    assert client.count_tokens("\udfff") == 3


@pytest.mark.parametrize(
    "backend", [pytest.param("torch", marks=pytest.mark.long), "openvino", "onnx"]
)
def test_ten_thousand_texts_at_once_come_back_in_order(backend: str, client_of: Any) -> None:
    client = client_of(backend)
    texts = [f"{number % 97}" for number in range(10_000)]
    vectors = client.encode(texts, batch_size=256)
    assert vectors.shape == (10_000, 384)
    few = client.encode(texts[:97])
    assert cosines(vectors, few[np.arange(10_000) % 97]).min() > least_cosine(client)


def test_batch_size_changes_no_vector_beyond_rounding(client: EmbeddingClient) -> None:
    texts = [*chunks()[:5], "short"]
    one, many = client.encode(texts, batch_size=1), client.encode(texts, batch_size=6)
    assert cosines(one, many).min() > least_cosine(client)


def test_token_vectors_belong_to_the_word_pieces_of_the_text(
    client: EmbeddingClient, client_of: Any
) -> None:
    texts = ["a feature store", "drift", "word " * 400, "the end [SEP]"]
    found = client.encode_tokens(texts)
    assert [len(rows) for rows in found] == [3, 1, 254, 3]
    expected = client_of("torch").encode_tokens(texts)
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(mine, axis=1), 1, atol=1e-5)
        assert cosines(mine, theirs).min() > 0.999


def test_sizes_are_known_without_loading_the_model(bert: Any) -> None:
    backend = BertBackend(bert, "onnx-f32")
    assert (backend.dimension, backend.max_seq_length) == (384, 256)
    assert backend._engine is None


def test_threads_are_a_setting(bert: Any, state: Any) -> None:
    openvino = BertBackend(bert, "openvino-f32", threads=1, in_memory=True).load()
    compiled = openvino._request.get_compiled_model()  # type: ignore[attr-defined]
    assert compiled.get_property("INFERENCE_NUM_THREADS") == 1
    onnx = BertBackend(bert, "onnx-f32", threads=1, in_memory=True).load()
    assert onnx._session.get_session_options().intra_op_num_threads == 1  # type: ignore[attr-defined]


def test_several_threads_may_encode_at_once(client: EmbeddingClient) -> None:
    from concurrent.futures import ThreadPoolExecutor

    texts = [f"text number {number}" for number in range(8)]
    expected = client.encode(texts)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: client.encode(texts), range(8)):
            assert cosines(found, expected).min() > least_cosine(client)


@pytest.mark.parametrize(("backend", "turns"), [("openvino", 60), ("onnx", 10)])
def test_batches_of_every_shape_run_in_two_sessions_of_one_process(
    backend: str, turns: int
) -> None:
    # In a process of its own: what this looks for is a crash, not an exception.
    program = f"""
import numpy as np
from course_lib.embedder import EmbeddingClient
clients = [EmbeddingClient("all-MiniLM-L6-v2", backend={backend!r}) for _ in range(2)]
random = np.random.default_rng(7)
for turn in range({turns}):
    count, longest = random.integers(1, 17), random.integers(1, 200)
    texts = ["word " * random.integers(0, longest) for _ in range(count)]
    assert np.isfinite(clients[turn % 7 == 0].encode(texts)).all()
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_query_imports_neither_torch_nor_transformers() -> None:
    program = """
import sys
from course_lib.embedder import EmbeddingClient
for backend in ("openvino", "onnx"):
    EmbeddingClient("all-MiniLM-L6-v2", backend=backend).encode(["q"])
heavy = {"torch", "transformers", "sentence_transformers", "openvino.tools.ovc"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True)
