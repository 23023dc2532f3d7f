"""Backups: rows go out as backup-record-v1, one a line, with their vectors; and come back the same.

Unlike parsed-chunk-v1, these records carry what the model made, so that a restore needs no model.
It checks instead that the vectors are of the dimension and the model that the database uses. The
X-Ray's packages are not among the rows: lock files say what they are, and a scan brings them back.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import psycopg
from psycopg import sql
from psycopg.errors import ProgramLimitExceeded
from psycopg.rows import tuple_row
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from course_lib.errors import DatabaseError, InputError, SchemaMismatchError
from course_lib.files import whole_lines
from course_lib.records import Scope, check_source_path, explain
from course_lib.store.columns import CHUNK_KEY, DOCUMENT_KEY
from course_lib.store.roles import identifiers
from course_lib.store.rows import check_place
from course_lib.store.schema import create_schema, stored_dimension
from course_lib.store.tenancy import PARENTS
from course_lib.store.vector_indexes import build_vector_indexes

VERSION = "backup-record-v1"
BATCH = 500
MOST_DIMENSIONS = 16_000
"""Of a vector, in pgvector."""

_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
"""A NUL character in JSON; the backslash before the `u` is not itself escaped."""

_KEYS = {"documents": DOCUMENT_KEY, "document_chunks": CHUNK_KEY}


@dataclass(frozen=True, slots=True)
class BackupReport:
    """How many rows of each table were written or restored."""

    documents: int
    chunks: int


def backup_lines(conn: psycopg.Connection[Any]) -> Iterator[str]:
    """Yield a backup, line by line: a header, the documents, the chunks with their vectors.

    All of it is one moment's view of the database.

    Raises
    ------
    DatabaseError
        If there is no index, or the connection is in a transaction.
    """
    if conn.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
        raise DatabaseError(
            "a backup needs a transaction of its own", hint="Commit, or use another connection."
        )
    with conn.transaction():
        conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        dimension = stored_dimension(conn)
        if dimension is None:
            raise DatabaseError("there is no index in the database", hint="Ingest first.")
        counts = {table: _count(conn, table) for table in PARENTS}
        models = conn.execute("SELECT DISTINCT model FROM documents ORDER BY 1").fetchall()
        yield json.dumps(
            {
                "schemaVersion": VERSION,
                "record": "header",
                "dimension": dimension,
                "models": [model for (model,) in models],
                **counts,
            }
        )
        for table in PARENTS:
            query = sql.SQL(
                "SELECT jsonb_build_object('schemaVersion', {version}, 'record', {table}, 'row', "
                "to_jsonb(t) - {computed}::text[] || {vector})::text FROM {source} AS t "
                "ORDER BY {key}"
            ).format(
                version=sql.Literal(VERSION),
                table=sql.Literal(table),
                computed=sql.Literal(_columns(conn, table, "<>")),
                # As an array of numbers, which is also how pgvector writes and reads a vector.
                vector=sql.SQL("jsonb_build_object('embedding', embedding::text::jsonb)")
                if table == "document_chunks"
                else sql.SQL("'{}'::jsonb"),
                source=sql.Identifier(table),
                key=identifiers(_KEYS[table]),
            )
            with conn.cursor("course_backup", row_factory=tuple_row) as cursor:
                cursor.itersize = BATCH
                cursor.execute(query)
                for (line,) in cursor:
                    yield line


def restore(
    conn: psycopg.Connection[Any],
    path: str | os.PathLike[str],
    *,
    model: str,
) -> BackupReport:
    """Put the rows of a backup into the database, all of them or none.

    Documents that are there already are replaced with all their chunks; others stay.

    Parameters
    ----------
    conn
        A connection of the tables' owner; the tables are created if they are missing.
    path
        What `backup_lines` gave, in a file.
    model
        The model that questions will be encoded with.

    Raises
    ------
    SchemaMismatchError
        If the backup's vectors are of another dimension or another model.
    InputError
        If the file cannot be read, is not a backup, or is not complete.
    """
    source = Path(path)
    try:
        with source.open("rb") as file:
            lines = enumerate((line for line in whole_lines(file) if line.strip()), 1)
            header = _header(source, next(lines, (1, b""))[1], model)
            create_schema(conn, header.dimension)
            with conn.transaction():
                report = _restore_rows(conn, source, header, lines)
                expected = BackupReport(header.documents, header.document_chunks)
                if report != expected:
                    raise InputError(
                        f"{source} holds {report.documents} documents and {report.chunks} chunks, "
                        f"its header promises {expected.documents} and {expected.chunks}",
                        hint="The file is not complete. Nothing was restored.",
                    )
    except OSError as error:
        raise InputError(
            f"{source} cannot be read: {error.strerror}", hint="Check the path."
        ) from error
    except (psycopg.DataError, psycopg.IntegrityError, ProgramLimitExceeded) as error:
        raise InputError(
            f"{source} holds a row that does not fit the tables: {error.diag.message_primary}",
            hint="Nothing was restored.",
        ) from error
    build_vector_indexes(conn)
    return report


class _Header(BaseModel):
    """The first record."""

    model_config = ConfigDict(strict=True)

    dimension: Annotated[int, Field(gt=0, le=MOST_DIMENSIONS)]
    models: list[str]
    documents: int
    document_chunks: int


def _header(source: Path, line: bytes, model: str) -> _Header:
    record = _record(source, 1, line)
    try:
        if record.get("record") != "header":
            raise ValueError("it is another record")
        header = _Header.model_validate(record)
    except ValueError as error:
        raise InputError(
            f"{source} does not begin with the header of a {VERSION} file",
            hint="`course backup FILE` writes one; records without vectors go to "
            "`course ingest-tenant`.",
        ) from error
    others = [name for name in header.models if name != model]
    if others:
        raise SchemaMismatchError(
            f"{source} holds vectors of the model {', '.join(others)}, the settings name {model}",
            hint="Set RAG_EMBED_MODEL to the backup's model, or index the documents again.",
        )
    return header


def _record(source: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
        if not isinstance(record, dict) or record.get("schemaVersion") != VERSION:
            raise ValueError(f"it is not a {VERSION} record")
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{source}, record {number}: {error}", hint="Nothing was restored."
        ) from error
    return record


def _restore_rows(
    conn: psycopg.Connection[Any],
    source: Path,
    header: _Header,
    lines: Iterator[tuple[int, bytes]],
) -> BackupReport:
    counts = dict.fromkeys(PARENTS, 0)
    documents: set[tuple[Any, ...]] = set()
    batch: list[dict[str, Any]] = []
    table = "documents"
    for number, line in lines:
        record = _record(source, number, line)
        name, row = record.get("record"), record.get("row")
        if name not in PARENTS or not isinstance(row, dict):
            raise InputError(
                f"{source}, record {number} is a row of no table: {name!r}",
                hint="Nothing was restored.",
            )
        try:
            _check_row(row, header)
            document = tuple(row.get(column) for column in DOCUMENT_KEY)
            if name == "documents" and document in documents:
                raise ValueError(f"{row['document_name']} is there twice")
            if name == "document_chunks" and document not in documents:
                raise ValueError(
                    f"a chunk of {row.get('document_name')!r}, a document that is not there"
                )
        except (ValueError, InputError) as error:
            reason = explain(error) if isinstance(error, ValidationError) else error.args[0]
            raise InputError(
                f"{source}, record {number} holds a row that does not fit the tables: {reason}",
                hint="Nothing was restored.",
            ) from error
        if name != table or len(batch) >= BATCH:
            _put(conn, table, batch)
            batch, table = [], name
        batch.append(row)
        documents.add(document)
        counts[name] += 1
    _put(conn, table, batch)
    return BackupReport(counts["documents"], counts["document_chunks"])


def _check_row(row: dict[str, Any], header: _Header) -> None:
    """Refuse what no ingest would have written, and what the tables themselves do not refuse.

    Raises
    ------
    ValueError, InputError
        With what is wrong.
    """
    check_place(row.get("partition"), row.get("visibility"))
    own = {"tenant": "tenant_id", "repo": "repo_slug", "branch": "branch"}
    Scope.model_validate({field: row.get(column) for field, column in own.items()})
    if not isinstance(row.get("document_name"), str):
        raise ValueError("its document_name is not text")
    check_source_path(row["document_name"])
    if not isinstance(row.get("metadata"), dict):
        raise ValueError("its metadata is not an object")
    if "model" in row and row["model"] not in header.models:
        raise ValueError(f"it is of the model {row['model']!r}, which the header does not name")
    index = row.get("chunk_index", 0)
    if type(index) is not int or index < 0:
        raise ValueError(f"its chunk_index is {index!r}")
    if "embedding" in row:
        vector = row["embedding"]
        if not isinstance(vector, list) or len(vector) != header.dimension:
            raise ValueError(f"its embedding is not a list of {header.dimension} numbers")
        if not all(type(number) in (int, float) for number in vector) or not any(vector):
            raise ValueError("its embedding holds only zeros, or what is not a number")
    # PostgreSQL refuses these as well, and does not say in which row they are.
    text = json.dumps(row, ensure_ascii=False, allow_nan=False)
    if _NUL.search(text):
        raise ValueError("it holds a NUL character")
    text.encode("utf-8")


def _put(conn: psycopg.Connection[Any], table: str, rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    columns = _columns(conn, table)
    unknown = {name for row in rows for name in row} - set(columns)
    if unknown:
        raise InputError(
            f"the backup has columns that {table} lacks: {', '.join(sorted(unknown))}",
            hint="It is of a newer version of the course. Nothing was restored.",
        )
    given = [name for name in columns if name in rows[0]]
    payload = json.dumps(rows)
    # A document takes the place of the one that is there, with all its chunks.
    for old in PARENTS if table == "documents" else (table,):
        conn.execute(
            sql.SQL(
                "DELETE FROM {old} WHERE ({key}) IN "
                "(SELECT {key} FROM jsonb_populate_recordset(NULL::{table}, %s::jsonb))"
            ).format(
                old=sql.Identifier(old), table=sql.Identifier(table), key=identifiers(_KEYS[table])
            ),
            [payload],
        )
    conn.execute(
        sql.SQL(
            "INSERT INTO {table} ({names}) SELECT {names} FROM "
            "jsonb_populate_recordset(NULL::{table}, %s::jsonb)"
        ).format(table=sql.Identifier(table), names=identifiers(given)),
        [payload],
    )


def _columns(
    conn: psycopg.Connection[Any], table: str, generated: Literal["=", "<>"] = "="
) -> list[str]:
    """Return the columns that can be written, or (``<>``) those that the database computes."""
    rows = conn.execute(
        "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attnum > 0 "
        f"AND NOT attisdropped AND attgenerated {generated} '' ORDER BY attnum",
        [table],
    ).fetchall()
    return [name for (name,) in rows]


def _count(conn: psycopg.Connection[Any], table: str) -> int:
    row = conn.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))).fetchone()
    return int(row[0]) if row else 0
