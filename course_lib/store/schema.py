"""The tables: `documents` holds each source once, `document_chunks` its pieces with their vectors.

They are written in `schema.sql`, and what later labs add in `words_and_tenants.sql`, into which
`search_words.sql` and `rank_by_words.sql` are put; here they are run. Tables of an earlier version
are refused and not changed: an index is made again by an ingest.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import LiteralString

import psycopg
from psycopg import sql
from psycopg.rows import tuple_row

from course_lib.errors import DatabaseError, SchemaMismatchError
from course_lib.records import PARTITIONS
from course_lib.settings import program
from course_lib.store.collection import check_collection, open_collection, ways_out
from course_lib.store.roles import grant_to_service_roles

SCHEMA = Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")
"""The tables, with their partitions and keys."""

WORDS_AND_TENANTS = Path(__file__).with_name("words_and_tenants.sql").read_text(encoding="utf-8")
"""What later labs add: B-trees, a view of the code, the search for words, row-level security."""

SEARCH_WORDS = Path(__file__).with_name("search_words.sql").read_text(encoding="utf-8")
"""What is indexed for the search by words: the function and the column, inside of that file."""

RANK_BY_WORDS = Path(__file__).with_name("rank_by_words.sql").read_text(encoding="utf-8")
"""The ranking inside of the function for words. Its placeholder is how many rows are wanted."""

STORED: LiteralString = (
    "SELECT atttypmod, obj_description(attrelid, 'pg_class') FROM pg_attribute "
    "JOIN pg_class ON pg_class.oid = attrelid AND relkind = 'p' "
    "WHERE attrelid = to_regclass('document_chunks') AND attname = 'embedding'"
)
"""Asks for the dimension, which pgvector keeps in `atttypmod`, and the version; without the table
it gives no row. Another program's table of this name, in `public`, is not partitioned."""

INLINE_VECTOR_BYTES = 7_000
"""Bytes that a vector may take and still leave room for its row on a page of 8 kB."""

_IN_PUBLIC: LiteralString = """
SELECT FROM pg_class WHERE relkind = 'p' AND oid = to_regclass('public.document_chunks')
    AND oid = to_regclass('document_chunks')
"""
_DROP = """
DROP VIEW IF EXISTS {schema}.code_chunks;
DROP TABLE IF EXISTS {schema}.documents, {schema}.document_chunks;
"""
_DROP_FUNCTIONS = "DROP FUNCTION IF EXISTS {schema}.chunks_with_words, {schema}.search_words"


def create_schema(conn: psycopg.Connection, vector_dim: int = 384) -> None:
    """Create the tables, their partitions and B-trees, where they are not there yet.

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
        If the tables are there with another dimension, or from another version of the schema.
    """
    with conn.transaction():
        # Two processes that start at once would both find no table and both create it.
        conn.execute("SELECT pg_advisory_xact_lock(hashtext('course schema'))")
        open_collection(conn)
        row = conn.cursor(row_factory=tuple_row).execute(STORED).fetchone()
        if row is None:
            conn.execute(filled(SCHEMA + WORDS_AND_TENANTS, vector_dim, _schema_of(conn)))
            mark = sql.SQL("COMMENT ON TABLE document_chunks IS {}")
            conn.execute(mark.format(sql.Literal(schema_version())))
        else:
            check_version(row[1])
            if row[0] != vector_dim:
                raise SchemaMismatchError(
                    f"the table document_chunks holds vectors of {row[0]} dimensions, "
                    f"the model gives {vector_dim}",
                    hint=ways_out(),
                )
        if owns_tables(conn):
            grant_to_service_roles(conn)


def filled(
    text: str,
    vector_dim: int,
    schema: str = "public",
    ranking: str | None = None,
    words: str | None = None,
) -> str:
    """Return the text of a file of SQL with the values that no placeholder can stand for.

    Parameters
    ----------
    text
        With ``{dimension}``, ``{storage}``, ``{schema}``, ``{ranking}`` or ``{words}`` in it.
    vector_dim
        Dimension of the vectors. One that has room in its row is stored there.
    schema
        The schema of the tables, quoted where that is needed.
    ranking
        The ranking by words; None is `RANK_BY_WORDS`.
    words
        What is indexed for it; None is `SEARCH_WORDS`.

    Examples
    --------
    >>> filled("embedding vector({dimension}) STORAGE {storage}", 384)
    'embedding vector(384) STORAGE PLAIN'
    """
    storage = "PLAIN" if vector_dim * 4 + 8 <= INLINE_VECTOR_BYTES else "EXTERNAL"
    ranking = RANK_BY_WORDS if ranking is None else ranking
    values = {"dimension": str(int(vector_dim)), "storage": storage, "schema": schema}
    values["ranking"] = ranking.replace("%(most)s", "most")  # an argument of the function
    values["words"] = SEARCH_WORDS if words is None else words
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def schema_version() -> str:
    """Return what tables are marked with that were made by these files: a hash of what they say."""
    files = SCHEMA + WORDS_AND_TENANTS.replace("{words}", SEARCH_WORDS) + RANK_BY_WORDS
    said = re.sub(r"^\s*--.*$", "", files, flags=re.MULTILINE)
    return f"course schema {hashlib.sha256(' '.join(said.split()).encode()).hexdigest()[:12]}"


def check_version(mark: str | None) -> None:
    """Refuse tables that another version of the schema has made; `mark` is their comment.

    Raises
    ------
    SchemaMismatchError
        Naming the command that drops them.
    """
    if mark != schema_version():
        raise SchemaMismatchError(
            "the index was made with another version of the schema",
            hint=f"Run `{program()} db reset`, which drops the tables of the documents and nothing "
            f"else, and then `{program()} ingest` again.",
        )


def _schema_of(conn: psycopg.Connection) -> str:
    """Return the schema of the collection's tables, quoted."""
    return sql.Identifier(check_collection(conn)).as_string(conn)


def owns_tables(conn: psycopg.Connection) -> bool:
    """Return whether the connection's role may change the tables, and not only their rows."""
    row = conn.execute(
        "SELECT pg_has_role(relowner, 'usage') FROM pg_class "
        "WHERE oid = to_regclass('document_chunks')"
    ).fetchone()
    return bool(row and row[0])


def stored_dimension(conn: psycopg.Connection) -> int | None:
    """Return the dimension of the vectors in `document_chunks`, or None without such a table."""
    row = conn.cursor(row_factory=tuple_row).execute(STORED).fetchone()
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
    """Drop the tables of the documents and everything in them; the packages of X-Ray stay.

    Raises
    ------
    DatabaseError
        If something that is not the course's, such as a view, is built on them. Nothing is dropped.
    """
    try:
        with conn.transaction():
            # Earlier versions had them in `public`, and so has who runs schema.sql by hand. A table
            # of another program's that is called like ours is not partitioned, and stays.
            if conn.execute(_IN_PUBLIC).fetchone() is not None:
                conn.execute(filled(_DROP, 0, "public"))
            conn.execute(filled(_DROP + _DROP_FUNCTIONS, 0, _schema_of(conn)))
    except psycopg.errors.DependentObjectsStillExist as error:
        raise DatabaseError(
            f"the index was not dropped: {error.diag.message_detail}",
            hint="Drop what is named here first, for example with `course db psql`.",
        ) from error
