"""The made-up table that lab 07's checks search: 2,200 rows, and NumPy's brute force over them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import psycopg

TABLE = """
CREATE TABLE document_chunks (
    id            uuid NOT NULL DEFAULT gen_random_uuid(),
    partition     text NOT NULL DEFAULT 'issues',
    repo_slug     text NOT NULL DEFAULT 'docs',
    branch        text NOT NULL DEFAULT '',
    document_name text NOT NULL,
    chunk_index   integer NOT NULL,
    kind          text NOT NULL DEFAULT 'doc-section',
    name          text NOT NULL DEFAULT 'Heading',
    namespace     text,
    citation_url  text,
    tenant_id     text,
    content       text NOT NULL DEFAULT 'text',
    metadata      jsonb NOT NULL DEFAULT '{}',
    embedding     vector(4) NOT NULL
)
"""
# With whole pages this dear, the planner takes the index wherever the order allows it.
INDEX = """
CREATE INDEX graph ON document_chunks USING hnsw (embedding vector_cosine_ops);
ANALYZE document_chunks; SET seq_page_cost = 1000
"""
DEFAULTS = {
    "kind": "doc-section",
    "partition": "issues",
    "namespace": None,
    "repo_slug": "docs",
    "branch": "",
    "tenant_id": None,
}
"""What a row has where nothing else is said, in the order in which `fill` takes it."""


def crowd() -> list[tuple[str, str, int, npt.NDArray[np.float32]]]:
    """Return 2,200 rows: many anywhere, 200 far from the query, and a few of each other kind."""
    many = directions(1_987)
    angles = np.linspace(2.0, 3.0, 200)[:, None]  # from the query: 114 degrees and more
    aside = directions(200)[:, 1:]
    aside /= np.linalg.norm(aside, axis=1, keepdims=True)
    far = np.hstack([np.cos(angles), np.sin(angles) * aside])
    rare = np.array([[4, 3, 0, 0], [3, 4, 0, 0], [1, 0, 4, 8]], dtype=np.float32)
    odd = np.array([[0, 0, 0, 0], [3, 0, 4, 0], [-3, 4, 0, 0]], dtype=np.float32)
    edge = np.array([[1, 1, 1, 1], [0.999, 1, 1, 1]], dtype=np.float32)  # 0.5, and 0.4996
    tied = np.array([[3, 4, 0, 0]] * 3, dtype=np.float32)
    near = np.array([[1, 0.01, 0, 0], [1, 0, 0.02, 0]], dtype=np.float32)
    groups = {"many": many, "far": far, "near": near, "rare": rare, "odd": odd, "edge": edge}
    rows = [
        (kind, f"{kind}.md", index, vector.astype(np.float32))
        for kind, vectors in (groups | {"tied": tied}).items()
        for index, vector in enumerate(vectors)
    ]
    return [rows[i] for i in np.random.default_rng(6).permutation(len(rows))]


def told(rows: list[Any], filters: dict[str, Any]) -> str:
    """Return as a comment what a hidden table holds, and which of its rows pass the filters."""
    parts = []
    for kind in _kinds(filters) or ():
        found = sorted((index, vector) for each, _, index, vector in rows if each == kind)
        vectors = ", ".join(f"[{', '.join(f'{x:g}' for x in vector)}]" for _, vector in found[:5])
        many = "more than 90 degrees from the query" if kind == "far" else "in every direction"
        where = many if len(found) > 5 else vectors or "none"
        parts.append(f"{len(found)} of kind and partition {kind!r}: {where}")
    passing = "; ".join(parts) or "all pass"
    return f"# in the check's own table of {len(rows):,} rows, with vectors of 4 numbers; {passing}"


def _kinds(filters: Mapping[str, Any]) -> list[str] | None:
    """Return the kinds of which rows pass, None for any; a row's partition is its kind."""
    kind, partitions = filters.get("kind"), filters.get("partition")
    return [kind] if kind is not None else partitions


def directions(count: int) -> npt.NDArray[np.float32]:
    """Return so many unit vectors of four numbers, always the same."""
    rows = np.random.default_rng(count).normal(size=(count, 4))
    unit: npt.NDArray[np.float64] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit.astype(np.float32)


def fill(
    connection: psycopg.Connection[Any], rows: Iterable[Sequence[Any]], *, is_indexed: bool = False
) -> None:
    """Make the table, with rows of name, index, vector and, where they differ, `DEFAULTS`.

    An index is one that the planner takes wherever the order allows it.
    """
    connection.execute(TABLE)
    columns = ", ".join(("document_name, chunk_index, embedding", *DEFAULTS))
    with connection.cursor().copy(f"COPY document_chunks ({columns}) FROM STDIN".encode()) as copy:
        for name, index, vector, *more in rows:
            rest = (*more, *list(DEFAULTS.values())[len(more) :])
            copy.write_row((name, index, str([float(one) for one in vector]), *rest))
    if is_indexed:
        connection.execute(INDEX)


def brute_force(rows: list[Any], filters: dict[str, Any]) -> list[tuple[float, str, int]]:
    """Return similarity, name and index of the rows that pass; a NaN is as far away as can be."""
    wanted = _kinds(filters)
    found = []
    for kind, name, index, vector in rows:
        if wanted is None or kind in wanted:
            length = float(np.linalg.norm(vector))
            found.append((float(vector[0]) / length if length else float("-inf"), name, index))
    return sorted(found, key=lambda row: (-row[0], row[1], row[2]))
