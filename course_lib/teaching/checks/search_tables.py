"""The tables that lab 07's searches read: some rows of a call, or a crowd of 2,200.

`make_search_table` is shown where a call fails, so that it can be pasted into a cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import psycopg

from course_lib.records import Query

DEFAULTS = {
    "partition": "issues", "kind": "doc-section", "repo_slug": "docs", "branch": "",
    "document_name": "a.md",
}  # fmt: skip
"""What is in the columns that filters are about, where no row says so; the others have NULL."""

_FILTERED = ", ".join(
    f"{name} text NOT NULL DEFAULT '{DEFAULTS[name]}'" if name in DEFAULTS else f"{name} text"
    for name in Query().filters
)
TABLE = f"""
CREATE TEMP TABLE IF NOT EXISTS document_chunks (
    id uuid NOT NULL DEFAULT gen_random_uuid(), {_FILTERED},
    chunk_index integer NOT NULL DEFAULT 0, name text NOT NULL DEFAULT 'Heading',
    citation_url text, content text NOT NULL DEFAULT 'text',
    metadata jsonb NOT NULL DEFAULT '{{}}', embedding vector(4) NOT NULL DEFAULT '[1, 0, 0, 0]'
);
TRUNCATE pg_temp.document_chunks;
DROP INDEX IF EXISTS pg_temp.graph
"""
INDEX = """
CREATE INDEX graph ON document_chunks USING hnsw (embedding vector_cosine_ops);
ANALYZE document_chunks
"""
MANY = """
INSERT INTO document_chunks (document_name, chunk_index, kind, embedding)
SELECT 'many.md', n, 'many', ARRAY[1, n / 1e4, 0, 0]::vector FROM generate_series(1, %s) AS n
"""
DEAR_PAGES = "SET seq_page_cost = 1000"
"""With whole pages this dear, the planner takes the index wherever the order allows it."""

IS_CROWD = "SELECT obj_description(to_regclass('pg_temp.document_chunks'), 'pg_class')"

Vectors = npt.NDArray[np.float32]


def make_search_table(
    db: psycopg.Connection[Any], columns: str = "", rows: Iterable[Sequence[Any]] = (),
    many: int = 0, index: bool = False,
) -> None:  # fmt: skip
    """Make the temporary table `document_chunks`: with some rows, or without any with 2,200.

    Parameters
    ----------
    db
        A connection in autocommit.
    columns
        The names of the columns that the rows have, with blanks between them. Without them the
        table is the crowd, if it is not already: a row's partition is its kind, and its document
        is called like it.
    rows
        What is in these columns; the others have their defaults.
    many
        So many rows more, of the kind "many" and the document many.md, nearly in the direction of
        [1, 0, 0, 0].
    index
        Whether to make an HNSW index, which is taken wherever it is of use. The crowd has one.

    Examples
    --------
    >>> make_search_table(db, "document_name kind", [("a.md", "note")])  # doctest: +SKIP
    """
    is_crowd = not columns
    if is_crowd:
        if db.execute(IS_CROWD).fetchone() == ("crowd",):
            db.execute(DEAR_PAGES)
            return
        columns, rows, index = "document_name chunk_index kind partition embedding", _mixed(), True
    db.execute(TABLE.encode())
    names = ", ".join(columns.split())
    with db.cursor().copy(f"COPY document_chunks ({names}) FROM STDIN".encode()) as copy:
        for row in rows:
            copy.write_row([str(one) if isinstance(one, list) else one for one in row])
    db.execute(MANY, (many,))
    if index:
        db.execute(f"{INDEX}; {DEAR_PAGES}".encode())
    if is_crowd:
        db.execute("COMMENT ON TABLE document_chunks IS 'crowd'")


@cache
def _mixed() -> list[tuple[Any, ...]]:
    """Return the crowd's rows in an order that says nothing."""
    rows = [
        (f"{kind}.md", at, kind, kind, str(vector.tolist()))
        for kind, vectors in crowd_vectors().items() for at, vector in enumerate(vectors)
    ]  # fmt: skip
    return [rows[at] for at in np.random.default_rng(6).permutation(len(rows))]


def crowd_vectors() -> dict[str, Vectors]:
    """Return vectors by kind: many anywhere, 200 far from the query, and a few of the others."""
    angles = np.linspace(2.0, 3.0, 200)[:, None]  # from the query: 114 degrees and more
    aside = directions(200)[:, 1:]
    aside /= np.linalg.norm(aside, axis=1, keepdims=True)
    groups: dict[str, Any] = {
        "many": directions(1_987),
        "far": np.hstack([np.cos(angles), np.sin(angles) * aside]),
        "near": [[1, 0.01, 0, 0], [1, 0, 0.02, 0]],
        "rare": [[4, 3, 0, 0], [3, 4, 0, 0], [1, 0, 4, 8]],
        "odd": [[0, 0, 0, 0], [3, 0, 4, 0], [-3, 4, 0, 0]],
        "edge": [[1, 1, 1, 1], [0.999, 1, 1, 1]],  # 0.5, and 0.4996
        "tied": [[3, 4, 0, 0]] * 3,
    }
    return {kind: np.array(vectors, dtype=np.float32) for kind, vectors in groups.items()}


def directions(count: int) -> Vectors:
    """Return so many unit vectors of four numbers, always the same."""
    rows = np.random.default_rng(count).normal(size=(count, 4))
    unit: npt.NDArray[np.float64] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit.astype(np.float32)
