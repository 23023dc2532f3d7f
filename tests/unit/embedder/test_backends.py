"""Every backend gives the reference's vectors, whatever it is given."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from course_lib.embedder import EmbeddingClient
from course_lib.embedder.bert_backend import BertBackend
from course_lib.embedder.trial import AGREEMENT, top_ten

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
    "word " * 1000,
    "kubectl apply -f https://example.org/a_b-c.yaml # 3.14e-10",
]


def agreement() -> dict[str, Any]:
    """Chunks of the course's documents, questions on them, and the reference's ten best."""
    return json.loads(AGREEMENT.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def cosines(left: Any, right: Any) -> Any:
    return (left * right).sum(axis=1)


def least_cosine(client: EmbeddingClient) -> float:
    # bfloat16 keeps eight bits of a number.
    return LEAST_COSINE.get(client.backend.name, 0.9998)


def kept(mine: list[list[int]], theirs: list[list[int]]) -> float:
    pairs = zip(mine, theirs, strict=True)
    return float(np.mean([len(set(one) & set(other)) / 10 for one, other in pairs]))


# --- against the reference ---


@pytest.fixture(scope="module")
def of_real_texts(reference: Any) -> tuple[Any, Any]:
    """The reference's vectors of the chunks and of the questions."""
    content = agreement()
    return tuple(
        reference.encode(content[name], normalize_embeddings=True)
        for name in ("passages", "questions")
    )  # type: ignore[return-value]


@pytest.mark.long
def test_vectors_and_rankings_are_the_references_and_so_is_the_built_in_ranking(
    client: EmbeddingClient, of_real_texts: tuple[Any, Any], reference: Any
) -> None:
    content = agreement()
    assert len(content["passages"]) > 100 and len(content["questions"]) > 50
    expected, expected_asked = of_real_texts
    theirs = top_ten(expected_asked, expected)
    # Another processor rounds otherwise: one pair in a thousand may swap at the tenth place.
    assert kept(theirs, content["top10"]) >= 0.999
    found, found_asked = client.encode(content["passages"]), client.encode(content["questions"])
    assert cosines(found, expected).min() > least_cosine(client)
    assert cosines(found_asked, expected_asked).min() > least_cosine(client)
    assert kept(top_ten(found_asked, found), theirs) >= 0.99
    odd = reference.encode(ODD_TEXTS, normalize_embeddings=True)
    assert cosines(client.encode(ODD_TEXTS), odd).min() > least_cosine(client)


@pytest.mark.long
def test_word_pieces_are_those_of_sentence_transformers(client_of: Any, reference: Any) -> None:
    texts = [*ODD_TEXTS, *agreement()["passages"]]
    expected = [reference.tokenizer(t, truncation=True, max_length=256)["input_ids"] for t in texts]
    for backend in ("openvino", "onnx"):
        assert client_of(backend).backend.prepare(texts) == expected


# --- against each other ---


def test_two_backends_agree_on_odd_texts_and_real_ones(client_of: Any) -> None:
    texts = [*ODD_TEXTS, *agreement()["passages"][:4]]
    openvino, onnx = client_of("openvino"), client_of("onnx")
    found, other = openvino.encode(texts), onnx.encode(texts)
    assert cosines(found, other).min() > least_cosine(openvino)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    # The model tells texts apart: what is asked for is nearer than anything else.
    asked = openvino.encode(["How is a feature computed for training and serving?", "cats purr"])
    near = openvino.encode(
        ["one definition of a feature for training and serving", "a purring cat"]
    )
    assert (asked @ near.T).argmax(axis=1).tolist() == [0, 1]


def test_empty_strings_and_no_strings_are_encoded(client: EmbeddingClient) -> None:
    assert client.encode([]).shape == (0, 384)
    assert client.encode_tokens([]) == []
    two = client.encode(["", ""])
    assert np.isfinite(two).all()
    np.testing.assert_allclose(two[0], two[1], atol=1e-6)
    assert client.encode_tokens([""])[0].shape == (0, 384)


def test_a_huge_string_is_read_to_the_256th_word_piece(client: EmbeddingClient) -> None:
    huge = "retrieval " * 5_000
    vectors = client.encode([huge, "retrieval " * 254, "x" * 50_000, "?" * 50_000])
    assert np.isfinite(vectors).all()
    assert vectors[0] @ vectors[1] > least_cosine(client)
    assert client.count_tokens(huge) == 5_002


def test_a_lone_surrogate_counts_as_a_question_mark(client: EmbeddingClient) -> None:
    spoilt, readable = client.encode(["broken \ud800 text", "broken ? text"])
    assert spoilt @ readable > 0.99999
    assert client.count_tokens("\udfff") == 3


def test_many_texts_come_back_in_order_in_batches_of_any_size_from_threads_at_once(
    client: EmbeddingClient,
) -> None:
    texts = [f"{number % 29} {'word ' * (number % 7)}" for number in range(120)]
    vectors = client.encode(texts, batch_size=64)
    assert vectors.shape == (120, 384)
    ones = np.concatenate([client.encode([text]) for text in texts[:29]])
    assert cosines(vectors[:29], ones).min() > least_cosine(client)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda size: client.encode(texts[:40], batch_size=size), (1, 3, 8)):
            assert cosines(found, vectors[:40]).min() > least_cosine(client)


def test_token_vectors_belong_to_the_word_pieces_of_the_text(
    client: EmbeddingClient, client_of: Any
) -> None:
    texts = ["a feature store", "drift", "word " * 400, "the end [SEP]"]
    found = client.encode_tokens(texts)
    assert [len(rows) for rows in found] == [3, 1, 254, 3]
    expected = client_of("onnx").encode_tokens(texts)
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(mine, axis=1), 1, atol=1e-5)
        assert cosines(mine, theirs).min() > 0.999


def test_sizes_are_known_without_loading_the_model(bert: Any) -> None:
    backend = BertBackend(bert, "onnx-f32")
    assert (backend.dimension, backend.max_seq_length) == (384, 256)
    assert backend._engine is None


def test_threads_are_a_setting(bert: Any, state: Any) -> None:
    onnx = BertBackend(bert, "onnx-f32", threads=1, in_memory=True).load()
    assert onnx._session.get_session_options().intra_op_num_threads == 1  # type: ignore[attr-defined]
    openvino = BertBackend(bert, "openvino-f32", threads=1, in_memory=True).load()
    compiled = openvino._request.get_compiled_model()  # type: ignore[attr-defined]
    assert compiled.get_property("INFERENCE_NUM_THREADS") == 1


@pytest.mark.long
@pytest.mark.parametrize(("backend", "turns"), [("openvino", 12), ("onnx", 5)])
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
