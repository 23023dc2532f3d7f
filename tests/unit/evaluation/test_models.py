"""Models compared on one's own questions: a tiny one, made on the spot, against the course's."""

import json
from pathlib import Path

import numpy as np
import pytest

from course_lib.embedder import EmbeddingClient
from tests.blackbox.course import Course
from tests.tiny_models import SIZE, cross_encoder, sentence_encoder

PAGES = {"slow.md": "# Drift\n\nDrift is slow.\n", "cats.md": "# Cats\n\nCats purr.\n"}
QUESTIONS = [
    {"id": "d", "question": "Is drift slow?", "kind": "docs", "gold_paths": ["slow.md"]},
    {"id": "c", "question": "Do the cats purr?", "kind": "docs", "gold_paths": ["cats.md"]},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    (folder / "pages").mkdir()
    for name, text in PAGES.items():
        (folder / "pages" / name).write_text(text, encoding="utf-8")
    lines = "".join(f"{json.dumps(one)}\n" for one in QUESTIONS)
    (folder / "questions.jsonl").write_text(lines, encoding="utf-8")
    return folder


@pytest.mark.long
def test_models_and_a_cross_encoder_are_compared(folder: Path) -> None:
    tiny = sentence_encoder(folder / "tiny", query="query: ", document="passage: ")
    client = EmbeddingClient(str(tiny))
    assert client.prompts == {"query": "query: ", "document": "passage: "}
    assert client.max_seq_length == 32
    asked, raw, plain = client.encode(["query: drift", "passage: drift", "drift"])
    np.testing.assert_allclose(client.encode_question("drift"), asked, atol=1e-6)
    assert asked @ raw < 0.999 > asked @ plain

    def course(*options: str, **settings: str) -> str:
        corpus = f"docs={folder / 'pages'}"
        return Course(settings)("eval", folder / "questions.jsonl", "-c", corpus, *options).ok()

    models = f"all-MiniLM-L6-v2,{tiny}"
    shown = " ".join(course("--models", models, "--rerank", "none").split())
    assert "all-MiniLM-L6-v2" in shown and "Against all-MiniLM-L6-v2" in shown
    assert "none" in shown and "'passage:" in shown and "'query:" in shown
    found = json.loads(course("--models", models, "--json"))
    assert [one["dimension"] for one in found.values()] == [384, SIZE]
    assert [one["max_seq_length"] for one in found.values()] == [256, 32]
    prompts = [{"query": "", "document": ""}, {"query": "query: ", "document": "passage: "}]
    assert [one["prompts"] for one in found.values()] == prompts
    assert found["all-MiniLM-L6-v2"]["found"]["docs"]["mrr@10"] == 1
    assert all(one["index_megabytes"] > 0 < one["filling_seconds"] for one in found.values())
    judge = cross_encoder(folder / "judge")
    for ordered in (course("--rerank", str(judge)), course(RAG_RERANK_MODEL=str(judge))):
        assert f"hybrid+{judge},owncorpus" in "".join(ordered.split())


def test_one_model_is_no_comparison(folder: Path) -> None:
    command = ("eval", folder / "questions.jsonl", "-c", f"docs={folder / 'pages'}")
    for options in (("--models", "a"), ("--models", "a,b", "--each")):
        assert "--models compares two models or more" in Course({})(*command, *options).error()
