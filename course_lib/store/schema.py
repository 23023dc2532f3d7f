"""The tables: `documents` holds each source once, `document_chunks` its pieces with their vectors.

Both are LIST-partitioned by `partition`, so that a search of one partition reads nothing of the
others and each has a vector index of its own. What is filtered on is a real column, because the
planner keeps statistics about columns and none about the insides of a JSON value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import LiteralString

import psycopg
from psycopg import sql
from psycopg.rows import tuple_row

from course_lib.errors import SchemaMismatchError
from course_lib.records import PARTITIONS
from course_lib.store.collection import open_collection, ways_out
from course_lib.store.columns import CHUNK_KEY, DOCUMENT_KEY, DOCUMENTS, chunk_columns
from course_lib.store.roles import grant_to_service_roles
from course_lib.store.tenancy import protect_tables
from course_lib.store.version import mark_version, refuse_other_version
from course_lib.store.words import add_word_search, drop_word_search

STORED_DIMENSION: LiteralString = (
    "SELECT atttypmod FROM pg_attribute "
    "WHERE attrelid = to_regclass('document_chunks') AND attname = 'embedding'"
)
"""Asks for the dimension, which pgvector keeps in `atttypmod`; no row where there is no table."""

# With the rights of whoever reads it: a view has its owner's otherwise, and shows every tenant.
_CODE_VIEW: LiteralString = """
CREATE VIEW code_chunks WITH (security_invoker = true) AS
SELECT chunk.content AS content_text, document_name AS file_path, kind AS resource_kind,
       name AS resource_name, repo_slug AS repo_name, branch,
       -- A document that did not change has its chunks from an earlier commit than its own.
       coalesce(replace(chunk.citation_url, chunk.commit_sha, document.commit_sha),
                chunk.citation_url) AS citation_url
FROM document_chunks AS chunk LEFT JOIN documents AS document
    USING (partition, tenant_id, repo_slug, branch, document_name)
WHERE partition IN ({partitions})
"""

# The last one also finds the rows of a document, as the primary key does: a planner that knows
# nothing of the table yet takes the smaller of two, and of (repo_slug, branch) alone all rows fit.
_INDEXES: LiteralString = """
CREATE INDEX document_chunks_document_name ON document_chunks (document_name);
CREATE INDEX document_chunks_kind ON document_chunks (kind);
CREATE INDEX document_chunks_namespace ON document_chunks (namespace);
CREATE INDEX document_chunks_repo_branch ON document_chunks (repo_slug, branch, document_name);
"""
CODE_PARTITIONS = tuple(name for name in PARTITIONS if name.startswith("code_"))

VECTOR_LIMIT = 2_000
"""Most dimensions of a `vector` that pgvector indexes as it is."""

HALF_PRECISION_LIMIT = 4_000
"""Most dimensions that pgvector indexes with two bytes a number in place of four (`halfvec`).

With more, a search looks at all rows. Both limits are for `build_vector_indexes`.
"""


def create_table_sql(table: str, columns: Mapping[str, str], key: Sequence[str]) -> str:
    """Return the SQL that creates a table with a primary key.

    `columns` holds the name of each column, and its type and rules. `key` names the columns that
    together tell one row from all others: they are the primary key, in the order given.

    Examples
    --------
    >>> columns = {"page": "text NOT NULL", "line": "integer NOT NULL", "note": "text"}
    >>> print(create_table_sql("notes", columns, ["page", "line"]))
    CREATE TABLE notes (
        page text NOT NULL,
        line integer NOT NULL,
        note text,
        PRIMARY KEY (page, line)
    )
    """
    lines = [f"{name} {definition}" for name, definition in columns.items()]
    lines.append(f"PRIMARY KEY ({', '.join(key)})")
    body = ",\n    ".join(lines)
    return f"CREATE TABLE {table} (\n    {body}\n)"


def partitioned_table_sql(
    table: str, columns: Mapping[str, str], key: Sequence[str], partitions: Sequence[str]
) -> str:
    """Return the SQL that creates a table with a partition for each value of `partition`.

    The table is that of `create_table_sql`. Each name in `partitions` gets a partition called
    `<table>_<name>`, which holds the rows with this value in the column `partition`. All other rows
    go into `<table>_default`. The names hold only lowercase letters and underscores.

    Examples
    --------
    >>> columns = {"partition": "text NOT NULL", "page": "text NOT NULL"}
    >>> print(partitioned_table_sql("notes", columns, ["partition", "page"], ["recipes"]))
    CREATE TABLE notes (
        partition text NOT NULL,
        page text NOT NULL,
        PRIMARY KEY (partition, page)
    ) PARTITION BY LIST (partition);
    CREATE TABLE notes_recipes PARTITION OF notes FOR VALUES IN ('recipes');
    CREATE TABLE notes_default PARTITION OF notes DEFAULT
    """
    statements = [f"{create_table_sql(table, columns, key)} PARTITION BY LIST (partition)"]
    for name in partitions:
        statements.append(
            f"CREATE TABLE {table}_{name} PARTITION OF {table} FOR VALUES IN ('{name}')"
        )
    statements.append(f"CREATE TABLE {table}_default PARTITION OF {table} DEFAULT")
    return ";\n".join(statements)


def create_schema(conn: psycopg.Connection, vector_dim: int = 384) -> None:
    """Create the tables, their partitions and indexes, where they are not there yet.

    The vector indexes come later: see `build_vector_indexes`.

    Parameters
    ----------
    conn
        A connection whose role may create tables; the extension `vector` is installed.
    vector_dim
        Dimension of the vectors.

    Raises
    ------
    SchemaMismatchError
        If the tables are there with another dimension, or of another version of the course.
    """
    with conn.transaction():
        # Two processes that start at once would both find no table and both create it.
        conn.execute("SELECT pg_advisory_xact_lock(hashtext('course schema'))")
        open_collection(conn)
        found = stored_dimension(conn)
        if found is None:
            _create_tables(conn, vector_dim)
            protect_tables(conn)
            add_word_search(conn)
            _create_view(conn)
            mark_version(conn, "document_chunks")
        elif found != vector_dim:
            raise SchemaMismatchError(
                f"the table document_chunks holds vectors of {found} dimensions, "
                f"the model gives {vector_dim}",
                hint=ways_out(),
            )
        refuse_other_version(conn, "document_chunks", "documents")
        if owns_tables(conn):
            grant_to_service_roles(conn)


def _create_view(conn: psycopg.Connection) -> None:
    partitions = sql.SQL(", ").join(map(sql.Literal, CODE_PARTITIONS))
    conn.execute(sql.SQL(_CODE_VIEW).format(partitions=partitions))


def owns_tables(conn: psycopg.Connection) -> bool:
    """Return whether the connection's role may change the tables, and not only their rows."""
    row = conn.execute(
        "SELECT pg_has_role(relowner, 'usage') FROM pg_class "
        "WHERE oid = to_regclass('document_chunks')"
    ).fetchone()
    return bool(row and row[0])


def _create_tables(conn: psycopg.Connection, vector_dim: int) -> None:
    chunks = chunk_columns(vector_dim)
    conn.execute(partitioned_table_sql("documents", DOCUMENTS, DOCUMENT_KEY, PARTITIONS))
    conn.execute(partitioned_table_sql("document_chunks", chunks, CHUNK_KEY, PARTITIONS))
    conn.execute(_INDEXES)


def stored_dimension(conn: psycopg.Connection) -> int | None:
    """Return the dimension of the vectors in `document_chunks`, or None without such a table."""
    row = conn.cursor(row_factory=tuple_row).execute(STORED_DIMENSION).fetchone()
    return row[0] if row else None


def table_for(partition: str) -> str:
    """Return the name of the table that holds the chunks of a partition.

    Examples
    --------
    >>> table_for("documentation"), table_for("my-own")
    ('document_chunks_documentation', 'document_chunks_default')
    """
    return f"document_chunks_{partition if partition in PARTITIONS else 'default'}"


TABLES = (*map(table_for, PARTITIONS), table_for(""))
"""The tables that hold chunks, one a partition."""


def drop_schema(conn: psycopg.Connection) -> None:
    """Drop the tables and everything in them."""
    with conn.transaction():
        conn.execute("DROP VIEW IF EXISTS code_chunks")
        conn.execute("DROP TABLE IF EXISTS documents, document_chunks")
        drop_word_search(conn)
