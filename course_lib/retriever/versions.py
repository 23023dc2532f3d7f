"""One passage, several versions: results go in, each passage once comes out, with where else it is.

An index may hold several branches or tags of one repository, and most of their passages are the
same in all of them. A list of the best five would be one passage five times.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass

from course_lib.records import SearchResult, embedded_text

WIDEST = 1_000
"""Results that are looked at for the sake of copies, at most."""

WIDER = 4
"""How many times as many results are looked at where copies took the places of others."""

MOST_NAMED = 8
"""Versions that are named, at most."""


@dataclass(frozen=True, slots=True)
class Found:
    """A result, and the other branches that hold the same text under the same path.

    Attributes
    ----------
    result
        The first of them in the search's order.
    also_in
        The branches of the others, as far as the search found them.
    """

    result: SearchResult
    also_in: tuple[str, ...] = ()


def one_of_each(results: Iterable[SearchResult]) -> list[Found]:
    """Return the results in their order, of each passage the first of its versions.

    Two results are versions of one passage where all but the branch is the same: tenant, partition,
    repository, path, kind, name, and every character of what was encoded. A text that is twice
    in one file is two passages.

    Examples
    --------
    >>> def result(branch, text):
    ...     return SearchResult("", "a.md", 0, text, 0, 0, "documentation", "docs", branch, "", "A")
    >>> found = one_of_each([result("v1", "same"), result("v2", "same"), result("v2", "new")])
    >>> [(one.result.content, one.result.branch, one.also_in) for one in found]
    [('same', 'v1', ('v2',)), ('new', 'v2', ())]
    """
    first: list[SearchResult] = []
    branches: list[list[str]] = []
    places: dict[tuple[str | None, ...], list[int]] = {}
    for result in results:
        of_passage = places.setdefault(_passage(result), [])
        place = next((at for at in of_passage if result.branch not in branches[at]), None)
        if place is None:
            of_passage.append(len(first))
            first.append(result)
            branches.append([result.branch])
        else:
            branches[place].append(result.branch)
    return [
        Found(result, tuple(sorted(others, key=_natural)))
        for result, (_, *others) in zip(first, branches, strict=True)
    ]


def find_versions(search: Callable[[int], Sequence[SearchResult]], top_k: int) -> list[Found]:
    """Return `top_k` passages, each once, however many versions of them the index holds.

    Parameters
    ----------
    search
        Returns as many results as it is asked for, best first. Without copies it is called once.
    top_k
        How many passages, at most.

    Examples
    --------
    >>> def search(count):
    ...     texts = ["same"] * 30 + ["other"]
    ...     return [
    ...         SearchResult("", "a", 0, text, 0, 0, "p", "docs", f"v{number}", "", "A")
    ...         for number, text in enumerate(texts)
    ...     ][:count]
    >>> [(one.result.content, len(one.also_in)) for one in find_versions(search, 2)]
    [('same', 29), ('other', 0)]
    """
    count = top_k
    while True:
        results = search(count)
        found = one_of_each(results)
        if _is_enough(results, found, count, top_k):
            return found[:top_k]
        count = min(WIDEST, WIDER * count)


async def find_versions_async(
    search: Callable[[int], Awaitable[Sequence[SearchResult]]], top_k: int
) -> list[Found]:
    """Return what `find_versions` returns, where the search has to be awaited."""
    count = top_k
    while True:
        results = await search(count)
        found = one_of_each(results)
        if _is_enough(results, found, count, top_k):
            return found[:top_k]
        count = min(WIDEST, WIDER * count)


def _is_enough(
    results: Sequence[SearchResult], found: Sequence[Found], count: int, top_k: int
) -> bool:
    """Say whether no copy takes the place of something else among the first `top_k` passages.

    Beyond `top_k` one more is looked for, so that the last of them is known with its versions.
    """
    has_copies = len(found) < len(results)
    return not has_copies or len(results) < count or count >= WIDEST or len(found) > top_k


def reordered(found: Iterable[Found], results: Iterable[SearchResult]) -> list[Found]:
    """Return what was found in the order, and with the scores, that a reranker gave its results.

    Examples
    --------
    >>> def result(name):
    ...     return SearchResult(name, name, 0, name, 0, 0, "documentation", "docs", "", "", name)
    >>> found = [Found(result("a"), ("v2",)), Found(result("b"))]
    >>> [(one.result.name, one.also_in) for one in reordered(found, [result("b"), result("a")])]
    [('b', ()), ('a', ('v2',))]
    """
    also_in = {one.result.chunk_id: one.also_in for one in found}
    return [Found(result, also_in[result.chunk_id]) for result in results]


def named(branches: Sequence[str]) -> str:
    """Return branches as a person reads them.

    Examples
    --------
    >>> named(["v1.9", "v1.10"]), named([""]), named([f"v{n}" for n in range(10)])[-13:]
    ('v1.9, v1.10', 'no branch', 'v7 and 2 more')
    """
    shown = ", ".join(branch or "no branch" for branch in branches[:MOST_NAMED])
    more = len(branches) - MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown


def _passage(result: SearchResult) -> tuple[str | None, ...]:
    """Return what all versions of a passage share."""
    return (
        result.tenant_id,
        result.partition,
        result.repo_slug,
        result.document_name,
        result.kind,
        result.name,
        result.namespace,
        embedded_text(result.content, result.metadata.get("header")),
    )


def _natural(branch: str) -> list[tuple[int, str]]:
    """Return what puts v1.9 before v1.10."""
    parts = re.findall(r"\d+|\D+", branch)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
