"""Rows: chunks and their vectors go in, checked, and the rows of `document_chunks` come out.

What has a column of its own leaves `customMeta`; what has none joins it. Nothing here knows the
database.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
from psycopg.types.json import Jsonb

from course_lib.errors import InputError
from course_lib.records import Chunk, Visibility, content_hash

DOCUMENT_KEY = ("partition", "tenant_id", "repo_slug", "branch", "document_name")
"""The columns that tell a document from all others, as in `schema.sql`."""

FROM_META = {
    "branch": "branch",
    "commit_sha": "commitSha",
    "namespace": "namespace",
    "citation_url": "citationUrl",
}
"""Columns of chunks that `Chunk` has no field for, and where `customMeta` holds their texts. Where
it lacks one, that is NULL, and `branch` is empty."""

Row = dict[str, object]
"""A value for each column of `document_chunks` that the database does not fill itself."""

DocumentKey = tuple[object, ...]
"""The values of `DOCUMENT_KEY`: partition, tenant, repository and branch, and the name."""

NUMBERED = "Number the chunks of a document 0, 1, 2, … or leave chunkIndex out."


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
        If the partition is not text or is empty, or the visibility is not one of the two.
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
) -> dict[DocumentKey, list[Row]]:
    """Return document → its rows, one a chunk; a document is the values of `DOCUMENT_KEY`.

    Raises
    ------
    InputError
        If a document has two chunks at one place, or `customMeta` holds what does not fit its
        column.
    """
    documents: dict[DocumentKey, list[Row]] = {}
    seen: set[tuple[object, ...]] = set()
    for chunk, vector in zip(chunks, vectors, strict=True):
        row = _row(chunk) | {
            "partition": partition,
            "visibility": visibility,
            "embedding": vector,
        }
        document = tuple(row[name] for name in DOCUMENT_KEY)
        rows = documents.setdefault(document, [])
        row["chunk_index"] = _index(chunk, len(rows))
        place = (*document, row["chunk_index"])
        if place in seen:
            raise InputError(
                f"{chunk.source_path} has two chunks with chunkIndex {row['chunk_index']}",
                hint=NUMBERED,
            )
        seen.add(place)
        rows.append(row)
    return documents


def _row(chunk: Chunk) -> Row:
    """Return what a chunk says about each column; the rest of its `customMeta` is `metadata`."""
    meta = dict(chunk.custom_meta)
    meta.pop("chunkIndex", None)
    row: Row = {
        "tenant_id": chunk.tenant_id,
        "repo_slug": chunk.repo_slug,
        "document_name": chunk.source_path,
        "kind": chunk.kind,
        "name": chunk.name,
        "content": chunk.content,
        "content_hash": content_hash(chunk),
    }
    for name, key in FROM_META.items():
        row[name] = _text(chunk, key, meta.pop(key, None))
    row["branch"] = row["branch"] or ""
    of_parser = {
        "parserId": chunk.parser_id,
        "parserVersion": chunk.parser_version,
        "lineStart": chunk.line_start,
        "lineEnd": chunk.line_end,
        "className": chunk.class_name,
        "extends": chunk.extends,
    }
    meta |= {key: value for key, value in of_parser.items() if value is not None}
    row["metadata"] = Jsonb(meta)
    return row


def _index(chunk: Chunk, place: int) -> int:
    """Return a chunk's number in its document: `customMeta.chunkIndex`, or else its place."""
    index = chunk.custom_meta.get("chunkIndex", place)
    if type(index) is not int or not 0 <= index < 2**31:
        raise InputError(
            f"{chunk.source_path} has a chunk with chunkIndex {index!r}", hint=NUMBERED
        )
    return index


def _text(chunk: Chunk, key: str, value: object) -> object:
    """Return what `customMeta` holds for a column, if it is a text or nothing."""
    if value is not None and not isinstance(value, str):
        raise InputError(
            f"{chunk.source_path} has a chunk whose customMeta.{key} is {value!r}, no text",
            hint="Make it a string, or leave it out.",
        )
    return value
