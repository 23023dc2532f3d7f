"""Made-up chunks around real ones: the large tables that labs 06 and 07 search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from course_lib.embedder.vectors import Vectors
    from course_lib.records import Chunk


def chunks_around(
    chunks: Sequence[Chunk], vectors: Vectors, count: int = 12_000
) -> tuple[list[Chunk], Vectors]:
    """Return made-up chunks and their vectors, the same ones on every run.

    They are sections of a handbook and of a forum, each followed by nine comments. One section
    in a hundred, and more than half of the comments, are of the namespace ``archive``.

    Parameters
    ----------
    chunks, vectors
        Real ones: each vector of the crowd is one of these, changed a little in the directions in
        which they differ.
    count
        How many; ten times as many as there are sections.
    """
    random = np.random.default_rng(6)
    anchor = random.integers(0, len(chunks), count)
    directions = (vectors - vectors.mean(axis=0)) / np.sqrt(len(chunks))
    made = vectors[anchor] + random.normal(size=(count, len(chunks))) @ directions
    made = (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)
    return [_made_up(number, chunks[at]) for number, at in enumerate(anchor)], made


def mixtures(
    chunks: Sequence[Chunk], vectors: Vectors, count: int = 5_000
) -> tuple[list[Chunk], Vectors]:
    """Return the chunks of one made-up document and their vectors, the same ones on every run.

    Parameters
    ----------
    chunks, vectors
        Real ones: each made-up vector is a mixture of two of these.
    count
        How many.
    """
    random = np.random.default_rng(5)
    one, other = random.integers(0, len(chunks), (2, count))
    share = random.random((count, 1), dtype=np.float32)
    made = [
        chunks[at].model_copy(update={"source_path": "made-up", "custom_meta": {"chunkIndex": n}})
        for n, at in enumerate(one)
    ]
    return made, (share * vectors[one] + (1 - share) * vectors[other]).astype(np.float32)


def _made_up(number: int, like: Chunk) -> Chunk:
    document, place = divmod(number, 10)  # a section, then its nine comments
    is_old = number % 2 == 1 if place else document % 100 == 0
    fields = {
        "repo_slug": "forum" if document % 9 else "handbook",
        "source_path": f"{document:04}.md",
        "kind": "comment" if place else "doc-section",
        "content": f"Something about {like.name}.",
        "custom_meta": {"chunkIndex": place, "namespace": "archive" if is_old else "current"},
    }
    return like.model_copy(update=fields)
