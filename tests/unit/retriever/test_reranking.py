"""A CrossEncoder, made on the spot, orders what was found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from course_lib.errors import ModelError
from course_lib.retriever.rerank import rerank
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
def test_a_cross_encoder_gives_the_order(cross_encoders: dict[int, Path]) -> None:
    from sentence_transformers import CrossEncoder

    model = str(cross_encoders[1])
    texts = ["cats purr", "drift is\nslow", "drift is slow"]
    scores = CrossEncoder(model, device="cpu").predict([("drift", text) for text in texts])
    assert len(set(scores.tolist())) >= 2
    found = rerank(model, "drift", RESULTS)
    expected = sorted(range(3), key=lambda at: -float(scores[at]))
    assert [one.document_name for one in found] == ["abc"[at] + ".md" for at in expected]
    two = sorted(range(2), key=lambda at: -float(scores[at]))
    found = rerank(model, "drift", RESULTS, rerank_k=2)
    assert [one.document_name for one in found] == [*("ab"[at] + ".md" for at in two), "c.md"]


@pytest.mark.long
def test_what_gives_no_single_score_is_refused(cross_encoders: dict[int, Path]) -> None:
    with pytest.raises(ModelError, match="no single score") as caught:
        rerank(str(cross_encoders[3]), "drift", RESULTS)
    assert "one label" in caught.value.hint


@pytest.mark.long
def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({}), encoding="utf-8")
    with pytest.raises(ModelError, match="could not be loaded") as caught:
        rerank(str(tmp_path), "drift", RESULTS)
    assert "RAG_RERANK_MODEL" in caught.value.hint


def test_nothing_to_order_needs_no_model() -> None:
    assert rerank("no/such-model", "drift", []) == []
