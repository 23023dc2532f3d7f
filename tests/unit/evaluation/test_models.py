"""Other models, measured on one's own questions: tiny ones, made on the spot."""

import json
from pathlib import Path

import numpy as np
import pytest

from course_lib.embedder import EmbeddingClient
from tests.blackbox.course import Course
from tests.tiny_models import cross_encoder, sentence_encoder

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
def test_a_model_with_prompts_and_a_cross_encoder_are_measured(folder: Path) -> None:
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

    judge = cross_encoder(folder / "judge")
    found = json.loads(course("--json", RAG_EMBED_MODEL=str(tiny)))
    assert found["docs"]["n"] == 2 and found["docs"]["hit@10"] == 1
    assert f"hybrid + {judge}, own corpus" in course("--rerank", str(judge))
