"""Several partitions in one list, with the real model and a real PostgreSQL."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from course_lib.embedder import EmbeddingClient
from course_lib.errors import DatabaseError, InputError
from course_lib.indexing import ingest
from course_lib.records import Scope, SearchResult
from course_lib.retriever import Query, retrieve
from course_lib.retriever.question import partitions_in
from course_lib.retriever.rerank import merge_maxsim
from course_lib.store import connect
from course_lib.store.databases import FreshDatabase
from tests.schemas import OwnSchema, own_schema

PAGES = {
    "database.md": "# Database\n\nThe pipelines' database can be moved: choose where it runs, "
    "which image and how much memory it gets, then restart.",
    "memory.md": "# Memory\n\nWhat memory a database needs depends on what you ask of it.",
    "image.md": "# Images\n\nWhich image a database uses is written in its manifest.",
}
MANIFESTS = {
    "database.yaml": "kind: Deployment\nmetadata:\n  name: database\nspec:\n  template:\n"
    "    spec:\n      containers:\n      - name: mysql\n        image: mysql:8\n"
    "        resources:\n          requests:\n            memory: 800Mi\n",
    "role.yaml": "kind: Role\nmetadata:\n  name: porter\nrules:\n"
    "- resources: [pods]\n  verbs: [get]\n",
}
ASKED = "Which image and memory has the database?"


@pytest.fixture(scope="module")
def index(
    tmp_path_factory: pytest.TempPathFactory,
    embedder: EmbeddingClient,
    worker_database: FreshDatabase,
) -> Iterator[psycopg.Connection]:
    with own_schema(worker_database) as made, made.connect() as conn:
        for partition, texts in (("documentation", PAGES), ("code_manifests", MANIFESTS)):
            folder: Path = tmp_path_factory.mktemp(partition)
            for name, text in texts.items():
                (folder / name).write_text(text, encoding="utf-8")
            scope = Scope(repo=partition, partition=partition)
            ingest(folder, scope, conn=conn, embedder=embedder)
        yield conn


def ask(
    index: psycopg.Connection, embedder: EmbeddingClient, question: str = ASKED, **how: Any
) -> list[SearchResult]:
    return retrieve(index, embedder, Query(question, threshold=-1, rerank="maxsim", **how))


def names(results: Sequence[SearchResult]) -> list[str]:
    return [result.document_name for result in results]


def test_a_manifest_stands_before_pages_in_the_questions_words(
    index: psycopg.Connection, embedder: EmbeddingClient
) -> None:
    places = [
        names(ask(index, embedder, one_list=one_list)).index("database.yaml")
        for one_list in (True, False)
    ]
    assert places[0] > places[1]
    how = "How do I move the database of pipelines?"
    assert names(ask(index, embedder, how))[0] in PAGES


def test_all_partitions_come_back_in_one_list_by_falling_score(
    index: psycopg.Connection, embedder: EmbeddingClient
) -> None:
    results = ask(index, embedder, top_k=100)
    assert {result.document_name for result in results} == {*PAGES, *MANIFESTS}
    assert len({result.chunk_id for result in results}) == len(results)
    scores = [result.score for result in results]
    assert scores == sorted(scores, reverse=True)
    assert 1 / 61 < scores[0] <= 2 / 61  # a place in its partition, and one among all
    assert [result.chunk_id for result in ask(index, embedder, top_k=2)] == [
        result.chunk_id for result in results[:2]
    ]


def test_with_one_partition_nothing_changes(
    index: psycopg.Connection, embedder: EmbeddingClient
) -> None:
    only: Any
    for only in (
        {"partitions": "code_manifests"},
        {"partitions": ["code_manifests", "issues"]},
        {"kind": "Role"},
        {"repo": "documentation"},
    ):
        expected = ask(index, embedder, one_list=True, **only)
        assert expected
        assert ask(index, embedder, **only) == expected
    both = iter(("code_manifests", "documentation"))
    assert ask(index, embedder, partitions=both) == ask(index, embedder)
    assert ask(index, embedder, partitions=[]) == ask(index, embedder, repo="none") == []


def test_what_is_not_read_follows_in_its_own_order(
    index: psycopg.Connection, embedder: EmbeddingClient
) -> None:
    found = [
        ask(index, embedder, partitions=name, top_k=10)
        for name in ("documentation", "code_manifests")
    ]
    results = merge_maxsim(embedder, ASKED, found, maxsim_k=1)
    assert {result.chunk_id for result in results[:2]} == {some[0].chunk_id for some in found}
    for some in found:
        behind = [one.chunk_id for one in results if one.partition == some[0].partition]
        assert behind == [one.chunk_id for one in some]
    assert merge_maxsim(embedder, ASKED, []) == []
    with pytest.raises(InputError, match="maxsim_k is 0"):
        merge_maxsim(embedder, ASKED, found, maxsim_k=0)


def test_partitions_are_named_once_each_whatever_the_connection(
    index: psycopg.Connection, database: OwnSchema
) -> None:
    assert partitions_in(index) == ["code_manifests", "documentation"]
    with connect(database.url) as empty:
        empty.row_factory = dict_row
        with pytest.raises(DatabaseError, match="no index"):
            partitions_in(empty)
        assert empty.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
