"""Vectors that are stored already: what did not change need not be encoded again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import psycopg
from psycopg.rows import tuple_row

from course_lib.records import Scope, embedded_text


def stored_vectors(
    conn: psycopg.Connection[Any], scope: Scope, names: Sequence[str]
) -> dict[str, np.ndarray[Any, np.dtype[np.float32]]]:
    """Return embedded text → vector for the chunks of some documents, of one and the same model.

    Parameters
    ----------
    conn
        A connection from `connect`.
    scope
        Where the documents belong.
    names
        Their names.
    """
    with conn.cursor(row_factory=tuple_row, binary=True) as cursor:
        rows = cursor.execute(
            "SELECT content, metadata->>'header', embedding FROM document_chunks "
            "WHERE partition = %s AND tenant_id = %s AND repo_slug = %s AND branch = %s "
            "AND document_name = ANY(%s)",
            [*scope.key, list(names)],
        ).fetchall()
    return {
        embedded_text(content, header): embedding.to_numpy().astype(np.float32)
        for content, header, embedding in rows
    }
