"""The exact nearest rows of some questions, found by comparing them with every row of the corpus.

The rows are made again block by block, so that no server is asked and memory stays small.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.bench.scale import corpus
from tests.bench.scale.corpus import Vectors
from tests.bench.scale.words import Numbers

Identity = tuple[str, int]
TOP = 10


class Nearest:
    """The rows most like each of some questions among all that were shown so far.

    Examples
    --------
    >>> nearest = Nearest(np.eye(2, dtype=np.float32), top=1)
    >>> nearest.show(np.array([[0.6, 0.8], [0.8, 0.6]], np.float32), np.array([7, 8]))
    >>> nearest.rows().tolist()
    [[8], [7]]
    """

    def __init__(self, questions: Vectors, top: int = TOP) -> None:
        self._questions, self._top = questions, top
        self._likeness = np.full((len(questions), 0), -2, dtype=np.float32)
        self._rows = np.zeros((len(questions), 0), dtype=np.int64)

    def show(self, vectors: Vectors, numbers: Numbers) -> None:
        """Compare with more rows, which are known by their numbers."""
        likeness = np.hstack([self._likeness, self._questions @ vectors.T])
        rows = np.hstack([self._rows, np.broadcast_to(numbers, (len(likeness), len(numbers)))])
        best = np.argsort(-likeness, axis=1, kind="stable")[:, : self._top]
        self._likeness = np.take_along_axis(likeness, best, axis=1)
        self._rows = np.take_along_axis(rows, best, axis=1)

    def rows(self) -> Numbers:
        """Return their numbers, the most alike first: shape (questions, top)."""
        return self._rows


def truth(
    questions: Vectors, rows: int, kinds: Sequence[str | None] = (None,)
) -> dict[str | None, list[set[Identity]]]:
    """Return for each kind (None: all rows) the ten nearest rows of each question.

    Examples
    --------
    >>> found = truth(corpus.vectors(0, 2), 500)[None]
    >>> corpus.identities(0)[0] in found[0], len(found[1])
    (True, 10)
    """
    nearest = {kind: Nearest(questions) for kind in kinds}
    for number in range((rows - 1) // corpus.BLOCK + 1):
        first = number * corpus.BLOCK
        vectors = corpus.vectors(number, min(corpus.BLOCK, rows - first))
        has = np.array(corpus.layout(number).kinds[: len(vectors)])
        for kind, known in nearest.items():
            at = np.arange(len(vectors)) if kind is None else np.flatnonzero(has == kind)
            known.show(vectors[at], first + at)
    return {kind: _named(known.rows()) for kind, known in nearest.items()}


def recall(found: Sequence[set[Identity]], wanted: Sequence[set[Identity]]) -> float:
    """Return the share of what was wanted that was found.

    Examples
    --------
    >>> recall([{("a", 0), ("b", 1)}], [{("a", 0), ("a", 1)}])
    0.5
    """
    hits = sum(len(one & two) for one, two in zip(found, wanted, strict=True))
    return hits / sum(map(len, wanted))


def _named(rows: Numbers) -> list[set[Identity]]:
    return [
        {corpus.identities(row // corpus.BLOCK)[row % corpus.BLOCK] for row in of_question}
        for of_question in rows.tolist()
    ]
