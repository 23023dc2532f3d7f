"""The passages for a question, from a real index with the real model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import psycopg
import pytest

from course_lib.answers import Context, ContextOptions, retrieve_context
from course_lib.answers import context as context_module
from course_lib.embedder import EmbeddingClient
from course_lib.indexing import IngestOptions
from course_lib.records import Query
from course_lib.retriever.rerank import rerank
from course_lib.store import write_chunks
from course_lib.store.databases import FreshDatabase
from tests.tiny_models import cross_encoder
from tests.unit.answers.made import index_of
from tests.unit.chunks import make_chunk

STEPS = "\n".join(
    f"def step_{number}():\n    return 'The tide table has row {number}.'\n" for number in range(12)
)
FILES = {
    "undo.md": "# Undo\n\nA release that went wrong is taken back with the command rollback.",
    "undo_again.md": "# Undo\n\nA release that went wrong is taken back with the command rollback.",
    "back.md": "# Back\n\nTo take a wrong release back, run the command rollback at once.",
    "scaling.md": "# Scaling\n\nMore replicas serve more requests at the same time.",
    "cats.md": "# Cats\n\nA cat purrs when it is stroked, and sleeps the rest of the day.",
    "tide/steps.py": STEPS,
    "a/settings.yaml": "replicas: 2\nname: porter\n",
    "b/settings.yaml": "replicas: 7\nname: waiter\n",
}
QUESTION = "How do I take a wrong release back?"


@pytest.fixture(scope="module")
def index(
    tmp_path_factory: pytest.TempPathFactory,
    embedder: EmbeddingClient,
    worker_database: FreshDatabase,
) -> Iterator[psycopg.Connection]:
    folder = tmp_path_factory.mktemp("files")
    options = IngestOptions(chunk_size=120, chunk_overlap=0)
    with index_of(FILES, folder, embedder, worker_database, options) as conn:
        structure = [
            make_chunk(text, kind="structure", source_path="STRUCTURE.md", tenant_id="local",
                       repo_slug="documents", customMeta={"chunkIndex": place})
            for place, text in enumerate(["undo.md: taking releases back", "cats.md: on cats"])
        ]  # fmt: skip
        vectors = embedder.encode([chunk.content for chunk in structure])
        write_chunks(conn, structure, vectors)
        yield conn


OPTIONS = {field.name for field in fields(ContextOptions)}


def ask(
    index: psycopg.Connection, embedder: EmbeddingClient, question: str = QUESTION, **how: Any
) -> Context:
    given = {name: how.pop(name) for name in OPTIONS & how.keys()}
    query = Query(question, **{"top_k": 6, "threshold": -1, **how})
    return retrieve_context(index, embedder, query, ContextOptions(**given))


def paths(context: Context, *origins: str) -> list[str]:
    return [one.path for one in context.passages if one.origin in origins or not origins]


def test_what_repeats_others_comes_later(
    index: psycopg.Connection, embedder: EmbeddingClient
) -> None:
    alike = {"undo.md", "undo_again.md", "back.md"}
    same = ask(index, embedder, top_k=2, structure_max_chunks=0, diversity=0)
    assert set(paths(same)) <= alike and set(paths(same)) != {"undo.md", "undo_again.md"}
    other = ask(index, embedder, top_k=2, structure_max_chunks=0, diversity=0.9)
    assert len(set(paths(other)) & alike) == 1


def test_a_name_that_several_files_have_means_them_all_and_a_path_one(
    index: psycopg.Connection, embedder: EmbeddingClient
) -> None:
    both = ask(index, embedder, "How many replicas in settings.yaml?")
    assert set(paths(both, "hint")) == {"a/settings.yaml", "b/settings.yaml"}
    one = ask(index, embedder, "How many replicas in b/settings.yaml?")
    assert set(paths(one, "hint")) == {"b/settings.yaml"}


def test_a_name_that_too_many_files_have_means_those_that_are_found(
    index: psycopg.Connection, embedder: EmbeddingClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context_module, "MOST_FILES", 2)
    question = "In settings.yaml, who is the waiter? And cats.md?"
    found = set(paths(ask(index, embedder, question), "hint"))
    # Each name that is written gets a file before any gets a second one.
    assert len(found) == 2
    assert "cats.md" in found


def test_what_is_kept_out_is_nowhere(index: psycopg.Connection, embedder: EmbeddingClient) -> None:
    question = "What do steps.py and undo.md say about the rows of the tide table?"
    context = ask(index, embedder, question, exclude=["tide/steps.py"], top_k=6)
    assert "tide/steps.py" not in paths(context)
    assert paths(context, "hint") == ["undo.md"]
    # Its twelve pieces come first in every search, and leave no gap.
    assert len(context.passages) == 6


def test_a_threshold_is_for_what_is_searched_and_not_for_what_is_named(
    index: psycopg.Connection, embedder: EmbeddingClient
) -> None:
    context = ask(index, embedder, "cats.md, please", threshold=0.99)
    assert paths(context, "search") == []
    assert paths(context, "hint") == ["cats.md"]


@pytest.mark.long
def test_a_cross_encoder_orders_the_union(
    index: psycopg.Connection, embedder: EmbeddingClient, tmp_path: Path
) -> None:
    question = "In cats.md, how do I take a wrong release back?"
    model = str(cross_encoder(tmp_path, 1))
    context = ask(index, embedder, question, rerank=model, structure_max_chunks=0)
    assert context.reranker == model
    assert "cats.md" in paths(context, "hint") and paths(context, "search")
    results = [one.result for one in context.passages]
    assert rerank(model, question, results, rerank_k=len(results)) == results
    assert [one.index for one in context.passages] == list(range(1, len(context.passages) + 1))
