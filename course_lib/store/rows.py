"""Rows: chunks and their vectors go in, checked, and the rows of `document_chunks` come out.

What has a column of its own leaves `customMeta`; what has none joins it. Nothing here knows the
database.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, LiteralString, get_args

import numpy as np
from psycopg.types.json import Jsonb

from course_lib.errors import InputError
from course_lib.records import Chunk, Visibility, content_hash

COLUMNS = {
    "partition": "text",
    "tenant_id": "text",
    "repo_slug": "text",
    "branch": "text",
    "document_name": "text",
    "chunk_index": "int4",
    "commit_sha": "text",
    "kind": "text",
    "name": "text",
    "namespace": "text",
    "citation_url": "text",
    "content": "text",
    "content_hash": "text",
    "metadata": "jsonb",
    "visibility": "text",
    "embedding": "vector",
}
DOCUMENT: LiteralString = "partition, tenant_id, repo_slug, branch, document_name"
KEY = (*DOCUMENT.split(", "), "chunk_index")


def check_chunks(chunks: Sequence[Chunk], vectors: np.ndarray[Any, np.dtype[np.float32]]) -> None:
    """Refuse what cannot be stored or would be found by nothing.

    Raises
    ------
    InputError
        If the numbers of chunks and vectors differ, a vector is not finite or zero, or a text holds
        a NUL character.
    """
    if vectors.ndim != 2 or len(vectors) != len(chunks):
        raise InputError(
            f"{len(chunks)} chunks came with vectors of shape {vectors.shape}",
            hint="Pass one vector a chunk, in the same order.",
        )
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        place = int(np.flatnonzero(~finite)[0])
        raise InputError(
            f"the vector of chunk {place} ({chunks[place].source_path}) holds NaN or infinity",
            hint="Look at what the model was given for it.",
        )
    if not vectors.any(axis=1).all():
        place = int(np.flatnonzero(~vectors.any(axis=1))[0])
        raise InputError(
            f"the vector of chunk {place} ({chunks[place].source_path}) holds only zeros",
            hint="It points nowhere and is similar to nothing; encode the chunk's text.",
        )
    for chunk in chunks:
        if "\0" in chunk.content:
            raise InputError(
                f"{chunk.source_path} holds a NUL character, which PostgreSQL cannot store",
                hint="Take it out, or leave the file out.",
            )


def check_place(partition: object, visibility: object) -> None:
    """Refuse a partition or a visibility that no row can have.

    Raises
    ------
    InputError
        If the partition is no text or an empty one, or the visibility is not one of the two.
    """
    is_text = isinstance(partition, str) and partition.isprintable() and partition.strip()
    if not is_text:
        raise InputError(
            f"the partition is {partition!r}",
            hint="Name one of the course's partitions, or give yours a name of its own.",
        )
    if visibility not in get_args(Visibility):
        raise InputError(
            f"the visibility is {visibility!r}",
            hint=f"It is {' or '.join(map(repr, get_args(Visibility)))}.",
        )


def make_rows(
    chunks: Sequence[Chunk],
    vectors: np.ndarray[Any, np.dtype[np.float32]],
    partition: str,
    visibility: Visibility,
) -> list[tuple[object, ...]]:
    """Return one row a chunk, with the values of `COLUMNS`.

    Raises
    ------
    InputError
        If a document has two chunks at one place, or `customMeta` holds what does not fit its
        column.
    """
    rows: list[tuple[object, ...]] = []
    counts: dict[tuple[str, ...], int] = {}
    seen: set[tuple[object, ...]] = set()
    for chunk, vector in zip(chunks, vectors, strict=True):
        meta = dict(chunk.custom_meta)
        branch = _column(chunk, meta, "branch") or ""
        document = (partition, chunk.tenant_id, chunk.repo_slug, branch, chunk.source_path)
        index = meta.pop("chunkIndex", counts.get(document, 0))
        counts[document] = counts.get(document, 0) + 1
        if type(index) is not int or not 0 <= index < 2**31:
            raise InputError(
                f"{chunk.source_path} has a chunk with chunkIndex {index!r}",
                hint="Number the chunks of a document 0, 1, 2, … or leave chunkIndex out.",
            )
        if (*document, index) in seen:
            raise InputError(
                f"{chunk.source_path} has two chunks with chunkIndex {index}",
                hint="Number the chunks of a document 0, 1, 2, … or leave chunkIndex out.",
            )
        seen.add((*document, index))
        commit_sha = _column(chunk, meta, "commitSha")
        namespace = _column(chunk, meta, "namespace")
        citation_url = _column(chunk, meta, "citationUrl")
        meta |= {
            "parserId": chunk.parser_id,
            "parserVersion": chunk.parser_version,
            **{
                key: value
                for key, value in (
                    ("lineStart", chunk.line_start),
                    ("lineEnd", chunk.line_end),
                    ("className", chunk.class_name),
                    ("extends", chunk.extends),
                )
                if value is not None
            },
        }
        rows.append(
            (
                *document,
                index,
                commit_sha,
                chunk.kind,
                chunk.name,
                namespace,
                citation_url,
                chunk.content,
                content_hash(chunk),
                Jsonb(meta),
                visibility,
                vector,
            )
        )
    return rows


def _column(chunk: Chunk, meta: dict[str, Any], key: str) -> str | None:
    """Take out of `meta` what has a column of its own."""
    value = meta.pop(key, None)
    if value is not None and not isinstance(value, str):
        raise InputError(
            f"{chunk.source_path} has a chunk whose customMeta.{key} is {value!r}, no text",
            hint="Make it a string, or leave it out.",
        )
    return value
