"""From a question to its answers, with the real model and a real PostgreSQL."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from course_lib.embedder import EmbeddingClient
from course_lib.errors import InputError
from course_lib.indexing import ingest
from course_lib.retriever import Query, SearchResult, rerank_maxsim, retrieve
from course_lib.retriever.rerank import maxsim
from course_lib.store.databases import FreshDatabase
from tests.schemas import own_schema

TEXTS = {
    "scaling.md": "# Scaling\n\nMore replicas serve more requests at the same time.",
    "undo.md": "# Undo\n\nA release that went wrong is taken back with the command rollback.",
    "flags.md": "# Flags\n\nThe flag --zone-pinning-v2 keeps a workload where it is.",
    "cats.md": "# Cats\n\nA cat purrs when it is stroked, and sleeps the rest of the day.",
    "role.yaml": "kind: Role\nmetadata:\n  name: porter\nrules:\n"
    "- resources: [pods]\n  verbs: [get]\n",
}


@pytest.fixture(scope="module")
def index(
    tmp_path_factory: pytest.TempPathFactory,
    embedder: EmbeddingClient,
    worker_database: FreshDatabase,
) -> Iterator[psycopg.Connection]:
    folder: Path = tmp_path_factory.mktemp("texts")
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    with own_schema(worker_database) as made, made.connect() as conn:
        ingest(folder, conn=conn, embedder=embedder)
        yield conn


@pytest.fixture
def found(index: psycopg.Connection, embedder: EmbeddingClient) -> list[SearchResult]:
    return retrieve(index, embedder, Query("How do I undo a release?", threshold=-1))


def test_a_wrong_argument_is_refused(index: psycopg.Connection, embedder: EmbeddingClient) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"rerank": "cohere"}, "no rerank 'cohere'"),
        ({"maxsim_k": 0}, "maxsim_k is 0"),
    ]
    for arguments, says in wrong:
        with pytest.raises(InputError, match=says):
            retrieve(index, embedder, Query(**{"question": "what is drift?", **arguments}))


# --- reranking ---


def test_maxsim_by_hand() -> None:
    question = np.eye(3, dtype=np.float32)[:2]
    passage = np.array([[0.6, 0.8, 0], [0, 0, 1]], np.float32)
    assert maxsim(question, passage) == pytest.approx((0.6 + 0.8) / 2)
    assert maxsim(question, question) == 1
    assert maxsim(question, passage[:0]) == maxsim(question[:0], passage) == 0


def test_the_passages_are_read_under_their_headers(
    found: list[SearchResult], embedder: EmbeddingClient
) -> None:
    texts = ["spec: {}", "kind: Role name: porter\nspec: {}"]
    asked, plain, headed = embedder.encode_tokens(["Which role does the porter have?", *texts])
    assert maxsim(asked, headed) > maxsim(asked, plain)
    named = {"header": "kind: Role name: porter"}
    results = [replace(found[0], content="spec: {}", metadata=meta) for meta in ({}, {}, named)]
    # The last of three comes first by MaxSim, whose places count twice.
    # Equals stay in their order, as the two without a header do.
    results = rerank_maxsim(embedder, "Which role does the porter have?", results)
    assert [r.metadata for r in results] == [named, {}, {}]
    assert [r.score for r in results] == pytest.approx(
        [1 / 63 + 2 / 61, 1 / 61 + 2 / 62, 1 / 62 + 2 / 63]
    )


def test_only_the_first_are_reordered_and_the_others_follow(
    found: list[SearchResult], embedder: EmbeddingClient
) -> None:
    cats = next(result for result in found if result.document_name == "cats.md")
    others = [result for result in found if result not in (found[0], cats)]
    wrong = [cats, found[0], *others]
    question = "How do I undo a release?"
    assert rerank_maxsim(embedder, question, wrong)[0].document_name == "undo.md"
    some = rerank_maxsim(embedder, question, wrong, maxsim_k=3)
    assert {r.document_name for r in some[:3]} == {r.document_name for r in wrong[:3]}
    assert [r.chunk_id for r in some[3:]] == [r.chunk_id for r in wrong[3:]]
    for results in (rerank_maxsim(embedder, question, wrong), some):
        assert [r.score for r in results] == sorted((r.score for r in results), reverse=True)
        cosine = {r.chunk_id: r.similarity_score for r in found}
        assert {r.chunk_id: r.similarity_score for r in results} == cosine
