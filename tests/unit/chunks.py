"""A chunk for a test, with whatever matters to it, and the rest filled in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import psycopg

from course_lib.records import Chunk
from course_lib.store import write_chunks


def make_chunk(content: str, **fields: Any) -> Chunk:
    return Chunk(
        **{
            "tenant_id": "ours",
            "repo_slug": "docs",
            "root_kind": "external-source",
            "source_path": "a.md",
            "content": content,
            "hash_inputs": ["content"],
            "parser_id": "test",
            "parser_version": "1.0.0",
            "kind": "thing",
            "name": "",
            **fields,
        }
    )


def write(
    conn: psycopg.Connection,
    *contents: str,
    vector: Any = (1, 0, 0),
    partition: str = "documentation",
    **fields: Any,
) -> None:
    """Write one document, whose pieces all have the same vector."""
    chunks = [make_chunk(content, **fields) for content in contents]
    vectors = np.tile(np.array([vector], np.float32), (len(chunks), 1))
    write_chunks(conn, chunks, vectors, partition=partition)


def write_many(conn: psycopg.Connection, dimension: int, partition: str, count: int = 3) -> None:
    """Write one document of so many pieces, whose vectors lie anywhere."""
    vectors = np.random.default_rng(7).normal(size=(count, dimension)).astype(np.float32)
    chunks = [make_chunk(f"chunk {index}") for index in range(count)]
    write_chunks(conn, chunks, vectors, partition=partition)


class PlainRow(NamedTuple):
    """What a chunk of a large table differs in."""

    tenant: str
    branch: str
    kind: str
    content: str
    vector: Any


def copy_chunks(conn: psycopg.Connection, rows: Iterable[PlainRow]) -> None:
    """Copy thousands of chunks of 40 documents into the partition `documentation`."""
    with (
        conn.cursor() as cursor,
        cursor.copy(
            "COPY document_chunks_documentation (partition, tenant_id, repo_slug, branch,"
            " document_name, chunk_index, kind, name, content, content_hash, embedding)"
            " FROM STDIN (FORMAT BINARY)"
        ) as copy,
    ):
        copy.set_types([*["text"] * 5, "int4", *["text"] * 4, "vector"])
        for at, row in enumerate(rows):
            copy.write_row(
                ("documentation", row.tenant, "docs", row.branch, f"{at % 40}.md", at)
                + (row.kind, "", row.content, "", row.vector)
            )
