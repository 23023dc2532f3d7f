"""Several partitions in one list, with the real model and a real PostgreSQL."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from course_lib.embedder import EmbeddingClient
from course_lib.errors import DatabaseError, InputError
from course_lib.indexing import ingest
from course_lib.records import Scope, SearchResult
from course_lib.retriever import retrieve, search
from course_lib.retriever.balance import (
    Weights,
    balance,
    leaning,
    learnt,
    partitions_in,
    read,
    weigh,
    words_of,
)
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
ASKED = "Which image and memory does the database get?"


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
    return retrieve(index, embedder, question, threshold=-1, rerank="maxsim", **how)


def names(results: Sequence[SearchResult]) -> list[str]:
    return [result.document_name for result in results]


def test_a_manifest_stands_before_pages_in_the_questions_words(
    index: psycopg.Connection, embedder: EmbeddingClient
) -> None:
    places = [
        names(ask(index, embedder, balanced=balanced)).index("database.yaml")
        for balanced in (False, True)
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
    assert sum(scores) == pytest.approx(1)
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
        expected = ask(index, embedder, balanced=False, **only)
        assert expected
        assert ask(index, embedder, **only) == expected
    both = iter(("code_manifests", "documentation"))
    assert ask(index, embedder, partitions=both) == ask(index, embedder)
    assert ask(index, embedder, partitions=[]) == ask(index, embedder, repo="none") == []


def test_another_models_likeness_is_not_weighed(
    index: psycopg.Connection, embedder: EmbeddingClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = ask(index, embedder, balanced=False)
    monkeypatch.setattr(embedder, "model_name", "another-model")
    assert ask(index, embedder) == plain


def test_partitions_are_named_once_each_whatever_the_connection(
    index: psycopg.Connection, database: OwnSchema
) -> None:
    assert partitions_in(index) == ["code_manifests", "documentation"]
    with connect(database.url) as empty:
        empty.row_factory = dict_row
        with pytest.raises(DatabaseError, match="no index"):
            partitions_in(empty)
        assert empty.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


# --- weights ---


def some(index: psycopg.Connection, embedder: EmbeddingClient) -> dict[str, list[SearchResult]]:
    vector = embedder.encode([ASKED])[0]
    return {name: search(index, vector, 20, -1, name) for name in partitions_in(index)}


def test_as_many_of_each_are_read_and_the_others_follow(
    index: psycopg.Connection, embedder: EmbeddingClient
) -> None:
    found = some(index, embedder)
    pieces = read(embedder, ASKED, found, maxsim_k=1)
    for several in pieces.values():
        assert [piece.likeness is not None for piece in several].count(True) == 1
        assert [piece.place for piece in several] == list(range(1, len(several) + 1))
    results = balance(embedder, ASKED, found, maxsim_k=1)
    assert {result.partition for result in results[:2]} == set(found)
    assert len(results) == sum(len(several) for several in found.values())
    scores = [result.score for result in results]
    assert scores == sorted(scores, reverse=True)
    assert sum(scores[:2]) == pytest.approx(1)


def test_what_a_question_leans_towards_comes_first(
    index: psycopg.Connection, embedder: EmbeddingClient
) -> None:
    found = some(index, embedder)
    for wanted in found:
        weights = Weights("", 1, 1, {}, {"image": {wanted: 50.0}})
        results = balance(embedder, ASKED, found, weights=weights)
        assert {result.partition for result in results[: len(found[wanted])]} == {wanted}


def test_a_leaning_by_hand() -> None:
    weights = Weights("", 2, 1, {"a": 0.5}, {"which": {"a": 1.0}, "^which": {"a": 2.0, "b": -1.0}})
    assert words_of("Which WHICH?") == {"which", "^which"}
    assert words_of("…") == set()
    assert leaning("Which one?", "a", weights) == pytest.approx(0.5 + 3 / math.sqrt(2))
    assert leaning("Which one?", "b", weights) == pytest.approx(-1 / math.sqrt(2))
    assert leaning("Is it the one which fits?", "a", weights) == pytest.approx(1.5)
    assert leaning("…", "a", weights) == 0.5
    assert weigh(0.5, 2, math.log(3), weights) == pytest.approx(0.5**2 / 2 * 3)
    assert 0 < weigh(-0.2, 1, 0, weights) == weigh(0, 1, 0, weights)


def test_the_weights_that_come_with_the_course_are_sound() -> None:
    weights = learnt()
    assert weights.likeness > 1
    assert weights.place > 0
    assert set(weights.partitions) == {"documentation", "code_manifests", "code_pipelines"}
    for word, leans in weights.words.items():
        assert words_of(word.removeprefix("^")) >= {word.removeprefix("^")}
        assert set(leans) == set(weights.partitions)
        # One word alone does not outweigh everything else.
        assert all(abs(lean) < 3 for lean in leans.values())


def test_it_cannot_read_nothing(index: psycopg.Connection, embedder: EmbeddingClient) -> None:
    with pytest.raises(InputError, match="maxsim_k is 0"):
        balance(embedder, ASKED, some(index, embedder), maxsim_k=0)
    assert balance(embedder, ASKED, {}) == []
    one = {"documentation": [replace(ask(index, embedder)[0], score=0.5)]}
    assert [result.score for result in balance(embedder, ASKED, one)] == [1.0]
