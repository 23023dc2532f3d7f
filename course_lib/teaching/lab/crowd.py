"""Made-up chunks around real ones: the large tables that labs 06 and 07 search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from course_lib.loader import read_documents, split_document
from course_lib.store import create_schema, drop_schema, write_chunks

if TYPE_CHECKING:
    import psycopg

    from course_lib.embedder.vectors import Vectors
    from course_lib.records import Chunk

SECRET = "Incident 88: nobody could sign in after the update. The root password is tulip-42."


def write_crowd(
    conn: psycopg.Connection[Any], folder: Path, encode: Callable[[Sequence[str]], Vectors]
) -> None:
    """Make the tables again; write a folder's chunks and 12,000 made-up ones, always the same.

    The made-up ones are sections of a handbook and of a forum, each followed by nine comments. One
    section in a hundred, and more than half of the comments, are of the namespace ``archive``.
    A note in the partition ``issues`` holds a secret.

    Parameters
    ----------
    conn
        A connection that commits each statement by itself.
    folder
        Its documents. A made-up vector is one of theirs, changed a little in the directions in
        which they differ.
    encode
        Texts → unit vectors, such as ``lab.encode``.

    Examples
    --------
    >>> write_crowd(conn, lab.data_dir, lab.encode)  # doctest: +SKIP
    """
    chunks = [chunk for document in read_documents(folder) for chunk in split_document(document)]
    vectors = encode([chunk.embedded_text for chunk in chunks])
    random = np.random.default_rng(6)
    anchor = random.integers(0, len(chunks), 12_000)
    directions = (vectors - vectors.mean(axis=0)) / np.sqrt(len(chunks))
    made = vectors[anchor] + random.normal(size=(len(anchor), len(chunks))) @ directions
    made = (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)
    fields = {"repo_slug": "incidents", "kind": "note", "content": SECRET}
    note = chunks[0].model_copy(update=fields)
    drop_schema(conn)
    create_schema(conn, vectors.shape[1])
    write_chunks(conn, chunks, vectors)
    write_chunks(conn, [_made_up(number, chunks[at]) for number, at in enumerate(anchor)], made)
    write_chunks(conn, [note], encode([SECRET]), partition="issues")


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
