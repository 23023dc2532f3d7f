"""Writing rows with upsert semantics against the fastest way in, a bare binary COPY."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
from psycopg.types.json import Jsonb

from course_lib.store import connect, create_schema, fresh_database, write_chunks
from tests.bench.made_corpus import made_rows
from tests.bench.measure import Row, Timed, take_turns, wall

ROWS = 50_000


def measure(rows: int = ROWS) -> list[Row]:
    """Write the same rows into an empty table, in turn."""
    made = made_rows(rows)
    records = [
        (
            "documentation", chunk.tenant_id, chunk.repo_slug, chunk.custom_meta["branch"],
            chunk.source_path, chunk.custom_meta["chunkIndex"], chunk.kind, chunk.name,
            chunk.content, "0" * 64, Jsonb(chunk.custom_meta), vector,
        )
        for chunk, vector in zip(made.chunks, made.vectors, strict=True)
    ]  # fmt: skip
    with fresh_database("bench") as database, connect(database.url, autocommit=True) as conn:
        create_schema(conn)
        # COPY refuses tables with row-level security; ours writes to the partition, which keeps it.
        conn.execute("ALTER TABLE document_chunks NO FORCE ROW LEVEL SECURITY")

        def empty() -> None:
            conn.execute("TRUNCATE document_chunks")
            conn.execute("CHECKPOINT" if _may_checkpoint(conn) else "SELECT 1")

        def ours() -> None:
            write_chunks(conn, made.chunks, made.vectors)

        def bare_copy() -> None:
            columns = (
                "partition, tenant_id, repo_slug, branch, document_name, chunk_index, kind, name, "
                "content, content_hash, metadata, embedding"
            )
            with conn.transaction(), conn.cursor() as cursor:
                statement = f"COPY document_chunks ({columns}) FROM STDIN (FORMAT BINARY)"
                with cursor.copy(statement) as copy:
                    copy.set_types(["text"] * 5 + ["int4"] + ["text"] * 4 + ["jsonb", "vector"])
                    for record in records:
                        copy.write_row(record)

        def alone(work: Callable[[], None]) -> Timed:
            def turn() -> float:
                empty()
                return wall(work)()

            return turn

        seconds = take_turns({"ours": alone(ours), "COPY": alone(bare_copy)}, turns=3)
    return [
        Row(
            part="write",
            what=f"{rows} rows into an empty table, upsert semantics",
            peer="bare binary COPY, same table and indexes",
            ours=rows / seconds["ours"],
            theirs=rows / seconds["COPY"],
            unit="rows/s",
            ratio=seconds["COPY"] / seconds["ours"],
            goal=0.33,
        ),
    ]


def _may_checkpoint(conn: psycopg.Connection) -> bool:
    row = conn.execute("SELECT pg_has_role('pg_checkpoint', 'usage')").fetchone()
    return bool(row and row[0])
