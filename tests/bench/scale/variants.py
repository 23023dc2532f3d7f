"""What changes at scale, each claim by a run: smaller vectors, fewer workers, too little memory.

All of it on the largest partition of a corpus that `stage.measure` has loaded and indexed, in plain
SQL, because the library itself does none of it: this is where its limits are looked for.
"""

from __future__ import annotations

import re
import time
from typing import Any, LiteralString

import numpy as np
import psycopg
from pgvector import Bit, HalfVector, Vector
from psycopg import sql

from course_lib.store.vector_indexes import HnswBuild
from tests.bench.scale import corpus
from tests.bench.scale.building import PGVECTORS_OWN, build_index
from tests.bench.scale.cluster import Cluster, backend_cpu
from tests.bench.scale.corpus import Vectors
from tests.bench.scale.loading import Progress
from tests.bench.scale.results import Figures
from tests.bench.scale.truth import TOP, Nearest
from tests.bench.scale.words import Numbers

TABLE = "scale_vectors"
EF_SEARCH = (40, 100, 200, 400)
OVERSAMPLING = (1, 2, 4, 8, 16, 32)
SMALL_MEMORY = 128 << 20
_DIMENSION = corpus.DIMENSION

_PLAIN: LiteralString = (
    "SELECT id FROM scale_vectors ORDER BY embedding <=> %(vector)s LIMIT {most}"
)
_HALF: LiteralString = (
    "SELECT id FROM scale_vectors ORDER BY embedding::halfvec(384) <=> %(half)s LIMIT {most}"
)
_BITS: LiteralString = (
    "SELECT id FROM (SELECT id, embedding FROM scale_vectors "
    "ORDER BY binary_quantize(embedding)::bit(384) <~> %(bits)s LIMIT {candidates}) AS near "
    "ORDER BY embedding <=> %(vector)s LIMIT {most}"
)
_LIMITS = {
    "dimensions stored, vector": ("vector", 16_000, None),
    "dimensions stored, halfvec": ("halfvec", 16_000, None),
    "dimensions in an HNSW index, vector": ("vector", 2_000, "vector_cosine_ops"),
    "dimensions in an HNSW index, halfvec": ("halfvec", 4_000, "halfvec_cosine_ops"),
    "dimensions in an HNSW index, bit": ("bit", 64_000, "bit_hamming_ops"),
}


def measure(
    conn: psycopg.Connection[Any], cluster: Cluster, vectors: Vectors, questions: Vectors,
    progress: Progress,
) -> Figures:  # fmt: skip
    """Store the vectors in a table of their own, and search it through one index after another."""
    conn.execute(f"DROP TABLE IF EXISTS {TABLE}")
    # Kept in the row, as the library keeps them.
    conn.execute(f"CREATE TABLE {TABLE} (id int PRIMARY KEY, embedding vector(384) NOT NULL)")
    conn.execute(f"ALTER TABLE {TABLE} ALTER COLUMN embedding SET STORAGE PLAIN")
    with conn.cursor() as cursor, cursor.copy(f"COPY {TABLE} FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(["int4", "vector"])
        for number, vector in enumerate(vectors):
            copy.write_row((number, vector))
    conn.execute(f"VACUUM ANALYZE {TABLE}")
    conn.execute("SET hnsw.iterative_scan = 'strict_order'")
    nearest = Nearest(questions)
    for first in range(0, len(vectors), corpus.BLOCK):
        part = vectors[first : first + corpus.BLOCK]
        nearest.show(part, np.arange(first, first + len(part)))
    asked = _Asked(conn, questions, nearest.rows())
    figures: Figures = {"rows": len(vectors)}
    progress("vector: building and searching")
    figures["vector"] = _indexed(conn, cluster, asked, "vector_cosine_ops", "embedding", _PLAIN)
    progress("vector with twice the links: building and searching")
    figures["vector, m 32"] = _indexed(
        conn, cluster, asked, "vector_cosine_ops", "embedding", _PLAIN, HnswBuild(32, 128)
    )
    progress("halfvec: building and searching")
    half = "(embedding::halfvec(384))"
    figures["halfvec"] = _indexed(conn, cluster, asked, "halfvec_cosine_ops", half, _HALF)
    progress("bits: building and searching")
    figures["bit"] = _bits(conn, cluster, asked)
    conn.execute(f"DROP TABLE {TABLE}")
    return figures


def limits(conn: psycopg.Connection[Any]) -> Figures:
    """Return for each limit whether it holds, and what pgvector says one dimension beyond it."""
    found: Figures = {}
    for what, (kind, most, operators) in _LIMITS.items():
        found[what] = {"most": most, "holds": _accepts(conn, kind, most, operators) is None}
        found[what]["beyond"] = _accepts(conn, kind, most + 1, operators)
    return found


def workers(
    conn: psycopg.Connection[Any], cluster: Cluster, table: str, progress: Progress
) -> list[Figures]:
    """Build one index with 0, 1 and 2 processes beside the builder, and with too little memory."""
    said: list[str] = []
    conn.add_notice_handler(lambda notice: said.append(notice.message_primary or ""))
    builds = []
    for count, memory in ((0, None), (1, None), (2, None), (2, SMALL_MEMORY)):
        progress(f"{table}: {count} workers, {'enough memory' if memory is None else 'too little'}")
        said.clear()
        build = build_index(
            conn, cluster, table, name="scale_tried", workers=count, memory=memory
        ).to_dict()
        conn.execute("DROP INDEX scale_tried")
        fitted = [re.search(r"after (\d+) tuples", line) for line in said]
        build["rows_in_memory"] = next((int(one[1]) for one in fitted if one), build["rows"])
        builds.append(build)
    return builds


class _Asked:
    """Questions with their exact answers, asked of one statement after another."""

    def __init__(self, conn: psycopg.Connection[Any], questions: Vectors, wanted: Numbers) -> None:
        self._conn = conn
        self._values = [
            {"vector": Vector(one), "half": HalfVector(one), "bits": Bit(one > 0)}
            for one in questions
        ]
        self._wanted = [set(row) for row in wanted.tolist()]

    def ask(self, statement: LiteralString, ef_search: int, candidates: int = TOP) -> Figures:
        """Return recall, milliseconds and the server's CPU of all questions."""
        conn = self._conn
        conn.execute(f"SET hnsw.ef_search = {int(ef_search)}")
        query = sql.SQL(statement).format(most=sql.Literal(TOP), candidates=sql.Literal(candidates))
        for values in self._values[:5]:
            conn.execute(query, values)
        seconds, hits, server = [], 0, backend_cpu(conn)
        for values, wanted in zip(self._values, self._wanted, strict=True):
            begin = time.perf_counter()
            rows = conn.execute(query, values).fetchall()
            seconds.append(time.perf_counter() - begin)
            hits += len({row[0] for row in rows} & wanted)
        count = len(seconds)
        return {
            "recall": hits / (count * TOP),
            "p50_ms": float(np.percentile(seconds, 50)) * 1000,
            "p95_ms": float(np.percentile(seconds, 95)) * 1000,
            "server_cpu_ms": (backend_cpu(conn) - server) / count * 1000,
        }


def _indexed(
    conn: psycopg.Connection[Any], cluster: Cluster, asked: _Asked, operators: LiteralString,
    expression: LiteralString, statement: LiteralString, graph: HnswBuild = PGVECTORS_OWN,
) -> Figures:  # fmt: skip
    on = sql.SQL(expression) + sql.SQL(" ") + sql.SQL(operators)
    figures: Figures = {
        "build": build_index(
            conn, cluster, TABLE, name="scale_tried", on=on, graph=graph
        ).to_dict(),
        "search": {f"ef_search {ef}": asked.ask(statement, ef) for ef in EF_SEARCH},
    }
    conn.execute("DROP INDEX scale_tried")
    return figures


def _bits(conn: psycopg.Connection[Any], cluster: Cluster, asked: _Asked) -> Figures:
    on = sql.SQL("(binary_quantize(embedding)::bit(384)) bit_hamming_ops")
    build = build_index(
        conn, cluster, TABLE, name="scale_tried", on=on, graph=PGVECTORS_OWN
    ).to_dict()
    search = {
        f"oversampling {times}": asked.ask(_BITS, max(40, times * TOP), times * TOP)
        for times in OVERSAMPLING
    }
    conn.execute("DROP INDEX scale_tried")
    return {"build": build, "search": search}


def _accepts(
    conn: psycopg.Connection[Any], kind: str, dimension: int, operators: str | None
) -> str | None:
    """Return None, or what the server says against a column or an index of this dimension."""
    try:
        with conn.transaction(force_rollback=True):
            conn.execute(f"CREATE TABLE scale_limit (one {kind}({dimension}))")
            if operators:
                conn.execute(f"CREATE INDEX ON scale_limit USING hnsw (one {operators})")
    except psycopg.Error as error:
        return error.diag.message_primary
    return None
