"""The tables that lab 08's ranking by words reads, with chunks of a few words.

`fill` is shown where a call fails, so that it can be pasted into a cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg

TABLES = """
DROP TABLE IF EXISTS pg_temp.document_chunks, pg_temp.word CASCADE;
CREATE TEMP TABLE document_chunks (
    partition text, tenant_id text DEFAULT 'local', repo_slug text DEFAULT 'docs',
    branch text DEFAULT '', document_name text, chunk_index integer DEFAULT 0,
    visibility text, search_text tsvector
) PARTITION BY LIST (partition);
CREATE TEMP TABLE documentation PARTITION OF document_chunks FOR VALUES IN ('documentation');
CREATE TEMP TABLE issues PARTITION OF document_chunks FOR VALUES IN ('issues');
CREATE TEMP VIEW visible AS
    SELECT tableoid AS part, ctid AS address, search_text FROM document_chunks
    WHERE visibility = 'public';
CREATE TEMP TABLE word (number bigint, query tsquery);
"""


def fill(
    db: psycopg.Connection[Any],
    asked: str,
    chunks: Mapping[str, str],
    hidden: Mapping[str, str] | None = None,
) -> None:
    """Make the temporary tables `document_chunks`, `visible` and `word`.

    Parameters
    ----------
    db
        A connection in autocommit.
    asked
        The words of a question, with blanks between them.
    chunks
        The words of each chunk, by its document's name. Documents whose names begin with "z" are
        in another partition.
    hidden
        Chunks that are not among the visible ones.

    Examples
    --------
    >>> fill(db, "pod", {"a.md": "pod limit"}, hidden={"b.md": "pod"})  # doctest: +SKIP
    """
    db.execute(TABLES.encode())
    rows = [(name, words, "public") for name, words in chunks.items()]
    rows += [(name, words, "private") for name, words in (hidden or {}).items()]
    columns = "partition, document_name, visibility, search_text"
    with db.cursor().copy(f"COPY document_chunks ({columns}) FROM STDIN".encode()) as copy:
        for name, words, visibility in rows:
            partition = "issues" if name.startswith("z") else "documentation"
            copy.write_row((partition, name, visibility, words))
    for number, word in enumerate(asked.split(), 1):
        db.execute("INSERT INTO word VALUES (%s, %s::tsquery)", (number, word))
