"""What lab 07's checks search: a small table, a crowd, NumPy's brute force, and what was done."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import psycopg
from psycopg.rows import tuple_row

from course_lib.teaching.checks.scratch import Scratch

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
INDEX = "CREATE INDEX graph ON document_chunks USING hnsw (embedding vector_cosine_ops)"
# With whole pages this dear, the planner takes the index wherever the order allows it.
PREFER_INDEX = "SET seq_page_cost = 1000"
EAST = np.array([1, 0, 0, 0], dtype=np.float32)


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
    kinds = filters.get("kind", [])
    parts = []
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        found = sorted((index, vector) for each, _, index, vector in rows if each == kind)
        vectors = ", ".join(f"[{', '.join(f'{x:g}' for x in vector)}]" for _, vector in found[:5])
        where = "more than 90 degrees from the query" if len(found) > 5 else vectors or "none"
        parts.append(f"{len(found)} of kind {kind!r}: {where}")
    passing = "; ".join(parts) or "all pass"
    return f"# in the check's own table of {len(rows):,} rows, with vectors of 4 numbers; {passing}"


def directions(count: int) -> npt.NDArray[np.float32]:
    """Return so many unit vectors of four numbers, always the same."""
    rows = np.random.default_rng(count).normal(size=(count, 4))
    unit: npt.NDArray[np.float64] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit.astype(np.float32)


def fill(db: Scratch, rows: list[Any], kinds: list[str] | None = None) -> None:
    """Write (name, index, vector) rows, with a table of their own where there is none yet."""
    db.execute(TABLE.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS"))
    with db.connection.cursor().copy(
        "COPY document_chunks (document_name, chunk_index, kind, embedding) FROM STDIN"
    ) as copy:
        for number, (name, index, vector) in enumerate(rows):
            kind = kinds[number] if kinds else "doc-section"
            copy.write_row((name, index, kind, np.asarray(vector, dtype=np.float32)))


def brute_force(rows: list[Any], filters: dict[str, Any]) -> list[tuple[float, str, int]]:
    """Return similarity, name and index of the rows that pass; a NaN is as far away as can be."""
    kinds = filters.get("kind")
    wanted = [kinds] if isinstance(kinds, str) else kinds
    found = []
    for kind, name, index, vector in rows:
        if wanted is None or kind in wanted:
            length = float(np.linalg.norm(vector))
            found.append((float(vector[0]) / length if length else float("-inf"), name, index))
    return sorted(found, key=lambda row: (-row[0], row[1], row[2]))


class Scans(NamedTuple):
    """How often the HNSW index was walked, and the table looked at as a whole."""

    walks: int
    looks: int


def scans(db: Scratch) -> Scans:
    """Return what PostgreSQL has counted until now."""
    db.execute("SELECT pg_stat_force_next_flush()")
    row = db.execute(
        "SELECT (SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelid = 'graph'::regclass), "
        "seq_scan FROM pg_stat_user_tables WHERE relid = 'document_chunks'::regclass"
    ).fetchone()
    return Scans(*row) if row else Scans(0, 0)


class Watched(psycopg.Cursor[Any]):
    """A cursor that notes in `modes` how far a walk may go on, after each statement."""

    modes: list[str]

    def execute(self, *args: Any, **kwargs: Any) -> Watched:
        """Run a statement and note the setting that it ran with."""
        super().execute(*args, **kwargs)
        plain = psycopg.Cursor(self.connection, row_factory=tuple_row)
        asked = plain.execute("SELECT current_setting('hnsw.iterative_scan', true)")
        self.modes += [row[0] for row in asked]
        return self


def watch(connection: psycopg.Connection[Any]) -> list[str]:
    """Return a list that grows by the mode of the iterative scan with each statement."""
    modes: list[str] = []
    connection.cursor_factory = type("Watched", (Watched,), {"modes": modes})
    return modes
