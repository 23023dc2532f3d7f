"""Columns: the lists that tables, inserts and upserts are made from; a new column is one line here.

A column of chunks that is not a field of `Chunk` is filled from `customMeta`, by its name in
camelCase (`commit_sha` from `commitSha`). Where that is absent it is NULL, and `branch` is empty.
So a new column has to allow NULL. Tables that are there already get it from `create_schema`, which
every ingest calls.
"""

from __future__ import annotations

from pydantic.alias_generators import to_camel

INLINE_VECTOR_BYTES = 7_000
"""Bytes that a vector may take and still leave room for its row on a page of 8 kB."""

_VISIBILITY = "text NOT NULL DEFAULT 'private' CHECK (visibility IN ('private', 'public'))"

DOCUMENTS = {
    "partition": "text NOT NULL",
    "tenant_id": "text NOT NULL",
    "repo_slug": "text NOT NULL",
    "branch": "text NOT NULL DEFAULT ''",
    "document_name": "text NOT NULL",
    "id": "uuid NOT NULL DEFAULT gen_random_uuid()",
    "commit_sha": "text",
    "citation_url": "text",
    "content": "text NOT NULL",
    "content_hash": "text NOT NULL",
    "parser": "text NOT NULL",
    "settings": "text NOT NULL",
    "model": "text NOT NULL",
    "metadata": "jsonb NOT NULL DEFAULT '{}'",
    "visibility": _VISIBILITY,
    "created_at": "timestamptz NOT NULL DEFAULT now()",
    "updated_at": "timestamptz NOT NULL DEFAULT now()",
}
"""The columns of `documents`: name → type and rules."""

CHUNKS = {
    "partition": "text NOT NULL",
    "tenant_id": "text NOT NULL",
    "repo_slug": "text NOT NULL",
    "branch": "text NOT NULL DEFAULT ''",
    "document_name": "text NOT NULL",
    "chunk_index": "integer NOT NULL",
    "id": "uuid NOT NULL DEFAULT gen_random_uuid()",
    "commit_sha": "text",
    "kind": "text NOT NULL",
    "name": "text NOT NULL",
    "namespace": "text",
    "citation_url": "text",
    "content": "text NOT NULL",
    "content_hash": "text NOT NULL",
    "metadata": "jsonb NOT NULL DEFAULT '{}'",
    "visibility": _VISIBILITY,
    "created_at": "timestamptz NOT NULL DEFAULT now()",
    "updated_at": "timestamptz NOT NULL DEFAULT now()",
    "embedding": "vector NOT NULL",
}
"""The columns of `document_chunks`; `chunk_columns` gives the vectors their dimension."""

DOCUMENT_KEY = ("partition", "tenant_id", "repo_slug", "branch", "document_name")
CHUNK_KEY = (*DOCUMENT_KEY, "chunk_index")

FROM_CHUNK = (
    *("partition", "tenant_id", "repo_slug", "document_name", "chunk_index", "kind", "name"),
    *("content", "content_hash", "metadata", "visibility", "embedding"),
)
"""Columns that `make_rows` fills from a chunk's fields, and from who writes it."""

FILLED = ("id", "created_at", "updated_at")
"""Columns that the database fills."""

FROM_META = {name: to_camel(name) for name in CHUNKS if name not in {*FROM_CHUNK, *FILLED}}
"""All other columns of chunks, and where `customMeta` holds their values."""


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
