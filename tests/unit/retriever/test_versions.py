"""Several branches of one repository: each passage comes once, and says where else it is."""

from __future__ import annotations

from typing import Any

from course_lib.records import SearchResult
from course_lib.retriever.versions import WIDEST, find_versions, named, one_of_each


def result(branch: str, text: str = "same", **others: Any) -> SearchResult:
    given = {"repo_slug": "docs", "name": "A", "metadata": {}, **others}
    return SearchResult(
        f"{branch}/{text}/{given}", "a.md", 0, text, 0.5, 0.5, "documentation",
        branch=branch, kind="section", **given,
    )  # fmt: skip


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
