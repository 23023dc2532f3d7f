"""Made words: as unequally frequent as in real text (Zipf), some of them a cluster's own."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

Numbers = np.ndarray[Any, np.dtype[np.int64]]

SEED = 12
VOCABULARY, OWN_WORDS, WORDS = 200_000, 200, (20, 110)
_SYLLABLES = [a + b for a in "bcdfghjklmnprstvz" for b in "aeiou"]


def seeded(what: str, number: int = 0) -> np.random.Generator:
    """Return the random numbers of one thing, always the same ones."""
    return np.random.default_rng([SEED, *what.encode(), number])


def texts_of(random: np.random.Generator, clusters: Numbers, rows: int) -> list[str]:
    """Return the first rows' texts; one word in six is of its cluster's own."""
    lengths = random.integers(*WORDS, size=len(clusters))
    total = int(lengths.sum())
    of_row = np.repeat(clusters, lengths)
    own = (of_row * 7919 + (random.random(total) ** 2 * OWN_WORDS).astype(np.int64)) % VOCABULARY
    chosen = np.where(random.random(total) < 1 / 6, own, _zipf(random, total)).tolist()
    words = _vocabulary()
    ends = np.cumsum(lengths).tolist()
    return [
        " ".join([words[at] for at in chosen[end - length : end]])
        for length, end in zip(lengths[:rows].tolist(), ends[:rows], strict=True)
    ]


def common_word(random: np.random.Generator) -> str:
    """Return any word; frequent ones come more often."""
    return _vocabulary()[int(_zipf(random, 1)[0])]


@cache
def _vocabulary() -> list[str]:
    order = seeded("words").permutation(len(_SYLLABLES) ** 3)[:VOCABULARY]
    base = len(_SYLLABLES)
    return [
        _SYLLABLES[n // base**2] + _SYLLABLES[n // base % base] + _SYLLABLES[n % base]
        for n in order.tolist()
    ]


def _zipf(random: np.random.Generator, count: int) -> Numbers:
    return np.searchsorted(_zipf_sums(), random.random(count))


@cache
def _zipf_sums() -> np.ndarray[Any, np.dtype[np.float64]]:
    sums = np.cumsum((np.arange(VOCABULARY) + 2.7) ** -1.05)
    return np.asarray(sums / sums[-1] * (1 + 1e-12))
