"""A made corpus with real-style structure: a block's number goes in, its rows come out.

Each block is a function of its number alone, so that a corpus of a million rows begins with the
one of ten thousand, and nothing is kept in memory. Documents belong to clusters of heavy-tailed
sizes, their pieces lie near each other in few dimensions, words follow Zipf's law, and some
documents are near-duplicates of earlier ones in another branch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from course_lib.records import Chunk
from tests.bench.made_words import Numbers, common_word, seeded, texts_of

Vectors = np.ndarray[Any, np.dtype[np.float32]]

DIMENSION = 384
BLOCK = 10_000
CLUSTERS_A_BLOCK = 50
BASES, BASE_DIMENSIONS = 64, 24
MEAN_SHARE = 0.65
"""Of a vector's squared length, the part that all vectors have in common (real MiniLM: 0.58)."""
DUPLICATES = 0.06
"""Share of the documents that repeat an earlier one of their block, as branches do."""

KIND_SHARES = {"PodDefault": 0.01, "Deployment": 0.10, "doc-section": 0.89}
TENANTS, REPOS, BRANCHES = 8, 120, ("main", "v1.9-branch", "v1.10-branch")


@dataclass(frozen=True)
class Block:
    """`BLOCK` rows: their chunks and vectors, in the order of their numbers."""

    chunks: list[Chunk]
    vectors: Vectors


@dataclass(frozen=True)
class Question:
    """What is searched for: a vector of a row's cluster, and words that the row has."""

    vector: Vectors
    words: str


@dataclass(frozen=True)
class Layout:
    """How a block's rows belong together: what is known of them without texts and vectors."""

    clusters: Numbers
    """The cluster of each document."""
    documents: Numbers
    """The document of each row."""
    place: Numbers
    """Each row's place in its document."""
    source: Numbers
    """The row that each row repeats: itself where it repeats none."""
    kinds: list[str]


def block(number: int, rows: int = BLOCK) -> Block:
    """Return the rows of a block: always the same ones.

    Parameters
    ----------
    number
        From 0.
    rows
        How many of its rows; the last document is cut where they end.

    Examples
    --------
    >>> block(0, 50).vectors.shape, block(0, 50).chunks[3] == block(0, 50).chunks[3]
    ((50, 384), True)
    """
    how = layout(number)
    random = seeded("texts", number)
    texts = _texts(random, number, rows)
    repos = _repos(random, number, len(how.clusters))
    branches = random.choice(BRANCHES, size=len(how.clusters), p=[0.8, 0.1, 0.1])
    chunks = []
    for row in range(rows):
        document = int(how.documents[row])
        where = (number, document, int(how.place[row]), int(repos[document]))
        chunks.append(_chunk(*where, str(branches[document]), how.kinds[row], texts[row]))
    return Block(chunks, vectors(number, rows))


def first_rows(count: int) -> Block:
    """Return the first rows of the corpus, of as many blocks as they are in."""
    blocks = [block(at // BLOCK, min(BLOCK, count - at)) for at in range(0, count, BLOCK)]
    return Block(
        [chunk for one in blocks for chunk in one.chunks],
        np.concatenate([one.vectors for one in blocks]),
    )


def _texts(random: np.random.Generator, number: int, rows: int) -> list[str]:
    how = layout(number)
    texts = texts_of(random, how.clusters[how.documents], rows)
    for row in np.flatnonzero(how.source[:rows] != np.arange(rows)).tolist():
        texts[row] = f"{texts[how.source[row]]} {how.place[row]}"
    return texts


@cache
def layout(number: int) -> Layout:
    """Return how the rows of a block belong together."""
    random = seeded("layout", number)
    sizes = _document_sizes(random)
    documents = np.repeat(np.arange(len(sizes)), sizes)[:BLOCK]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    place = np.arange(BLOCK) - starts[documents]
    twin_of = np.arange(len(sizes))
    repeats = np.flatnonzero(random.random(len(sizes)) < DUPLICATES)
    twin_of[repeats] = (random.random(len(repeats)) * repeats).astype(np.int64)
    source = starts[twin_of[documents]] + place % sizes[twin_of[documents]]
    kinds = random.choice(list(KIND_SHARES), size=BLOCK, p=list(KIND_SHARES.values()))
    return Layout(
        _clusters_of(random, number, len(sizes)), documents, place, source,
        [str(kind) for kind in kinds],
    )  # fmt: skip


def vectors(number: int, rows: int = BLOCK) -> Vectors:
    """Return the vectors of a block's rows: float32 of shape (rows, 384), unit length."""
    how = layout(number)
    random = seeded("vectors", number)
    made = _vectors(random, how.documents, how.clusters)
    copies = np.flatnonzero(how.source != np.arange(BLOCK))
    # A near-duplicate is its twin, moved by an edit's worth (and where that is one as well, what it
    # was before).
    edits = 0.03 * random.standard_normal((len(copies), DIMENSION), dtype=np.float32)
    made[copies] = _unit(made[how.source[copies]] + edits / np.float32(np.sqrt(DIMENSION)))
    return made[:rows]


def questions(count: int) -> list[Question]:
    """Return questions about rows of the first block: a vector, five of its words and one more.

    A question is less like what all rows have in common than a row is, and differs from its cluster
    in a direction of its own. The weights make it about as hard for an index as real questions are.

    Examples
    --------
    >>> [len(question.words.split()) for question in questions(3)]
    [6, 6, 6]
    """
    random = seeded("questions")
    rows = random.choice(BLOCK, size=count, replace=False)
    texts = _texts(seeded("texts"), 0, BLOCK)
    how = layout(0)
    clusters = how.clusters[how.documents[rows]].tolist()
    turns = random.standard_normal((count, BASE_DIMENSIONS), dtype=np.float32) * _base_spectrum()
    strange = random.standard_normal((count, DIMENSION), dtype=np.float32) * _spectrum()
    made = _unit(
        0.3 * _mean()
        + 0.8 * _unit(np.stack([_centre(cluster) for cluster in clusters]))
        + 0.45
        * _unit(np.stack([t @ _bases()[c % BASES] for t, c in zip(turns, clusters, strict=True)]))
        + 0.5 * _unit(strange @ _rotation())
    )
    asked = []
    for row, vector in zip(rows.tolist(), made, strict=True):
        words = texts[row].split()
        chosen = random.choice(words, size=5, replace=len(words) < 5)
        extra = common_word(random)
        asked.append(Question(vector, " ".join([*map(str, chosen), extra])))
    return asked


def _document_sizes(random: np.random.Generator) -> Numbers:
    """Return pieces a document: most have a few, some have hundreds."""
    sizes = np.minimum(1 + (random.pareto(1.3, BLOCK // 3) * 4).astype(np.int64), 400)
    enough = int(np.searchsorted(np.cumsum(sizes), BLOCK)) + 1
    return sizes[:enough]


def _path(number: int, document: int) -> str:
    return f"block-{number:05d}/document-{document:05d}.md"


def _clusters_of(random: np.random.Generator, number: int, documents: int) -> Numbers:
    known = CLUSTERS_A_BLOCK * (number + 1)
    weights = _cluster_weights(known)
    return random.choice(known, size=documents, p=weights / weights.sum())


@cache
def _cluster_weights(known: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    return seeded("clusters").pareto(1.4, 100_000)[:known] + 1


def _vectors(random: np.random.Generator, documents: Numbers, clusters: Numbers) -> Vectors:
    """Return a vector a row: the common part, its cluster's, its document's and its own."""
    used, of_document = np.unique(clusters, return_inverse=True)
    centres = np.stack([_centre(int(at)) for at in used])
    spread = np.array([_spread(int(at)) for at in used], dtype=np.float32)
    rows = of_document[documents]
    offsets = np.empty((len(documents), DIMENSION), dtype=np.float32)
    local = random.standard_normal((len(clusters), BASE_DIMENSIONS), dtype=np.float32)
    own = random.standard_normal((len(documents), BASE_DIMENSIONS), dtype=np.float32)
    mixed = (local[documents] + 0.6 * own) * _base_spectrum()
    bases = _bases()
    for base in range(BASES):
        at = used[rows] % BASES == base
        offsets[at] = mixed[at] @ bases[base]
    wide = random.standard_normal((len(documents), DIMENSION), dtype=np.float32)
    offsets += 0.12 * wide * _spectrum() @ _rotation()
    # The document's own scale: some say the same thing over and over, some do not.
    scale = spread[rows] * np.exp(0.5 * random.standard_normal(len(clusters)))[documents]
    scale = np.clip(scale, 0.12, 1.2).astype(np.float32)[:, None]
    rest = np.float32(np.sqrt(1 - MEAN_SHARE))
    inner = centres[rows] + scale * offsets
    return _unit(np.float32(np.sqrt(MEAN_SHARE)) * _mean() + rest * inner)


@cache
def _centre(cluster: int) -> Vectors:
    random = seeded("centre", cluster)
    drawn = random.standard_normal(DIMENSION, dtype=np.float32) * _spectrum()
    return np.asarray(drawn @ _rotation(), dtype=np.float32)


@cache
def _spread(cluster: int) -> float:
    """Return how wide a cluster is, measured by the distances between clusters."""
    return float(0.5 * np.exp(0.6 * seeded("spread", cluster).standard_normal()))


@cache
def _spectrum() -> Vectors:
    """Return the standard deviations along the principal axes, as steep as MiniLM's; 1 in all."""
    variances = (np.arange(DIMENSION) + 6.0) ** -1.35
    return np.asarray(np.sqrt(variances / variances.sum()), dtype=np.float32)


@cache
def _base_spectrum() -> Vectors:
    variances = (np.arange(BASE_DIMENSIONS) + 2.0) ** -1.2
    return np.asarray(np.sqrt(variances / variances.sum() / 1.36), dtype=np.float32)


@cache
def _rotation() -> Vectors:
    random = seeded("rotation")
    return np.linalg.qr(random.standard_normal((DIMENSION, DIMENSION)))[0].astype(np.float32)


@cache
def _bases() -> list[Vectors]:
    random = seeded("bases")
    return [
        np.linalg.qr(random.standard_normal((DIMENSION, BASE_DIMENSIONS)))[0].T.astype(np.float32)
        for _ in range(BASES)
    ]


@cache
def _mean() -> Vectors:
    return np.asarray(_unit(seeded("mean").standard_normal((1, DIMENSION)))[0])


def _unit(vectors: np.ndarray[Any, Any]) -> Vectors:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True), dtype=np.float32)


def _repos(random: np.random.Generator, number: int, documents: int) -> Numbers:
    """Return a repository a document: even blocks are of half of them, odd ones of the others."""
    weights = 1 / np.arange(1, REPOS // 2 + 1)
    return number % 2 + 2 * random.choice(REPOS // 2, size=documents, p=weights / weights.sum())


def _chunk(
    number: int, document: int, place: int, repo: int, branch: str, kind: str, text: str
) -> Chunk:
    return Chunk(
        tenant_id=f"tenant-{repo % TENANTS}",
        repo_slug=f"repo-{repo:03d}",
        root_kind="external-source",
        source_path=_path(number, document),
        content=text,
        hash_inputs=["content"],
        parser_id="markdown",
        parser_version="1.0.0",
        kind=kind,
        name=f"Section {place}",
        line_start=1 + 12 * place,
        line_end=12 + 12 * place,
        custom_meta={
            "chunkIndex": place, "charStart": 450 * place, "charEnd": 450 * place + len(text),
            "branch": branch, "commitSha": f"{number:040x}",
        },
    )  # fmt: skip
