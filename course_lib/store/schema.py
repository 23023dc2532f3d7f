"""The tables: `documents` holds each source once, `document_chunks` its pieces with their vectors.

Both are LIST-partitioned by `partition`, so that a search of one partition reads nothing of the
others and each has a vector index of its own. What is filtered on is a real column, because the
planner keeps statistics about columns and none about the insides of a JSON value.
"""

from __future__ import annotations

from typing import LiteralString

import psycopg
from psycopg import sql
from psycopg.rows import tuple_row

from course_lib.errors import SchemaMismatchError
from course_lib.records import PARTITIONS
from course_lib.store.collection import open_collection, see_own_tables_only, ways_out
from course_lib.store.roles import grant_to_service_roles
from course_lib.store.tenancy import protect_tables
from course_lib.store.words import add_word_search, drop_word_search

STORED_DIMENSION: LiteralString = (
    "SELECT atttypmod FROM pg_attribute "
    "WHERE attrelid = to_regclass('document_chunks') AND attname = 'embedding'"
)
"""Asks for the dimension of the vectors; no row where there is no table."""

_TABLES: LiteralString = """
CREATE TABLE documents (
    partition       text NOT NULL,
    tenant_id       text NOT NULL,
    repo_slug       text NOT NULL,
    branch          text NOT NULL DEFAULT '',
    document_name   text NOT NULL,
    id              uuid NOT NULL DEFAULT gen_random_uuid(),
    commit_sha      text,
    citation_url    text,
    content         text NOT NULL,
    content_hash    text NOT NULL,
    parser          text NOT NULL,
    settings        text NOT NULL,
    model           text NOT NULL,
    metadata        jsonb NOT NULL DEFAULT '{{}}',
    visibility      text NOT NULL DEFAULT 'private' CHECK (visibility IN ('private', 'public')),
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (partition, tenant_id, repo_slug, branch, document_name)
) PARTITION BY LIST (partition);

CREATE TABLE document_chunks (
    partition       text NOT NULL,
    tenant_id       text NOT NULL,
    repo_slug       text NOT NULL,
    branch          text NOT NULL DEFAULT '',
    document_name   text NOT NULL,
    chunk_index     integer NOT NULL,
    id              uuid NOT NULL DEFAULT gen_random_uuid(),
    commit_sha      text,
    kind            text NOT NULL,
    name            text NOT NULL,
    namespace       text,
    citation_url    text,
    content         text NOT NULL,
    content_hash    text NOT NULL,
    metadata        jsonb NOT NULL DEFAULT '{{}}',
    visibility      text NOT NULL DEFAULT 'private' CHECK (visibility IN ('private', 'public')),
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    embedding       vector({dimension}) NOT NULL,
    PRIMARY KEY (partition, tenant_id, repo_slug, branch, document_name, chunk_index)
) PARTITION BY LIST (partition);

ALTER TABLE document_chunks ALTER COLUMN embedding SET STORAGE {storage};
CREATE INDEX document_chunks_document_name ON document_chunks (document_name);
CREATE INDEX document_chunks_kind ON document_chunks (kind);
CREATE INDEX document_chunks_namespace ON document_chunks (namespace);
CREATE INDEX document_chunks_repo_branch ON document_chunks (repo_slug, branch);
"""

# With the rights of whoever reads it: a view has its owner's otherwise, and shows every tenant.
_CODE_VIEW: LiteralString = """
CREATE OR REPLACE VIEW code_chunks WITH (security_invoker = true) AS
SELECT content AS content_text, document_name AS file_path, kind AS resource_kind,
       name AS resource_name, repo_slug AS repo_name, branch, citation_url
FROM document_chunks
WHERE partition IN ({partitions})
"""
CODE_PARTITIONS = tuple(name for name in PARTITIONS if name.startswith("code_"))

VECTOR_LIMIT = 2_000
"""Most dimensions of a `vector` that pgvector indexes as it is."""

HNSW_LIMIT = 4_000
"""Most dimensions that pgvector indexes, at half precision; beyond, a search looks at all rows."""

PAGE_LIMIT = 7_000
"""Bytes that a vector may take and still leave room for its row on a page of 8 kB."""


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
        If the tables are there with another dimension.
    """
    with conn.transaction():
        # Two processes that start at once would both find no table and both create it.
        conn.execute("SELECT pg_advisory_xact_lock(hashtext('course schema'))")
        found = stored_dimension(conn)
        if found is None:
            open_collection(conn)
            _create_tables(conn, vector_dim)
        elif found != vector_dim:
            raise SchemaMismatchError(
                f"the table document_chunks holds vectors of {found} dimensions, "
                f"the model gives {vector_dim}",
                hint=ways_out(),
            )
        else:
            see_own_tables_only(conn)  # another process may have made them since we connected
        if owns_tables(conn):
            # Tables of an earlier version of the course get what they lack.
            protect_tables(conn)
            add_word_search(conn)
            _create_view(conn)
            grant_to_service_roles(conn)


def _create_view(conn: psycopg.Connection) -> None:
    row = conn.execute(
        "SELECT to_regclass(quote_ident(current_schema()) || '.code_chunks') IS NOT NULL"
    ).fetchone()
    if row and row[0]:
        return
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
    # Kept in the row, a vector is read with it; moved out of line (TOAST), it costs a look-up each.
    in_row = vector_dim * 4 + 8 <= PAGE_LIMIT
    conn.execute(
        sql.SQL(_TABLES).format(
            dimension=sql.Literal(vector_dim), storage=sql.SQL("PLAIN" if in_row else "EXTERNAL")
        )
    )
    for table in ("documents", "document_chunks"):
        for partition in PARTITIONS:
            conn.execute(
                sql.SQL("CREATE TABLE {} PARTITION OF {} FOR VALUES IN ({})").format(
                    sql.Identifier(f"{table}_{partition}"), sql.Identifier(table), partition
                )
            )
        conn.execute(
            sql.SQL("CREATE TABLE {} PARTITION OF {} DEFAULT").format(
                sql.Identifier(f"{table}_default"), sql.Identifier(table)
            )
        )


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
        see_own_tables_only(conn)
