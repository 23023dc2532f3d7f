"""Vectors that are stored already: what did not change need not be encoded again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import psycopg
from psycopg.rows import tuple_row

from course_lib.records import embedded_text
from course_lib.store.writer import Source


def stored_vectors(
    conn: psycopg.Connection[Any], source: Source, names: Sequence[str]
) -> dict[tuple[str, str], np.ndarray[Any, np.dtype[np.float32]]]:
    """Return (content hash, embedded text) → vector for the chunks of some documents.

    Parameters
    ----------
    conn
        A connection from `connect`.
    source
        Where the documents belong.
    names
        Their names.
    """
    with conn.cursor(row_factory=tuple_row, binary=True) as cursor:
        rows = cursor.execute(
            "SELECT content_hash, content, metadata->>'header', embedding FROM document_chunks "
            "WHERE partition = %s AND tenant_id = %s AND repo_slug = %s AND branch = %s "
            "AND document_name = ANY(%s)",
            [*source, list(names)],
        ).fetchall()
    return {
        (digest, embedded_text(content, header)): embedding.to_numpy().astype(np.float32)
        for digest, content, header, embedding in rows
    }
