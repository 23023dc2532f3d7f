"""Loading the made corpus through the library's own `write_chunks`, block by block.

What was stored is noted in the database, in the transaction that stored it: a run that was broken
off goes on after the last whole block.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import psycopg

from course_lib.store import WriteReport, create_schema, write_chunks
from tests.bench.scale import corpus
from tests.bench.scale.cluster import backend_cpu

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Loaded:
    """One block: its rows, and what writing them took (making them not counted)."""

    number: int
    rows: int
    seconds: float
    client_cpu: float
    server_cpu: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def load(conn: psycopg.Connection[Any], rows: int, progress: Progress) -> list[Loaded]:
    """Store the first `rows` rows, where they are not there yet; return what each block took."""
    create_schema(conn, corpus.DIMENSION)
    conn.execute(
        "CREATE TABLE IF NOT EXISTS scale_blocks (number int PRIMARY KEY, rows int NOT NULL, "
        "seconds float8 NOT NULL, client_cpu float8 NOT NULL, server_cpu float8 NOT NULL)"
    )
    there = {block.number: block.rows for block in loaded(conn)}
    for number in range((rows - 1) // corpus.BLOCK + 1):
        count = min(corpus.BLOCK, rows - number * corpus.BLOCK)
        if there.get(number, 0) >= count:
            continue
        made = corpus.block(number, count)
        with conn.transaction():
            wall, client, server = time.perf_counter(), time.process_time(), backend_cpu(conn)
            write(conn, made)
            done = Loaded(
                number, len(made.chunks), time.perf_counter() - wall,
                time.process_time() - client, backend_cpu(conn) - server,
            )  # fmt: skip
            conn.execute(
                "INSERT INTO scale_blocks VALUES (%(number)s, %(rows)s, %(seconds)s, "
                "%(client_cpu)s, %(server_cpu)s) ON CONFLICT (number) DO UPDATE SET "
                "(rows, seconds, client_cpu, server_cpu) = "
                "(excluded.rows, excluded.seconds, excluded.client_cpu, excluded.server_cpu)",
                done.to_dict(),
            )
        written = number * corpus.BLOCK + count
        progress(f"{written:,} of {rows:,} rows written, {count / done.seconds:,.0f} a second")
    return loaded(conn)


def stored(conn: psycopg.Connection[Any]) -> int:
    """Return how many rows are stored."""
    row = conn.execute("SELECT to_regclass('scale_blocks') IS NOT NULL").fetchone()
    return sum(block.rows for block in loaded(conn)) if row and row[0] else 0


def write(conn: psycopg.Connection[Any], made: corpus.Block) -> WriteReport:
    """Write a block's rows, each partition's in one call."""
    report = WriteReport()
    for partition in corpus.PARTITION_SHARES:
        at = made.of(partition)
        chunks = [made.chunks[row] for row in at]
        report += write_chunks(conn, chunks, made.vectors[at], partition=partition)
    return report


def loaded(conn: psycopg.Connection[Any]) -> list[Loaded]:
    """Return what is noted of the stored blocks, in order."""
    found = conn.execute("SELECT * FROM scale_blocks ORDER BY number")
    return [Loaded(*row) for row in found]
