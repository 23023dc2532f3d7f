"""From a question to its answers, with the real model and a real PostgreSQL."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from course_lib.embedder import EmbeddingClient
from course_lib.errors import InputError
from course_lib.indexing import ingest
from course_lib.retriever import Query, retrieve
from course_lib.retriever.rerank import rerank
from course_lib.store.databases import FreshDatabase
from tests.schemas import own_schema
from tests.tiny_models import cross_encoder

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


def test_a_wrong_argument_is_refused(index: psycopg.Connection, embedder: EmbeddingClient) -> None:
    with pytest.raises(InputError, match="rerank_k is 0"):
        retrieve(index, embedder, Query("what is drift?", rerank_k=0))
    with pytest.raises(InputError, match="the question is empty"):
        retrieve(index, embedder, Query(" "))


@pytest.mark.long
def test_a_cross_encoder_orders_more_than_are_wanted(
    index: psycopg.Connection, embedder: EmbeddingClient, tmp_path: Path
) -> None:
    model, question = str(cross_encoder(tmp_path, 1)), "How do I undo a release?"
    query = Query(question, threshold=-1, top_k=2)
    found = retrieve(index, embedder, replace(query, top_k=4))
    expected = rerank(model, question, found)[:2]
    assert retrieve(index, embedder, replace(query, rerank=model, rerank_k=4)) == expected
    assert expected != found[:2]
