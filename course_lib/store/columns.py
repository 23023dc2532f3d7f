"""Columns: the lists that tables, inserts and upserts are made from.

A new column is one line here; one of chunks that is filled from `customMeta` is named in
`FROM_META` as well, and one of documents that is filled is a field of `SourceDocument`. Where
`customMeta` lacks it, it is NULL, and `branch` is empty: so a new column has to allow NULL.
Tables that are there already are not changed: with a new column, `SCHEMA_VERSION` is raised.
"""

from __future__ import annotations

INLINE_VECTOR_BYTES = 7_000
"""Bytes that a vector may take and still leave room for its row on a page of 8 kB."""

_OF_THE_DOCUMENT = {
    "partition": "text NOT NULL",
    "tenant_id": "text NOT NULL",
    "repo_slug": "text NOT NULL",
    "branch": "text NOT NULL DEFAULT ''",
    "document_name": "text NOT NULL",
}

_OF_EVERY_ROW = {
    "metadata": "jsonb NOT NULL DEFAULT '{}'",
    "visibility": "text NOT NULL DEFAULT 'private' CHECK (visibility IN ('private', 'public'))",
    "created_at": "timestamptz NOT NULL DEFAULT now()",
    "updated_at": "timestamptz NOT NULL DEFAULT now()",
}

DOCUMENTS = {
    **_OF_THE_DOCUMENT,
    "id": "uuid NOT NULL DEFAULT gen_random_uuid()",
    "commit_sha": "text",
    "citation_url": "text",
    "content": "text NOT NULL",
    "content_hash": "text NOT NULL",
    "parser": "text NOT NULL",
    "settings": "text NOT NULL",
    "model": "text NOT NULL",
    **_OF_EVERY_ROW,
}
"""The columns of `documents`: name → type and rules."""

CHUNKS = {
    **_OF_THE_DOCUMENT,
    "chunk_index": "integer NOT NULL",
    "id": "uuid NOT NULL DEFAULT gen_random_uuid()",
    "commit_sha": "text",
    "kind": "text NOT NULL",
    "name": "text NOT NULL",
    "namespace": "text",
    "citation_url": "text",
    "content": "text NOT NULL",
    "content_hash": "text NOT NULL",
    **_OF_EVERY_ROW,
    "embedding": "vector NOT NULL",
}
"""The columns of `document_chunks`; `chunk_columns` gives the vectors their dimension."""

DOCUMENT_KEY = tuple(_OF_THE_DOCUMENT)
CHUNK_KEY = (*DOCUMENT_KEY, "chunk_index")

FROM_META = {
    "branch": "branch",
    "commit_sha": "commitSha",
    "namespace": "namespace",
    "citation_url": "citationUrl",
}
"""Columns of chunks that `Chunk` has no field for, and where `customMeta` holds their values."""


def chunk_columns(dimension: int) -> dict[str, str]:
    """Return the columns of `document_chunks` for vectors of so many dimensions.

    A vector is kept in its row where there is room for it, and is read with it then; moved out of
    line (TOAST), it costs a look-up each.

    Examples
    --------
    >>> chunk_columns(384)["embedding"]
    'vector(384) STORAGE PLAIN NOT NULL'
    """
    storage = "PLAIN" if dimension * 4 + 8 <= INLINE_VECTOR_BYTES else "EXTERNAL"
    return CHUNKS | {"embedding": f"vector({dimension}) STORAGE {storage} NOT NULL"}
