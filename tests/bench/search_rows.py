"""A corpus to search in, and questions about it: made, seeded, and shaped as real ones are.

Vectors lie in clusters of unequal size. Words are as unequally frequent as in real text (Zipf),
English's own stop words among them. Repositories and kinds are large and small. A question lies
near a chunk and has some of its words, two of another chunk, and one that stands nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from course_lib.records import Chunk
from tests.bench.vectors import Vectors, clustered_vectors

PARTITIONS = {"documentation": 0.5, "code_manifests": 0.2, "code_pipelines": 0.15, "issues": 0.15}
KINDS = {
    "section": 0.45, "Deployment": 0.2, "Service": 0.14, "function": 0.1, "ConfigMap": 0.09,
    "PodDefault": 0.01, "Profile": 0.001, "Role": 0.009,
}  # fmt: skip
RARE, RAREST = "PodDefault", "Profile"
"""Kinds of one chunk in a hundred and of one in a thousand."""

STOP_WORDS = (
    "the of and to a in is for that it on with as be this are by from or an at you can not if your "
    "have has will when which all each other more about into then its we but they their there was "
    "any only so how what do does"
).split()
"""The most frequent words of English prose; PostgreSQL's search leaves them out."""

REPOSITORIES, VOCABULARY, CHUNKS_A_DOCUMENT = 12, 20_000, 10
FILTERS: tuple[dict[str, str], ...] = (
    {"partition": "documentation"},
    {"repo": "repo-01"},
    {"kind": "Deployment"},
    {"kind": RARE},
    {"partition": "issues", "kind": "section"},
)
"""What filtered questions are narrowed to, in turn: from a half of the rows to one in a hundred."""


@dataclass(frozen=True)
class Question:
    """A vector of shape (dimension,), words, and the columns that answers have to equal."""

    vector: Vectors
    words: str
    filters: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Corpus:
    """Chunks, their vectors of shape (n, dimension), and the partition of each."""

    chunks: list[Chunk]
    vectors: Vectors
    partitions: list[str]


def make_corpus(rows: int, *, seed: int = 0) -> Corpus:
    """Return a corpus; the same one for the same numbers."""
    random = np.random.default_rng(seed)
    vectors = clustered_vectors(rows, seed=seed)
    words = _vocabulary(random)
    chances = np.cumsum(1 / np.arange(1, VOCABULARY + 1))
    lengths = np.clip(random.lognormal(np.log(60), 0.5, rows), 8, 200).astype(int)
    drawn = np.searchsorted(chances, random.random(int(lengths.sum())) * chances[-1])
    ends = np.cumsum(lengths).tolist()
    stream = [words[number] for number in drawn.tolist()]
    texts = [stream[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    # Documents lie in one partition and one repository.
    documents = -(-rows // CHUNKS_A_DOCUMENT)
    partitions = random.choice(list(PARTITIONS), size=documents, p=list(PARTITIONS.values()))
    sizes = 1 / np.arange(1, REPOSITORIES + 1)
    repositories = random.choice(REPOSITORIES, size=documents, p=sizes / sizes.sum())
    kinds = random.choice(list(KINDS), size=rows, p=list(KINDS.values()))
    chunks = [
        Chunk(
            tenant_id="local",
            repo_slug=f"repo-{repositories[at // CHUNKS_A_DOCUMENT]:02d}",
            root_kind="external-source",
            source_path=f"folder/document-{at // CHUNKS_A_DOCUMENT:06d}.md",
            content=" ".join(text),
            hash_inputs=["content"],
            parser_id="markdown",
            parser_version="1.0.0",
            kind=str(kinds[at]),
            name=f"Section {at}",
            line_start=1,
            line_end=9,
            custom_meta={"chunkIndex": at % CHUNKS_A_DOCUMENT, "charStart": 0, "charEnd": 500},
        )
        for at, text in enumerate(texts)
    ]
    return Corpus(chunks, vectors, [str(partitions[at // CHUNKS_A_DOCUMENT]) for at in range(rows)])


def make_questions(
    corpus: Corpus, count: int, *, filtered: bool = False, seed: int = 1
) -> list[Question]:
    """Return questions about chunks of the corpus, all of them or none with filters."""
    random = np.random.default_rng(seed)
    targets = random.choice(len(corpus.chunks), size=count, replace=False)
    noise = random.standard_normal((count, corpus.vectors.shape[1]), dtype=np.float32)
    vectors = corpus.vectors[targets] + 0.6 * noise / np.sqrt(noise.shape[1], dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    questions = []
    for at, target in enumerate(targets):
        other = int(random.integers(len(corpus.chunks)))
        inside = random.choice(corpus.chunks[target].content.split(), size=7)
        outside = random.choice(corpus.chunks[other].content.split(), size=2)
        words = [*map(str, inside), *map(str, outside), f"zq{random.integers(1000)}"]
        random.shuffle(words)
        filters = FILTERS[at % len(FILTERS)] if filtered else {}
        questions.append(Question(vectors[at], " ".join(words), filters))
    return questions


def _vocabulary(random: np.random.Generator) -> list[str]:
    syllables = [a + b for a in "bdfgklmnprtvz" for b in "aiou"]
    base = len(syllables)
    numbers = random.permutation(base**3)[:VOCABULARY]
    made = [
        "".join(syllables[number // base**power % base] for power in (2, 1, 0))
        for number in numbers
    ]
    return STOP_WORDS + made[len(STOP_WORDS) :]
