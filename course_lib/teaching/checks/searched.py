"""How lab 07's answers are called: cases, draws, and how a call is pasted.

A call is its sort, the values of the search, its table (as `make_search_table` takes it; the crowd
without any), and what else is named: `distance` and `threshold`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from course_lib.records import Query
from course_lib.retriever.statements import BY_VECTOR, EXACT
from course_lib.teaching.checks.definition import Case, case
from course_lib.teaching.checks.drawn import Call, Drawn, Draws, drawn, given
from course_lib.teaching.checks.search_tables import make_search_table

EAST = "[1, 0, 0, 0]"
GENERIC = """
SELECT coalesce(sum(generic_plans), 0)::integer FROM pg_prepared_statements
WHERE statement LIKE '%similarity_score%'
"""
SCANS = """
SELECT (SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelid = to_regclass('pg_temp.graph')),
       (SELECT seq_scan FROM pg_stat_user_tables
        WHERE relid = 'pg_temp.document_chunks'::regclass)
"""


def _threshold(connection: Any, *_: Any) -> dict[str, Any]:
    return {"conn.prepare_threshold": connection.prepare_threshold}


def _plans(connection: Any, *_: Any) -> dict[str, Any]:
    return {"plans for any value": connection.execute(GENERIC).fetchone()[0]}


def _way(_: Any, walks: int, looks: int) -> dict[str, Any]:
    times = "a look" if looks == 1 else f"{looks} looks"
    way = f"{'a walk, and then ' if walks else 'no walk: '}{times} at all rows"
    return {"way": way if looks else "the walk alone"}


def _looks(_: Any, walks: int, looks: int) -> dict[str, Any]:
    return {"looks at all rows": "at most one" if looks <= 1 else looks}


class Sort(NamedTuple):
    """What a call is about besides the rows that it finds.

    Attributes
    ----------
    set
        What the connection has been set to.
    written
        How the search is pasted.
    explains
        Whether the plan of the statement is looked at.
    times
        How often it searches.
    begin, end, status
        What its caller does before and after it, and the transaction's status in between.
    also
        Returns what else is told: of the connection, how often the index was walked, and how often
        the whole table was looked at.
    """

    set: str = ""
    written: str = "{}"
    explains: bool = False
    times: int = 1
    begin: str = ""
    end: str = ""
    status: str = "IDLE"
    also: Callable[[Any, int, int], dict[str, Any]] = lambda *_: {}


SORTS = {
    "rows": Sort(),
    "plan": Sort(explains=True),
    "own": Sort("SET hnsw.iterative_scan = relaxed_order", also=_threshold),
    "planned": Sort("SET plan_cache_mode = force_generic_plan", "for _ in range(7): {}", times=7,
                    also=_plans),
    "transaction": Sort("", 'db.execute("BEGIN"); {}; db.execute("COMMIT")', begin="BEGIN",
                        end="COMMIT", status="INTRANS"),
    "short": Sort("SET hnsw.max_scan_tuples = 60"),
    "shortest": Sort("SET hnsw.max_scan_tuples = 1; SET hnsw.ef_search = 1"),
    "walk": Sort(also=_way),  # which may miss rows
    "way": Sort(also=_way),
    "looks": Sort(also=_looks),
}  # fmt: skip


def make_table(connection: Any, sort: str, values: Any, table: Any, more: Any) -> None:
    """Make the call's table, and set what its sort needs."""
    make_search_table(connection, **table)
    connection.execute(SORTS[sort].set)


def pasted(call: str) -> Callable[..., str]:
    """Return what writes a call: lines for a cell, with the table's rows."""

    def paste(sort: str, values: Any, table: Any, more: Mapping[str, Any]) -> str:
        names, kind = {BY_VECTOR: "BY_VECTOR", EXACT: "EXACT"}, SORTS[sort]
        args = [f"{name}={names.get(one, repr(one))}" for name, one in more.items()]
        search = call.format(
            ", ".join(args) or "distance=BY_VECTOR", ", ".join(["values", *args]),
            "'EXPLAIN ' + " * kind.explains,
        )  # fmt: skip
        some = {name: one for name, one in values.items() if one is not None}
        rows = "".join(f"\n        {row}," for row in table.get("rows", ()))
        rows += "\n    " if rows else ""
        others = [f", {name}={table[name]}" for name in ("many", "index") if name in table]
        return "\n    ".join([
            "from course_lib.records import Query\n"
            "from course_lib.teaching.checks.search_tables import make_search_table\n"
            "with lab.connect(autocommit=True) as db:",
            f"make_search_table(db, {table['columns']!r}, [{rows}]{''.join(others)})" if table
            else "make_search_table(db)  # 2,200 rows; the partition of each is its kind",
            *([f'db.execute("{kind.set}")'] if kind.set else []),
            f"values = Query().filters | {some}",
            kind.written.format(search),
        ])  # fmt: skip

    return paste


def asks(
    because: str, of: dict[str, Any], filters: Mapping[str, Any] | None = None,
    sort: str = "rows", query: str = EAST, top_k: int = 5,
    other: str | None = None, raises: type[Exception] | None = None, **more: Any,
) -> Case:  # fmt: skip
    """Return a case; `more` are the function's further arguments."""
    values = {**Query().filters, **(filters or {}), "query": query, "top_k": top_k}
    values |= {"other": other} if other else {}
    return case(sort, values, of, more, because=because, raises=raises)


def large(
    because: str, kind: str | list[str] | None = None, sort: str = "rows", **more: Any
) -> Case:
    """Return a case with the crowd, a large table, and a filter for a kind, or for partitions."""
    filters = {"partition": kind} if isinstance(kind, list) else {"kind": kind}
    return asks(because, {}, filters, sort, **more)


def table(columns: str, *rows: tuple[Any, ...], **more: Any) -> dict[str, Any]:
    """Return a call's table: the names of its columns, its rows, and what else makes it."""
    return {"columns": columns, "rows": [*rows], **more}


HELD: dict[str, Sequence[Any]] = {
    "document_name": ("a.md", "a.md.old", "b.md", "b.md.old"),
    "embedding": ([3, 4, 0, 0], [4, 3, 0, 0], [6, 8, 0, 0], [0, 0, 2, 0], [-1, 0, 0, 0]),
    "kind": ("note", "note", "notes", "NOTE", " note", "n%", "", "it's"),
    "partition": ("issues", "code", "code2"),
    "namespace": ("prod", "pro", None),
    "repo_slug": ("docs", "wiki"),
    "branch": ("", "v2"),
}
HELD |= {name: ("ours", "theirs", None) for name in Query().filters if name not in HELD}
"""What rows that are drawn hold; no two of them have the same place."""


def draws(
    sort: str, count: int, held: dict[str, Any], *named: dict[str, Any], **options: Any
) -> Drawn:
    """Return draws of a few rows, filters, a vector, how many are asked for, and what is named."""

    def any_search(random: Draws) -> Call:
        """Draw one search."""
        places = random.sample(range(12), random.randint(1, 7))
        rows = [(at, *(random.choice(some) for some in HELD.values())) for at in places]
        names = random.some([*Query().filters])[: random.choice((0, 1, 1, 2, 3))]
        filters = {name: random.choice(HELD[name]) for name in names}
        if "partition" in filters:
            filters["partition"] = random.some(HELD["partition"])
        query = random.choice(([3, 4, 0, 0], [1, 0, 0, 0], random.numbers(4, -9.0, 9.0)))
        values = {**Query().filters, **filters, "query": str(query)}
        values["top_k"] = random.choice((1, 1, 2, 3, 30))
        of = table(f"chunk_index {' '.join(HELD)}", *rows, **held)
        return given(sort, values, of, random.choice(named))

    return drawn(count, prepare=make_table, varies=(1, 2, 3), **options)(any_search)


def _scans(connection: Any) -> tuple[int, int]:
    """Return how often the index was walked until now, and the table looked at as a whole."""
    connection.execute("SELECT pg_stat_force_next_flush()")
    walks, looks = connection.execute(SCANS).fetchone()
    return walks or 0, looks


def searched(
    function: Callable[..., Any], connection: Any, sort: str, values: Any, _: Any, more: Any
) -> dict[str, Any]:
    """Search; return the rows, and what else the sort of call is about."""
    kind, before = SORTS[sort], _scans(connection)
    connection.execute(kind.begin)
    for _ in range(kind.times):
        found = function(connection, values, **more)
    status = connection.info.transaction_status.name
    connection.execute(kind.end)
    also = {"the transaction": status}
    if status == kind.status:
        scans = (now - then for now, then in zip(_scans(connection), before, strict=True))
        also |= kind.also(connection, *scans)
    rows = found if isinstance(found, list) else []
    names = sorted({row._fields for row in rows})
    told: dict[str, Any] = {"type": type(found).__name__, "names": names}
    scores = [row.similarity_score for row in rows]
    if sort == "walk":
        wanted, is_sorted = values["kind"], scores == sorted(scores, reverse=True)
        passing = [row for row in rows if wanted in (None, row.kind)]
        told |= {"rows": len(rows), "rows that pass": len(passing)}
        return {**told, "the most similar first": is_sorted, **also}
    found = [f"{row.document_name} {row.chunk_index}" for row in rows]
    return {**told, "rows": found, "similarity_score": scores, **also}
