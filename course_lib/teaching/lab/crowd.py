"""A crowd of made-up chunks around real ones: the large table that lab 07 searches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from course_lib.embedder.vectors import Vectors
    from course_lib.records import Chunk


def crowd(
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
