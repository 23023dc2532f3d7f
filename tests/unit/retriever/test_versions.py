"""Several branches of one repository: each passage comes once, and says where else it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from course_lib.answers import retrieve_context
from course_lib.embedder import EmbeddingClient
from course_lib.indexing import ingest
from course_lib.records import SearchResult
from course_lib.retriever import retrieve
from course_lib.retriever.versions import WIDEST, find_versions, named, one_of_each
from course_lib.store.databases import FreshDatabase
from tests.schemas import own_schema

BRANCHES = [f"v1.{number}" for number in range(6)]
QUESTION = "What does a cat do?"


def result(branch: str, text: str = "same", **others: Any) -> SearchResult:
    given = {"repo_slug": "docs", "name": "A", "metadata": {}, **others}
    return SearchResult(
        f"{branch}/{text}/{given}", "a.md", 0, text, 0.5, 0.5, "documentation",
        branch=branch, kind="section", **given,
    )  # fmt: skip


@pytest.fixture(scope="module")
def conn(
    embedder: EmbeddingClient,
    tmp_path_factory: pytest.TempPathFactory,
    worker_database: FreshDatabase,
) -> Iterator[psycopg.Connection]:
    """Six branches of three documents, of which one differs in the last branch."""
    folder = tmp_path_factory.mktemp("docs")
    with own_schema(worker_database) as made, made.connect() as found:
        for branch in BRANCHES:
            texts = {"cats": "A cat purrs.", "dogs": "A dog barks.", "ships": "A frigate sails."}
            if branch == BRANCHES[-1]:
                texts["dogs"] = "A dog barks at a cat."
            for name, text in texts.items():
                (folder / f"{name}.md").write_text(f"# {name}\n\n{text}\n", encoding="utf-8")
            ingest(folder, conn=found, embedder=embedder, repo="docs", branch=branch)
        yield found


def test_versions_share_all_but_their_branch() -> None:
    others = [
        result("v3", name="B"),
        result("v3", repo_slug="other"),
        result("v3", metadata={"header": "class A:"}),
        result("v3", "Same"),
    ]
    found = one_of_each([result("v10"), *others, result("v9"), result("")])
    assert [one.result for one in found] == [result("v10"), *others]
    assert found[0].also_in == ("", "v9")
    assert not any(one.also_in for one in found[1:])


def test_a_text_that_stands_twice_in_one_file_is_two_passages() -> None:
    found = one_of_each([result("v1"), result("v1"), result("v2"), result("v2")])
    assert [(one.result.branch, one.also_in) for one in found] == [("v1", ("v2",))] * 2


def test_the_branches_are_in_the_order_of_their_numbers() -> None:
    (found,) = one_of_each([result("main"), *map(result, ["v1.10", "v1.9", "v1.9-rc1", "²"])])
    assert found.also_in == ("v1.9", "v1.9-rc1", "v1.10", "²")
    assert named([f"v{number}" for number in range(30)]).endswith("v7 and 22 more")


def test_without_copies_a_search_is_asked_once_and_with_many_only_up_to_a_limit() -> None:
    asked: list[int] = []

    def different(count: int) -> list[SearchResult]:
        asked.append(count)
        return [result("v1", f"text {number}") for number in range(count)]

    assert len(find_versions(different, 5)) == 5 and asked == [5]

    def alike(count: int) -> list[SearchResult]:
        asked.append(count)
        return [result(f"v{number}") for number in range(count)]

    asked.clear()
    (one,) = find_versions(alike, 5)
    assert len(one.also_in) == WIDEST - 1 and asked == [5, 20, 80, 320, 1000]


def test_as_many_passages_come_back_as_were_asked_for(
    conn: psycopg.Connection, embedder: EmbeddingClient
) -> None:
    copies = retrieve(conn, embedder, QUESTION, top_k=3)
    assert len({one.document_name for one in copies}) == 1
    found = find_versions(lambda count: retrieve(conn, embedder, QUESTION, top_k=count), 4)
    names = [(one.result.document_name, len(one.also_in)) for one in found]
    assert sorted(names) == [("cats.md", 5), ("dogs.md", 0), ("dogs.md", 4), ("ships.md", 5)]
    last = next(one for one in found if one.also_in == () and "at a cat" in one.result.content)
    assert last.result.branch == BRANCHES[-1]


def test_a_context_is_not_filled_with_versions_of_one_passage(
    conn: psycopg.Connection, embedder: EmbeddingClient
) -> None:
    context = retrieve_context(conn, embedder, QUESTION, top_k=4, rerank_k=4)
    assert {one.path for one in context.passages} == {"cats.md", "dogs.md", "ships.md"}
    hinted = retrieve_context(conn, embedder, "What is in dogs.md?", top_k=2, hint_max_chunks=2)
    first = [one for one in hinted.passages if one.origin == "hint"]
    # The longer text holds the shorter one's beginning, not all of it.
    assert [one.path for one in first] == ["dogs.md", "dogs.md"]
    assert sorted(len(one.also_in) for one in first) == [0, 4]
