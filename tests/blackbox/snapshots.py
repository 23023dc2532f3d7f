"""What an index holds, apart from what differs between two runs: ids, times, the last bits."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from tests.blackbox.places import Place

NEAR = 1e-3
"""How far two vectors of one text may lie apart: what batches and processors make of it."""

DOCUMENTS = """
    SELECT * FROM documents ORDER BY partition, tenant_id, repo_slug, branch, document_name
"""
CHUNKS = """
    SELECT *, embedding::text AS embedding, search_text::text AS search_text FROM document_chunks
    ORDER BY partition, tenant_id, repo_slug, branch, document_name, chunk_index
"""
MARKS = """
    SELECT 'document' AS kind, partition, tenant_id, repo_slug, branch, document_name, 0 AS number,
        id::text, xmin::text FROM documents
    UNION ALL
    SELECT 'chunk', partition, tenant_id, repo_slug, branch, document_name, chunk_index,
        id::text, xmin::text FROM document_chunks
"""
DIFFERENT = ("id", "created_at", "updated_at")

Row = dict[str, Any]
Snapshot = dict[str, list[Row]]
Marks = dict[tuple[str, ...], tuple[str, str]]


@dataclass(frozen=True, eq=False)
class Vector:
    """A vector that equals those that mean the same."""

    numbers: tuple[float, ...]

    def __eq__(self, other: object) -> bool:
        """Tell whether another is as near as makes no difference."""
        return isinstance(other, Vector) and math.dist(self.numbers, other.numbers) < NEAR

    def __repr__(self) -> str:
        """Show where it begins."""
        return f"Vector({', '.join(f'{number:.3f}' for number in self.numbers[:3])}, …)"


def snapshot(place: Place) -> Snapshot:
    """Return all rows of `documents` and `document_chunks`, without ids and times."""
    found = {"documents": place.rows(DOCUMENTS), "chunks": place.rows(CHUNKS)}
    for row in (row for rows in found.values() for row in rows):
        for name in DIFFERENT:
            del row[name]
        if "embedding" in row:
            row["embedding"] = Vector(tuple(json.loads(row["embedding"])))
    return found


def of(found: Snapshot, **fields: object) -> Snapshot:
    """Return the rows of a snapshot whose columns have these values."""
    return {
        table: [row for row in rows if all(row[name] == fields[name] for name in fields)]
        for table, rows in found.items()
    }


def but(found: Snapshot, *names: str) -> Snapshot:
    """Return the rows of a snapshot that belong to other documents than these."""
    return {
        table: [row for row in rows if row["document_name"] not in names]
        for table, rows in found.items()
    }


def renamed(found: Snapshot, **fields: object) -> Snapshot:
    """Return a snapshot with other values in these columns, and without the hashes of both."""
    return {
        table: [row | fields | {"content_hash": ""} for row in rows]
        for table, rows in found.items()
    }


def marks(place: Place, *but_of: str) -> Marks:
    """Return id and last writer of each row, but of these documents: same if nobody wrote it."""
    rows = (list(map(str, row.values())) for row in place.rows(MARKS))
    return {tuple(row[:-2]): (row[-2], row[-1]) for row in rows if row[5] not in but_of}
