"""Metrics: what was found, best first, and what should be found go in; a number comes out.

Each takes one question. What is found may be files, resources or passages, each by a name of its
own; what is found again counts once. They agree with trec_eval's, as `ir-measures` wraps them,
which needs a compiled package for each version of Python and takes away what lab 16 teaches; ranx
would bring numba.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping

CUTS = (1, 5, 10)
"""The places at which a hit is asked for."""

DEPTH = 10
"""Items that count for everything else."""

NAMES = (*(f"hit@{cut}" for cut in CUTS), "recall@10", "mrr@10", "ndcg@10")
"""The metrics in the order of a table."""


def first_different(found: Iterable[str], k: int = DEPTH) -> list[str]:
    """Return the first `k` different items, in their order.

    A search returns passages. The ranking of files is that of their best passages.

    Examples
    --------
    >>> first_different(["a.md", "a.md", "b.md", "a.md", "c.md"], k=2)
    ['a.md', 'b.md']
    """
    return list(dict.fromkeys(found))[:k]


def hit_at(found: Iterable[str], gold: Collection[str], k: int = DEPTH) -> float:
    """Return 1 if one of the first `k` items is wanted, 0 if none is.

    Examples
    --------
    >>> hit_at(["x", "b", "y"], {"a", "b"}, k=1), hit_at(["x", "b", "y"], {"a", "b"}, k=2)
    (0.0, 1.0)
    """
    return float(any(item in gold for item in first_different(found, k)))


def recall_at(found: Iterable[str], gold: Collection[str], k: int = DEPTH) -> float:
    """Return the share of the gold items that are among the first `k` different items found.

    Parameters
    ----------
    found
        What a search returned, best first. A repeated item counts once, at its first place.
    gold
        The items that should be found.
    k
        How many different items count.

    Returns
    -------
    float
        From 0 to 1; 0 if there are no gold items.

    Examples
    --------
    One of the two gold items is among the first three different items:

    >>> recall_at(["x", "b", "b", "y", "a"], {"a", "b"}, k=3)
    0.5
    """
    wanted = set(gold)
    if not wanted:
        return 0.0
    return len(wanted & set(first_different(found, k))) / len(wanted)


def reciprocal_rank(found: Iterable[str], gold: Collection[str], k: int = DEPTH) -> float:
    """Return 1 / place of the first gold item in a ranking.

    - `found` names the item, such as a file, of each passage. A repeated item takes up no place.
    - Only the first `k` places count. If no gold item is among them, return 0.0.

    Examples
    --------
    >>> reciprocal_rank(["x", "x", "y", "b"], {"a", "b"}) == 1 / 3
    True
    """
    for place, item in enumerate(first_different(found, k), start=1):
        if item in gold:
            return 1 / place
    return 0.0


def ndcg_at(found: Iterable[str], gains: Mapping[str, float], k: int = DEPTH) -> float:
    """Return how close a ranking comes to the best ranking for this question: nDCG.

    - An item at place p adds its gain, divided by log2(p + 1). What `gains` does not name adds 0.
    - A repeated item takes up no place, and only the first `k` places count.
    - Divide by the sum of the best ranking, which may contain items that were not found.
    - Return 0.0 if no gain is above 0.

    Examples
    --------
    >>> round(ndcg_at(["x", "a"], {"a": 1}), 4)
    0.6309
    >>> ndcg_at(["a", "b", "x"], {"a": 2, "b": 1})
    1.0
    """

    def discounted(row: Iterable[float]) -> float:
        return sum(gain / math.log2(place + 1) for place, gain in enumerate(row, start=1))

    best = discounted(sorted(gains.values(), reverse=True)[:k])
    reached = discounted(gains.get(item, 0) for item in first_different(found, k))
    return reached / best if best else 0.0


def all_metrics(
    found: Iterable[str], gold: Collection[str], acceptable: Collection[str] = ()
) -> dict[str, float]:
    """Return the metrics of one question by their names.

    Whatever answers the question is a hit, and its place counts. Recall is of the gold items
    alone. For nDCG a gold item is worth 2 and an acceptable one 1.

    Examples
    --------
    >>> values = all_metrics(["x", "b", "a"], gold={"a"}, acceptable={"b"})
    >>> values["hit@1"], values["mrr@10"], values["recall@10"]
    (0.0, 0.5, 1.0)
    """
    ranked = first_different(found)
    answers = {*gold, *acceptable}
    gains = dict.fromkeys(acceptable, 1.0) | dict.fromkeys(gold, 2.0)
    return {
        **{f"hit@{cut}": hit_at(ranked, answers, cut) for cut in CUTS},
        "recall@10": recall_at(ranked, gold),
        "mrr@10": reciprocal_rank(ranked, answers),
        "ndcg@10": ndcg_at(ranked, gains),
    }
