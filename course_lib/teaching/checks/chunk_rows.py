"""Rows of `document_chunks` for lab 06: made, written as in a cell, and read again.

`document`, `make_temporary_table`, `insert_of` and `row` are shown where a call fails, so that it
can be pasted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from course_lib.records import Chunk
from course_lib.store.rows import FROM_META
from course_lib.store.schema import SCHEMA, filled

Row = dict[str, Any]
ROW: Row = {
    "partition": "issues", "tenant_id": "local", "repo_slug": "docs", "branch": "main",
    "document_name": "a.md", "chunk_index": 0, "kind": "doc-section", "name": "Heading",
    "content": "one", "content_hash": "hash", "metadata": "{}", "visibility": "private",
    "embedding": "[1,2,3]",
}  # fmt: skip
OPTIONAL = tuple(name for name in FROM_META if name not in ROW)
"""Columns that a chunk may have nothing for."""

ROW |= dict.fromkeys(OPTIONAL)
KEY = tuple(ROW)[:6]
BESIDE: Row = {
    "partition": "documentation", "tenant_id": "acme", "repo_slug": "wiki", "branch": "v2",
    "document_name": "b.md", "chunk_index": 1,
}  # fmt: skip
"""A change of one of these makes another row."""

NOT_NULL = ", ".join(f"{name}={value!r}" for name, value in ROW.items() if value is not None)
ABOUT_ROW = f"# row() has {NOT_NULL}; all else is None"
"""What a pasted call says of `row`."""


def row(**changes: Any) -> Row:
    """Return a row of `document_chunks`: chunk 0 of a.md, but for these columns.

    Examples
    --------
    >>> row(chunk_index=1)["document_name"], row(chunk_index=1)["chunk_index"]
    ('a.md', 1)
    """
    return {**ROW, **changes}


def document(**changes: Any) -> Row:
    """Return the five columns that say which document `row` is of, but for these changes."""
    return {name: value for name, value in row(**changes).items() if name in KEY[:5]}


def short(one: Mapping[str, Any], function: str = "row") -> str:
    """Return a row, or its first columns, as a call of this function.

    Examples
    --------
    >>> short(row(content="two"))
    "row(content='two')"
    """
    changes = (f"{name}={value!r}" for name, value in one.items() if value != ROW[name])
    return f"{function}({', '.join(changes)})"


def different(rows: Iterable[Row]) -> list[Row]:
    """Return rows of which no two have one key."""
    return list({tuple(one[name] for name in KEY): one for one in rows}.values())


def insert_of(one: Mapping[str, Any]) -> str:
    """Return the statement that inserts a row, and gives the table in which it then is."""
    values = ", ".join(sql.Literal(value).as_string() for value in one.values())
    insert = f"INSERT INTO document_chunks ({', '.join(one)}) VALUES ({values})"
    return f"{insert} RETURNING tableoid::regclass::text"


def make_table(db: psycopg.Connection[Any], rows: Iterable[Row]) -> None:
    """Make the course's `document_chunks` without partitions, with these rows of long ago."""
    _, _, table = filled(SCHEMA, 3).partition("CREATE TABLE document_chunks (")
    db.execute(f"CREATE TABLE document_chunks ({re.split('^[)]', table, flags=re.M)[0]})".encode())
    then = dict.fromkeys(("created_at", "updated_at"), "2020-01-01")
    for number, one in enumerate(rows):
        db.execute(insert_of({**one, **then, "id": str(UUID(int=number))}).encode())


def make_temporary_table(db: psycopg.Connection[Any], *rows: Row) -> None:
    """Make a temporary table `document_chunks` for vectors of three numbers, with these rows."""
    # A zone that no place has: here a moment that has lost its zone is another moment.
    db.execute("SET TIME ZONE INTERVAL '-7:17' HOUR TO MINUTE; SET search_path TO pg_temp, public")
    db.execute("DROP TABLE IF EXISTS pg_temp.document_chunks CASCADE")
    make_table(db, rows)


def stored(db: psycopg.Connection[Any]) -> dict[str, Any]:
    """Return the rows of the table, and which of them are new, and which were updated."""
    columns = ", ".join(ROW).replace("metadata", "metadata::text")
    asked = f"""SELECT {columns.replace("embedding", "embedding::text")},
        CASE WHEN id::text LIKE '00000000-%' AND created_at = '2020-01-01' THEN 'as before'
            ELSE 'new' END AS id,
        CASE WHEN updated_at BETWEEN now() - interval '1 minute' AND now() THEN 'now()'
            ELSE updated_at::text END AS updated_at
        FROM document_chunks"""
    with db.cursor(row_factory=dict_row) as cursor:
        found = cursor.execute(asked.encode()).fetchall()
    of = sorted(found, key=lambda one: [str(one[name]) for name in KEY])
    places = [short({name: one[name] for name in KEY}) for one in of]
    return {
        "rows": [short({name: one[name] for name in ROW}) for one in of],
        "id and created_at": dict(zip(places, (one["id"] for one in of), strict=True)),
        "updated_at": dict(zip(places, (one["updated_at"] for one in of), strict=True)),
    }


def pasted(there: Sequence[Row], *lines: str) -> str:
    """Return a cell of a lab in which lines meet these rows, in a table that goes away again."""
    return "\n    ".join([
        "from course_lib.teaching.checks.chunk_rows import document, make_temporary_table, row\n"
        f"{ABOUT_ROW}; make_temporary_table() takes such rows\n"
        "with lab.connect(autocommit=True) as db:",
        f"make_temporary_table({', '.join(['db', *map(short, there)])})",
        *lines,
        'for one in db.execute("SELECT * FROM document_chunks"): print(one)',
    ])  # fmt: skip


def chunks_of(*texts: str) -> list[Chunk]:
    """Return chunks of one document, as a parser makes them."""
    fields = {"tenantId": "local", "repoSlug": "docs", "rootKind": "external-source"}
    fields |= {"sourcePath": "a.md", "parserId": "test", "parserVersion": "1.0.0"}
    fields |= {"kind": "doc-section", "name": "Heading"}
    return [
        Chunk.model_validate({**fields, "content": one, "hashInputs": ["content"]}) for one in texts
    ]
