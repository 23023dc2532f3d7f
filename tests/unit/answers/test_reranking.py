"""A CrossEncoder, made on the spot, orders what was found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from course_lib.answers.reranking import rerank
from course_lib.embedder import EmbeddingClient
from course_lib.errors import ModelError
from tests.blackbox.language_models import nobody
from tests.needs import needs_torch
from tests.tiny_models import cross_encoder
from tests.unit.answers.made import make_result


@pytest.fixture(scope="module")
def cross_encoders(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Tiny CrossEncoders by their number of labels, with random weights."""
    return {labels: cross_encoder(tmp_path_factory.mktemp("cross"), labels) for labels in (1, 3)}


RESULTS = [
    make_result("cats purr", "a.md"),
    make_result("slow", "b.md", metadata={"header": "drift is"}),
    make_result("drift is slow", "c.md"),
]


@pytest.mark.long
def test_a_cross_encoder_gives_the_order(
    cross_encoders: dict[int, Path], embedder: EmbeddingClient
) -> None:
    from sentence_transformers import CrossEncoder

    model = str(cross_encoders[1])
    texts = ["cats purr", "drift is\nslow", "drift is slow"]
    scores = CrossEncoder(model, device="cpu").predict([("drift", text) for text in texts])
    assert len(set(scores.tolist())) >= 2
    found = rerank(model, embedder, "drift", RESULTS)
    expected = sorted(range(3), key=lambda at: -float(scores[at]))
    assert [one.document_name for one in found] == ["abc"[at] + ".md" for at in expected]


@pytest.mark.long
def test_what_gives_no_single_score_is_refused(
    cross_encoders: dict[int, Path], embedder: EmbeddingClient
) -> None:
    with pytest.raises(ModelError, match="no single score") as caught:
        rerank(str(cross_encoders[3]), embedder, "drift", RESULTS)
    assert "one label" in caught.value.hint


@pytest.mark.long
def test_a_folder_without_a_model_is_refused(tmp_path: Path, embedder: EmbeddingClient) -> None:
    (tmp_path / "config.json").write_text(json.dumps({}), encoding="utf-8")
    with pytest.raises(ModelError, match="could not be loaded") as caught:
        rerank(str(tmp_path), embedder, "drift", RESULTS)
    assert "RAG_RERANK_MODEL" in caught.value.hint


@needs_torch
def test_a_hub_that_does_not_answer_is_asked_once(
    embedder: EmbeddingClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", nobody())
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE",
        constants.ENDPOINT + "/{repo_id}/resolve/{revision}/{filename}",
    )  # fmt: skip
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with pytest.raises(ModelError, match="could not be loaded") as caught:
        rerank("nobody/has-this", embedder, "drift", RESULTS)
    assert "RAG_RERANK_MODEL" in caught.value.hint


def test_nothing_to_order_needs_no_model(embedder: EmbeddingClient) -> None:
    assert rerank("no/such-model", embedder, "drift", []) == []
