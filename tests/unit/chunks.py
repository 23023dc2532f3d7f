"""A chunk for a test, with whatever matters to it, and the rest filled in."""

from __future__ import annotations

from typing import Any

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
