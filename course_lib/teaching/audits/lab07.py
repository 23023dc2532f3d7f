"""Lab 07: tables of vectors, filters, and rankings to fuse.

`search_filtered` is judged by its rows and by the settings that it leaves; how it walks, only the
check can see.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from random import Random
from typing import Any

from course_lib.teaching.audits import Call, audit, call
from course_lib.teaching.audits.draws import Draws, chance, numbers, some
from course_lib.teaching.audits.values import alike, encode

KINDS = ("note", "NOTE", " note", "n%", "", "it's")


def _vector(values: Sequence[float]) -> str:
    return f"[{', '.join(map(str, values))}]"


def _fill(connection: Any, *args: Any) -> None:
    """Make the table with the rows that the seed at the end of the arguments gives."""
    from course_lib.teaching.checks.searched import INDEX, TABLE

    seed, count = args[-1]
    random = Random(seed)
    connection.execute(TABLE)
    rows = []
    for place in range(count):
        vector = [0.0] * 4 if place == 3 else numbers(random, 4, -1.0)
        kind = KINDS[place % 3] if place % 8 else KINDS[3 + place // 8 % 3]
        rows.append((random.choice("abc"), place, kind, random.choice(("issues", "code")), vector))
    rows += [("d", count + place, "tied", "issues", [3.0, 4.0, 0.0, 0.0]) for place in range(3)]
    random.shuffle(rows)
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO document_chunks (document_name, chunk_index, kind, partition, embedding) "
            "VALUES (%s, %s, %s, %s, %s)",
            [(*row[:4], _vector(row[4])) for row in rows],
        )
    connection.execute(INDEX)
    connection.execute("ANALYZE document_chunks")


def _text(function: Callable[..., Any], gaps: Mapping[str, str], *_: Any) -> Any:
    """Return the statement as text; the gaps are filled with SQL."""
    from psycopg import sql

    return function(**{name: sql.SQL(gap) for name, gap in gaps.items()}).as_string(None)


def _nearest(connection: Any, value: Any, gaps: Any, query: Any, top_k: int, _: Any) -> Any:
    """Run the statement; return its rows, and whether its plan uses the index."""
    values = {"query": _vector(query), "top_k": top_k}
    connection.execute("SET enable_indexscan = off")
    cursor = connection.execute(value.encode(), values)
    names = [column.name for column in cursor.description]
    at = names.index("chunk_id")
    rows = [[*row[:at], *row[at + 1 :]] for row in cursor.fetchall()]
    connection.execute("SET enable_indexscan = on; SET enable_seqscan = off")
    plan = str(connection.execute(f"EXPLAIN {value}".encode(), values).fetchall())
    connection.execute("RESET enable_seqscan")
    return [names, rows, "using graph" in plan]


@audit(
    "7.1", count=8, needs="database", apply=_text, prepare=_fill, look=_nearest,
    paste="nearest_sql(**{0})",
)  # fmt: skip
def nearest_sql(random: Draws) -> Call:
    """Draw what fills the gaps, a vector that is nobody's, and how many rows are asked for."""
    gaps = {}
    if chance(random, 0.5):
        gaps["condition"] = random.choice(("chunk_index > 5", "kind = 'tied' OR kind = 'note'"))
    if chance(random, 0.3):
        gaps["distance"] = random.choice(("chunk_index", "(embedding <=> %(query)s) + 0"))
    query = random.choice(([3.0, 4.0, 0.0, 0.0], numbers(random, 4, -9.0, 9.0)))
    return call(gaps, query, random.randint(1, 30), [random.randrange(10**6), 20])


def _condition(function: Callable[..., Any], filters: Any, *_: Any) -> Any:
    condition, values = function(filters)
    return [condition.as_string(None), values]


def _passing(connection: Any, value: Any, filters: Mapping[str, Any], _: Any) -> Any:
    """Return the rows that pass, if the values are those of the filters; none for odd columns."""
    import psycopg

    wanted = {name: one for name, one in filters.items() if one is not None}
    if not {*filters} <= {"kind", "partition", "chunk_index", "document_name"}:
        try:
            return connection.execute(_where(value[0]), wanted).fetchall()
        except (psycopg.Error, LookupError, TypeError, ValueError):
            return []
    if not alike(encode(wanted), value[1]):
        return value
    return connection.execute(_where(value[0]), wanted).fetchall()


def _where(condition: str) -> bytes:
    return f"SELECT chunk_index FROM document_chunks WHERE {condition} ORDER BY 1".encode()


@audit("7.2", count=24, needs="database", apply=_condition, prepare=_fill, look=_passing)
def conditions(random: Draws) -> Call:
    """Draw filters: values, lists, None, and what tries to be read as SQL."""
    kinds = (*KINDS, "x' OR 'a' = 'a", "note'--", "not_", None)
    draws: dict[str, Callable[[], Any]] = {
        "kind": lambda: random.choice(kinds),
        "partition": lambda: random.choice(("issues", ["issues", "code"], ["code"], None)),
        "chunk_index": lambda: random.choice((0, [1, 2, 3], [], 5)),
        "document_name": lambda: random.choice(("a", ["a", "b"], None)),
    }
    filters = {name: draws[name]() for name in some(random, list(draws))[:3]}
    if chance(random, 0.3):
        filters["kind"] = [kind for kind in some(random, kinds) if kind is not None]
    if chance(random, 0.1):
        filters[random.choice(("true OR kind", 'kind" = "kind" OR "kind'))] = "x"
    return call(filters, [random.randrange(10**6), 24])


def _searched(function: Callable[..., Any], connection: Any, query: Any, *args: Any) -> Any:
    """Return the rows, and the settings after the search."""
    import numpy as np
    from pgvector.psycopg import register_vector

    register_vector(connection)
    connection.execute("SET seq_page_cost = 1000; SET hnsw.max_scan_tuples = 60")
    connection.execute("SET hnsw.iterative_scan = relaxed_order")
    try:
        found = function(connection, np.array(query, dtype=np.float32), *args[:-1])
        rows = [[one.document_name, one.chunk_index, one.similarity_score] for one in found]
        names = sorted({str(getattr(one, "_fields", ())) for one in found})
        status = connection.info.transaction_status.name
        return [type(found).__name__, rows, names, status, *_settings(connection)]
    finally:
        connection.rollback()
        connection.execute("RESET seq_page_cost; RESET hnsw.max_scan_tuples")
        connection.execute("RESET hnsw.iterative_scan")


def _settings(connection: Any) -> Any:
    return connection.execute(
        "SELECT current_setting('hnsw.iterative_scan'), current_setting('enable_indexscan')"
    ).fetchone()


@audit(
    "7.3", count=6, needs="database", takes_connection=True, apply=_searched, prepare=_fill,
)  # fmt: skip
def search_filtered(random: Draws) -> Call:
    """Draw a vector and filters that keep many rows, few, or none, and a threshold."""
    filters: dict[str, Any] = random.choice(
        ({"kind": "note"}, {"kind": ["n%", "tied"]}, {"kind": "none"}, {})
    )
    if chance(random, 0.3):
        filters = {**filters, "partition": "issues"}
    limits = ((3,), (60,), (60, 0.3), (5, -1.0))[random.turn(4)]
    return call(numbers(random, 4, -1.0), filters, *limits, [random.randrange(10**6), 120])


@audit("7.4", count=100)
def fuse(random: Draws) -> Call:
    """Draw rankings, two of which may give equal scores; more of them give different ones."""
    from course_lib.retriever.query import fuse as library

    items: Any = random.choice(("abcdef", [("a.md", 0), ("a.md", 1), ("b.md", 0)]))
    rankings = [some(random, items) for _ in range(random.randint(1, 4))]
    scores = sorted(score for _, score in library(*rankings))
    if any(high - low < 1e-9 for low, high in pairwise(scores)):
        rankings = rankings[:2]  # where three numbers are added up, their order matters
    return call(*(iter(one) if chance(random, 0.2) else one for one in rankings))
