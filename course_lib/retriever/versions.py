"""One passage, several versions: results go in, each passage once comes out, with where else it is.

An index may hold several branches or tags of one repository, and most of their passages are the
same in all of them. A list of the best five would be one passage five times.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields

from course_lib.records import SearchResult, embedded_text

WIDEST = 1_000
"""Results that are looked at for the sake of copies, at most."""

WIDER = 4
"""How many times as many results are looked at where copies took the places of others."""

OF_A_VERSION = {
    *("chunk_id", "branch", "chunk_index", "citation_url", "metadata", "score", "similarity_score")
}
"""What may differ between the versions of one passage."""

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
        has_copies = len(found) < len(results)
        # One more is looked for, so that the last of `top_k` is known with its versions.
        if not has_copies or len(results) < count or count >= WIDEST or len(found) > top_k:
            return found[:top_k]
        count = min(WIDEST, WIDER * count)


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
    shared = (getattr(result, one.name) for one in fields(result) if one.name not in OF_A_VERSION)
    return (*shared, embedded_text(result.content, result.metadata.get("header")))


def _natural(branch: str) -> list[tuple[int, str]]:
    """Return what puts v1.9 before v1.10."""
    parts = re.findall(r"\d+|\D+", branch)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
