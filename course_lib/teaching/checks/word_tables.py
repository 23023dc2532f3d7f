"""The tables of lab 08: those that the ranking by words reads, and one whose words are indexed.

`fill` and `indexed` are shown where a call fails, so that it can be pasted into a cell.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import psycopg

from course_lib.teaching.checks.chunk_rows import make_table, row
from course_lib.teaching.checks.statements import run

TABLES = """
DISCARD TEMP;
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
ASKED = "INSERT INTO word VALUES (%s, %s::tsquery)"


def fill(
    db: psycopg.Connection[Any],
    asked: str,
    chunks: Mapping[str, str],
    hidden: Mapping[str, str] | None = None,
    many: Mapping[str, int] | None = None,
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
    many
        How many chunks more have these words: m0.md, m1.md, and so on.

    Examples
    --------
    >>> fill(db, "pod", {"a.md": "pod limit"}, hidden={"b.md": "pod"})  # doctest: +SKIP
    """
    db.execute(TABLES.encode())
    rows = [(name, words, "public") for name, words in chunks.items()]
    rows += [(name, words, "private") for name, words in (hidden or {}).items()]
    more = [words for words, count in (many or {}).items() for _ in range(count)]
    rows += [(f"m{at}.md", words, "public") for at, words in enumerate(more)]
    columns = "partition, document_name, visibility, search_text"
    with db.cursor().copy(f"COPY document_chunks ({columns}) FROM STDIN".encode()) as copy:
        for name, words, visibility in rows:
            partition = "issues" if name.startswith("z") else "documentation"
            copy.write_row((partition, name, visibility, words))
    db.cursor().executemany(ASKED, enumerate(asked.split(), 1))


def indexed(db: psycopg.Connection[Any], sql: str, of: str | Mapping[str, str]) -> list[str]:
    """Return the words that a text of SQL such as `SEARCH_WORDS` makes.

    Parameters
    ----------
    db
        A connection in autocommit. Nothing stays of the table that is made.
    sql
        The text, which makes `search_words` and the column `search_text`.
    of
        A text for `search_words`; or a chunk, whose `search_text` is wanted: its header, and
        columns of `document_chunks`.

    Examples
    --------
    >>> indexed(db, SEARCH_WORDS, "NetworkPolicy")  # doctest: +SKIP
    ['network', 'networkpolici', 'polici']
    """
    columns = {} if isinstance(of, str) else dict(of)
    header = {"header": columns.pop("header")} if "header" in columns else {}
    with db.transaction(force_rollback=True):
        db.execute("CREATE SCHEMA indexed; SET LOCAL search_path TO indexed, public")
        make_table(db, [row(**columns, metadata=json.dumps(header))])
        run(db, sql)
        asked = "search_words(%s)" if isinstance(of, str) else "search_text"
        values = [of] if isinstance(of, str) else []
        found = db.execute(
            f"SELECT tsvector_to_array({asked}) FROM document_chunks".encode(), values
        ).fetchone()
    return found[0] if found else []
