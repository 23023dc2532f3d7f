"""One answer out of several partitions: what each of them found goes in, one list comes out.

Pages are written in sentences, as questions are, and manifests are not: in one list for all, pages
stand before manifests that answer better. So each partition is searched on its own, and a piece is
weighed by how like the question it is, by its place in its own partition, and by how questions in
such words are answered there. The weights are learnt (`tests/bench/learn_balance.py`) and kept in
`balance.json`, to be read.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, LiteralString, NamedTuple

import psycopg
from psycopg.rows import tuple_row

from course_lib.errors import InputError
from course_lib.records import SearchResult
from course_lib.retriever.query import explained
from course_lib.retriever.rerank import fused_order, likenesses
from course_lib.retriever.statements import RRF_K

if TYPE_CHECKING:
    from course_lib.embedder import EmbeddingClient

PARTITIONS_IN: LiteralString = """
WITH RECURSIVE known (name) AS (
    SELECT min(partition) FROM document_chunks
    UNION ALL
    SELECT (SELECT min(partition) FROM document_chunks WHERE partition > known.name)
    FROM known WHERE known.name IS NOT NULL
)
SELECT name FROM known WHERE name IS NOT NULL
"""
"""Goes from one name to the next in the primary key's index, whatever the number of rows."""

LEAST_LIKENESS = 0.01
"""What a piece counts for that is like the question in nothing; a logarithm needs more than 0."""


@dataclass(frozen=True)
class Weights:
    """What a piece is weighed by.

    Attributes
    ----------
    model
        Whose likeness they were learnt with.
    likeness, place
        Powers of a piece's MaxSim and of its place in its own partition.
    partitions
        Partition → its logarithmic weight, whatever the question.
    words
        Word → partition → its logarithmic weight; ``^`` before a word marks a question's first.
    """

    model: str
    likeness: float
    place: float
    partitions: Mapping[str, float]
    words: Mapping[str, Mapping[str, float]]


class Read(NamedTuple):
    """A piece, its likeness to the question, None where it was not read, and its place."""

    result: SearchResult
    likeness: float | None
    place: int


@lru_cache(maxsize=1)
def learnt() -> Weights:
    """Return the weights that come with the course."""
    text = files("course_lib.retriever").joinpath("balance.json").read_text(encoding="utf-8")
    return Weights(**json.loads(text))


def partitions_in(conn: psycopg.Connection) -> list[str]:
    """Return the names of the partitions that hold a row, in alphabetical order.

    Raises
    ------
    DatabaseError
        If there is no index, or the database went away.
    """
    with (
        explained(),
        nullcontext() if conn.autocommit else conn.transaction(),
        conn.cursor(row_factory=tuple_row) as cursor,
    ):
        return [name for (name,) in cursor.execute(PARTITIONS_IN, prepare=True).fetchall()]


def words_of(question: str) -> set[str]:
    """Return what is looked at of a question: its words, and the first one once more, marked.

    Examples
    --------
    >>> sorted(words_of("Which image is used?"))
    ['^which', 'image', 'is', 'used', 'which']
    """
    words = re.findall(r"[a-z0-9]+", question.lower())
    return {*words, *(f"^{word}" for word in words[:1])}


def leaning(question: str, partition: str, weights: Weights) -> float:
    """Return how much a question in these words leans towards a partition, as a logarithm.

    A partition of which nothing was learnt gets 0, which is the mean of those that were.

    Examples
    --------
    >>> words = {"which": {"code_manifests": 1.2}, "image": {"code_manifests": 0.8}}
    >>> weights = Weights("", 14, 0.6, {"code_manifests": 0.5}, words)
    >>> round(leaning("Which image, please?", "code_manifests", weights), 3)
    1.914
    >>> leaning("Which image, please?", "recipes", weights)
    0.0
    """
    known = [weights.words[word] for word in sorted(words_of(question)) if word in weights.words]
    said = sum(word.get(partition, 0.0) for word in known) / math.sqrt(max(len(known), 1))
    return weights.partitions.get(partition, 0.0) + said


def weigh(likeness: float, place: int, lean: float, weights: Weights) -> float:
    """Return the weight of a piece: likeness ** a · place ** -b · e ** lean.

    Examples
    --------
    A second place weighs less than a first one, and less again where the question leans away:

    >>> weights = Weights("", 14, 0.6, {}, {})
    >>> weigh(0.6, 1, 0, weights) > weigh(0.6, 2, 0, weights) > weigh(0.6, 2, -1, weights)
    True
    """
    likeness = max(likeness, LEAST_LIKENESS)
    return math.exp(weights.likeness * math.log(likeness) - weights.place * math.log(place) + lean)


def read(
    embedder: EmbeddingClient,
    question: str,
    found: Mapping[str, Sequence[SearchResult]],
    maxsim_k: int = 20,
) -> dict[str, list[Read]]:
    """Return each partition's pieces in the order of `rerank_maxsim`; see `balance`."""
    each = math.ceil(2 * maxsim_k / max(len(found), 1))
    first = [result for results in found.values() for result in results[:each]]
    likeness = likenesses(embedder, question, first)
    pieces, begin = {}, 0
    for partition, results in found.items():
        like = likeness[begin : begin + len(results[:each])]
        begin += len(like)
        order = fused_order(len(results), like)
        pieces[partition] = [
            Read(results[at], like[at] if at < len(like) else None, place)
            for place, (at, _) in enumerate(order, 1)
        ]
    return pieces


def balance(
    embedder: EmbeddingClient,
    question: str,
    found: Mapping[str, Sequence[SearchResult]],
    *,
    maxsim_k: int = 20,
    weights: Weights | None = None,
) -> list[SearchResult]:
    """Return what several partitions found for a question as one list.

    Parameters
    ----------
    embedder
        Reads the first results of each partition word by word, as for `rerank_maxsim`.
    question
        The question.
    found
        Partition → what a search of it alone returned, best first.
    maxsim_k
        Twice as many pieces are read, as many of each partition.
    weights
        What a piece is weighed by; None takes what comes with the course.

    Returns
    -------
    list of SearchResult
        By falling `score`: of what was read, its share in the weight of all that was read. What
        was not read follows, by its place in its own partition.

    Raises
    ------
    InputError
        If `maxsim_k` is below 1.

    Notes
    -----
    Searching collections one by one and merging what they found is what federated search does
    (Shokouhi and Si, "Federated Search", Foundations and Trends in Information Retrieval 5, 2011);
    the weights are those of a conditional logit model: of all that was read, which piece is in a
    file that answers? A question that leans the wrong way loses few places, since a piece that is
    much more like it still comes first.

    Examples
    --------
    >>> pages, manifests = search(conn, …), search(conn, …)                # doctest: +SKIP
    >>> balance(embedder, "Which image is used?",
    ...         {"documentation": pages, "code_manifests": manifests})     # doctest: +SKIP
    [SearchResult(...), SearchResult(...), ...]
    """
    if maxsim_k < 1:
        raise InputError(f"maxsim_k is {maxsim_k}", hint="Re-order 1 result or more.")
    weights = weights or learnt()
    weighed: list[tuple[float, SearchResult]] = []
    unread: list[tuple[int, SearchResult]] = []
    for partition, pieces in read(embedder, question, found, maxsim_k).items():
        lean = leaning(question, partition, weights)
        for result, likeness, place in pieces:
            if likeness is None:
                unread.append((place, result))
            else:
                weighed.append((weigh(likeness, place, lean, weights), result))
    total = sum(weight for weight, _ in weighed)
    weighed.sort(key=lambda one: -one[0])
    unread.sort(key=lambda one: one[0])
    least = weighed[-1][0] / total if weighed else 0.0
    return [replace(result, score=weight / total) for weight, result in weighed] + [
        replace(result, score=least * RRF_K / (RRF_K + place)) for place, result in unread
    ]
