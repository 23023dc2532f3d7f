"""A made corpus, always the same one: rows with vectors go into an index, questions ask it.

Rows belong to documents and these to clusters of unequal sizes, by their vectors as by their words.
Vectors have a common part, and directions as unequal as MiniLM's; words are as unequally frequent
as in real text (Zipf's law).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from course_lib.records import Chunk

Vectors = np.ndarray[Any, np.dtype[np.float32]]

DIMENSION = 384
COMMON = 0.8
"""What all vectors have in common weighs so much, and the rest 0.6 (real MiniLM: 0.76, 0.65)."""
CLUSTERS, PIECES = 2_000, 10
VOCABULARY, OWN_WORDS, WORDS = 200_000, 200, (20, 110)
SYLLABLES = [a + b for a in "bcdfghjklmnprstvz" for b in "aeiou"]


@dataclass(frozen=True)
class Corpus:
    """Rows: their chunks and vectors."""

    chunks: list[Chunk]
    vectors: Vectors


@dataclass(frozen=True)
class Question:
    """What is searched for: a vector near a row's, and words that the row has."""

    vector: Vectors
    words: str


def made_rows(count: int) -> Corpus:
    """Return so many rows.

    Examples
    --------
    >>> made_rows(50).vectors.shape, made_rows(50).chunks[3] == made_rows(50).chunks[3]
    ((50, 384), True)
    """
    random = np.random.default_rng(12)
    clusters = (CLUSTERS * random.random(count) ** 2).astype(np.int64)[np.arange(count) // PIECES]
    common, centres = _directions(random, 1), _directions(random, CLUSTERS)
    own = _unit(centres[clusters] + _directions(random, count))
    texts = _texts(random, clusters)
    chunks = [_chunk(at // PIECES, at % PIECES, text) for at, text in enumerate(texts)]
    return Corpus(chunks, _unit(COMMON * common + 0.6 * own))


def questions(corpus: Corpus, count: int) -> list[Question]:
    """Return questions about rows: a vector some way from a row's, and six of its words."""
    random = np.random.default_rng(13)
    rows = random.choice(len(corpus.chunks), size=count, replace=False)
    vectors = _unit(corpus.vectors[rows] + _directions(random, count))
    words = [random.choice(corpus.chunks[row].content.split(), size=6) for row in rows]
    return [Question(*one) for one in zip(vectors, map(" ".join, words), strict=True)]


def _directions(random: np.random.Generator, count: int) -> Vectors:
    """Return random directions; the standard deviations along the axes fall as MiniLM's do."""
    spread = (np.arange(DIMENSION, dtype=np.float32) + 6) ** -0.675
    return _unit(random.standard_normal((count, DIMENSION), dtype=np.float32) * spread)


def _unit(vectors: Vectors) -> Vectors:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True), dtype=np.float32)


def _texts(random: np.random.Generator, clusters: np.ndarray[Any, np.dtype[np.int64]]) -> list[str]:
    """Return a text a row; one word in six is of its cluster's own."""
    vocabulary = random.permutation(["".join(three) for three in product(SYLLABLES, repeat=3)])
    weights = (np.arange(VOCABULARY) + 2.7) ** -1.05
    lengths = random.integers(*WORDS, size=len(clusters))
    total = int(lengths.sum())
    own = np.repeat(clusters, lengths) * 7919 + random.integers(OWN_WORDS, size=total)
    common = random.choice(VOCABULARY, size=total, p=weights / weights.sum())
    chosen = vocabulary[np.where(random.random(total) < 1 / 6, own % VOCABULARY, common)]
    return [" ".join(words) for words in np.split(chosen, np.cumsum(lengths)[:-1])]


def _chunk(document: int, place: int, text: str) -> Chunk:
    return Chunk(
        tenant_id="local",
        repo_slug="made",
        root_kind="external-source",
        source_path=f"document-{document:05d}.md",
        content=text,
        hash_inputs=["content"],
        parser_id="markdown",
        parser_version="1.0.0",
        kind="doc-section",
        name=f"Section {place}",
        line_start=1 + 12 * place,
        line_end=12 + 12 * place,
        custom_meta={"chunkIndex": place, "branch": "main"},
    )
