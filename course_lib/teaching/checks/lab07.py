"""Lab 07, the search query: the statement, a walk that continues, and a search that finds all.

What the learner's SQL and functions find in an empty schema is judged, against NumPy's brute force.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import GeneratorType
from typing import Any

import numpy as np

from course_lib.records import Query
from course_lib.retriever.statements import BY_VECTOR, EXACT
from course_lib.teaching.checks import Exercise
from course_lib.teaching.checks.crowd import directions, fill
from course_lib.teaching.checks.drawn import Call, Draws, drawn, given
from course_lib.teaching.checks.outcomes import CheckFailed
from course_lib.teaching.checks.probe import Case, Probe, exercise
from course_lib.teaching.checks.scratch import TIME_LIMIT, Scratch
from course_lib.teaching.checks.searched import (
    EAST,
    NAMES,
    SETTINGS,
    Searches,
    pasted,
)

# --- 7.1 ---

KINDS = ("note", "NOTE", " note", "n%", "", "it's")
OTHERS = {
    "namespace": ("prod", None),
    "repo_slug": ("docs", "wiki"),
    "branch": ("", "v2"),
    "tenant_id": ("ours", "theirs"),
}
"""Columns of the rows that are drawn, and what may be in them."""


def _fill(connection: Any, *args: Any, is_indexed: bool = True) -> None:
    """Make the table with the rows that the seed at the end of the arguments gives."""
    seed, count = args[-1]
    random = Draws(seed)
    rows: list[Any] = []
    for place in range(count):
        vector = random.numbers(4, -1.0)
        kind = KINDS[place % 3] if place % 8 else KINDS[3 + place // 8 % 3]
        others = [random.choice(some) for some in OTHERS.values()]
        partition = random.choice(("issues", "code"))
        rows.append((random.choice("abc"), place, vector, kind, partition, *others))
    rows += [("d", count + place, [3.0, 4.0, 0.0, 0.0], "tied") for place in range(3)]
    random.shuffle(rows)
    fill(connection, rows, is_indexed=is_indexed)


def _fill_plain(connection: Any, *args: Any) -> None:
    _fill(connection, *args, is_indexed=False)


def _vector(values: Sequence[float]) -> str:
    return f"[{', '.join(map(str, values))}]"


def _found_drawn(
    connection: Any, text: str, filters: Any, distance: str, query: Any, top_k: int, _: Any
) -> Any:
    """Run the statement; return its rows, and whether its plan uses the index."""
    values = {**Query().filters, **filters, "query": _vector(query), "top_k": top_k}
    statement = text.format(distance=distance)
    connection.execute("SET enable_indexscan = off")
    cursor = connection.execute(statement.encode(), values, prepare=False)
    names = [column.name for column in cursor.description]
    at = names.index("chunk_id")
    rows = [[*row[:at], *row[at + 1 :]] for row in cursor.fetchall()]
    connection.execute("SET enable_indexscan = on; SET enable_seqscan = off")
    asked = f"EXPLAIN {statement}".encode()
    plan = str(connection.execute(asked, values, prepare=False).fetchall())
    connection.execute("RESET enable_seqscan")
    return [names, rows, "using graph" in plan]


@drawn(12, prepare=_fill, look=_found_drawn, paste="NEAREST.format(distance={1})")
def any_query(random: Draws) -> Call:
    """Draw filters, an order, a vector that is nobody's, and how many rows are asked for."""
    kinds = (*KINDS, "tied", "x' OR 'a' = 'a", "not_")
    some: dict[str, Sequence[Any]] = {
        "kind": kinds,
        "partition": (["issues", "code"], ["code"], []),
        "document_name": ("a", "b", "none"),
        **OTHERS,
    }
    filters = {name: random.choice(some[name]) for name in random.some(list(some))[:2]}
    distance = random.choice((BY_VECTOR, BY_VECTOR, EXACT, "chunk_index"))
    query = random.choice(([3.0, 4.0, 0.0, 0.0], random.numbers(4, -9.0, 9.0)))
    return given(filters, distance, query, random.randint(1, 30), [random.randrange(10**6), 24])


@exercise("7.1", "retriever.statements:NEAREST", 4, time_limit=TIME_LIMIT, draws=any_query)
def check_statement(call: Probe) -> None:
    """Ask small tables, one a rule; look whether the index is of use; then filter."""
    with call.part(1, "the nearest rows, by cosine", needed=False):
        for rows, query, top_k, expected, because in NEAREST[:4]:
            _finds(call, rows, {"query": query, "top_k": top_k}, expected, because)
    with call.part(1, "an order for which the index is of use"):
        with call.scratch() as db:
            fill(db.connection, [(f"{i}.md", i, row) for i, row in enumerate(directions(500))],
                 is_indexed=True)  # fmt: skip
            for filters in ({}, {"kind": "doc-section"}):
                _uses_the_index(call, db, filters)
            db.execute("SET enable_indexscan = off")
            found, called = _run(call, db, {"query": EAST, "top_k": 300}, BY_VECTOR)
            Case(call, called).holds(
                len(found) == 300, "300 rows", got=f"{len(found)} rows",
                because="300 were asked for, and 500 pass",
            )  # fmt: skip
    with call.part(1, "rows that are equally near, and another order"):
        for rows, query, top_k, expected, because in NEAREST[4:]:
            _finds(call, rows, {"query": query, "top_k": top_k}, expected, because)
        _finds(call, [NEAR, FAR, MIDDLE], {"query": EAST, "top_k": 5},
               [("c.md", 0, 0.8), ("b.md", 1, 0.6), ("a.md", 2, 1.0)],
               "ORDER BY begins with what is filled in, whatever it is; the similarity stays the "
               "cosine", "chunk_index")  # fmt: skip
    with call.part(1, "filters"):
        with call.scratch() as db:
            fill(db.connection, ROWS)
            for filters, passing, because in FILTERS:
                _passes(call, db, filters, passing, because)


def _statement(call: Probe, distance: str) -> str:
    """Return the learner's text with `{distance}` filled in."""
    try:
        return call.sql.format(distance=distance)
    except (LookupError, ValueError) as error:
        call.fail(
            f"NEAREST.format(distance={distance!r})", got=f"{type(error).__name__}: {error}",
            expected="a text whose only part in braces is {distance}",
            because="values are placeholders, such as %(kind)s",
        )  # fmt: skip


def _run(call: Probe, db: Scratch, values: Mapping[str, Any], distance: str) -> tuple[Any, str]:
    """Run the statement; return the rows with its columns, and the call as text."""
    statement = _statement(call, distance)
    called = f"conn.execute(NEAREST.format(distance={distance!r}), {pasted(values)})"
    everything = {**Query().filters, **values}
    found = db.runs(statement, everything, called=called).value
    names = [column.name for column in db.execute(statement, everything).description or ()]
    if names != list(NAMES):
        call.fail(called, got=f"the columns {names}", expected=f"the columns {list(NAMES)}")
    return found, called


def _finds(
    call: Probe, rows: list[Any], values: dict[str, Any],
    expected: list[tuple[str, int, float]], because: str, distance: str = BY_VECTOR,
) -> None:  # fmt: skip
    """Expect the statement to find these of the rows: name, place and similarity."""
    with call.scratch() as db:
        fill(db.connection, rows)
        found, called = _run(call, db, values, distance)
    shown = [NAMES.index(name) for name in SHOWN]
    held = "".join(f"\n  {name} {index}: {vector}" for name, index, vector in rows)
    Case(call, called, value=[tuple(row[at] for at in shown) for row in found]).gives(
        [(name, index, "text", similarity) for name, index, similarity in expected],
        because=f"{because}\nthe table holds the chunks{held}",
    )


def _uses_the_index(call: Probe, db: Scratch, filters: dict[str, Any]) -> None:
    values = {**filters, "query": EAST, "top_k": 5}
    called = f"conn.execute('EXPLAIN ' + NEAREST.format(distance=BY_VECTOR), {pasted(values)})"
    asked = f"EXPLAIN {_statement(call, BY_VECTOR)}"
    plan = db.runs(asked, {**Query().filters, **values}, called=called).value
    Case(call, called).holds(
        "using graph" in "\n".join(line for (line,) in plan),
        "a plan that uses the HNSW index",
        got="a plan that reads the whole table: " + plan[-1][0].strip(),
        because="ORDER BY has to begin with {distance}, and nothing around it: the index gives "
        "rows in the order of embedding <=> %(query)s"
        if "similarity_score" not in call.sql.rpartition("ORDER BY")[2]
        else "no index is sorted that way: order by the distance, ascending",
    )


def _passes(
    call: Probe, db: Scratch, filters: dict[str, Any], passing: str, because: str
) -> None:  # fmt: skip
    found, called = _run(call, db, {**filters, "query": EAST, "top_k": 9}, BY_VECTOR)
    names = " ".join(f"{row[1][0]}{row[2]}" for row in found)
    of = [name for name in ("document_name", *COLUMNS) if name in filters]
    held = []
    for document, index, _, *others in ROWS:
        known = {"document_name": document, **dict(zip(COLUMNS, others, strict=True))}
        values = ", ".join(f"{name} {known[name]!r}" for name in of)
        held.append(f"{document[0]}{index}" + (f": {values}" if of else ""))
    table = "\n  ".join(["the table holds the rows", *held])
    Case(call, called).holds(
        names == passing,
        f"rows {passing}" if passing else "no row",
        got=f"rows {names}" if names else "no row",
        because=f"{because}\n{table}",
    )


COLUMNS = ("kind", "partition", "namespace", "repo_slug", "branch", "tenant_id")
SHOWN = ("document_name", "chunk_index", "content", "similarity_score")
SIDE = [3, 4, 0, 0]
NEAR, MIDDLE, FAR = ("a.md", 2, [1, 0, 0, 0]), ("c.md", 0, [4, 3, 0, 0]), ("b.md", 1, SIDE)
LONG_ONE = ("long.md", 0, [12, 5, 0, 0])
SAME = ("same.md", 0, [5, 0, 0, 0])
CLOSE = ("close.md", 0, [0.6, 0.8, 0, 0])
NEAREST: tuple[tuple[list[Any], Any, int, list[Any], str], ...] = (
    ([LONG_ONE, CLOSE, SAME], EAST, 3,
     [("same.md", 0, 1.0), ("long.md", 0, 12 / 13), ("close.md", 0, 0.6)],
     "by cosine same.md is the nearest, with 5 / 5; then long.md, with 12 / 13, and close.md, "
     "with 0.6 / 1: how long a vector is does not count"),
    ([LONG_ONE, CLOSE, SAME], EAST, 1, [("same.md", 0, 1.0)], "one row was asked for"),
    ([(f"{i}.md", 0, [1, i, 0, 0]) for i in range(7)], EAST, 6,
     [(f"{i}.md", 0, 1 / (1 + i * i) ** 0.5) for i in range(6)],
     "six rows were asked for"),
    ([("up.md", 0, [0, 0, 2, 0]), ("back.md", 0, [-1, 0, 0, 0])], EAST * 7, 2,
     [("up.md", 0, 0.0), ("back.md", 0, -1.0)],
     "perpendicular is 0 and opposite is -1, whatever the length"),
    ([("b.md", 2, SIDE), ("b.md", 1, SIDE), ("b.md", 0, SIDE), ("a.md", 3, SIDE)], EAST, 3,
     [("a.md", 3, 0.6), ("b.md", 0, 0.6), ("b.md", 1, 0.6)],
     "all are equally near: equals come by document name, then by chunk index"),
    ([("a.md", 10, SIDE), ("a.md", 9, SIDE)], EAST, 2,
     [("a.md", 9, 0.6), ("a.md", 10, 0.6)],
     "both are equally near: chunk 9 comes before chunk 10, as numbers do"),
)  # fmt: skip
"""Rows, query, how many are asked for, what comes, and why."""

ROWS = [
    ("a.md", 0, EAST, "doc-section", "documentation", "prod", "docs", "", "ours"),
    ("a.md", 1, EAST, "note", "documentation", None, "docs", "v2", "ours"),
    ("b.md", 0, EAST, "note", "issues", "prod", "wiki", "", "theirs"),
    ("c.md", 0, EAST, "", "secrets", None, "wiki", "v2", "theirs"),
]
BOTH = "a row has to pass both filters"
LIKE = "% and _ are characters like any other: a value is not a pattern"
WHOLE = {
    "NOTE": "'note' is not 'NOTE': case counts",
    " note": "'note' is not ' note': a blank is a character like any other",
    "n%": LIKE,
    "not_": LIKE,
}
NEVER_SQL = "a value must never be read as SQL"
FILTERS: tuple[tuple[dict[str, Any], str, str], ...] = (
    ({}, "a0 a1 b0 c0", "all filters are None, which means any value, also none at all"),
    ({"partition": ["documentation"], "kind": "note"}, "a1", BOTH),
    ({"kind": "doc-section"}, "a0", "one row is of this kind"),
    ({"repo_slug": "wiki"}, "b0 c0", "two rows are of this repository"),
    ({"namespace": "prod"}, "a0 b0", "two rows are of this namespace"),
    ({"document_name": "a.md"}, "a0 a1", "two rows are of this document"),
    ({"tenant_id": "theirs"}, "b0 c0", "two rows are of this tenant"),
    ({"branch": "v2"}, "a1 c0", "two rows are of this branch"),
    ({"branch": ""}, "a0 b0", "the empty string is a value like any other; only None means any"),
    ({"kind": ""}, "c0", "the empty string is a value like any other; only None means any"),
    ({"namespace": ""}, "", "the empty string is a value like any other; only None means any"),
    ({"kind": "Heading"}, "", "'Heading' is the name of all four rows, and the kind of none"),
    ({"namespace": "PROD"}, "", "'prod' is not 'PROD': case counts"),
    ({"namespace": "p%"}, "", LIKE),
    ({"partition": ["iss%", "ISSUES"]}, "", LIKE),
    ({"partition": ["issues"]}, "b0", "one row is in one of these partitions"),
    ({"partition": ["issues", "documentation"]}, "a0 a1 b0", "three are in one of these"),
    ({"partition": []}, "", "nothing is an element of an empty list"),
    ({"tenant_id": "theirs", "branch": ""}, "b0", BOTH),
    ({"kind": "note", "partition": ["issues"], "namespace": "prod", "repo_slug": "wiki",
      "branch": "", "tenant_id": "theirs", "document_name": "b.md"}, "b0",
     "a row has to pass all seven filters"),
    *(({"kind": kind}, "", because) for kind, because in WHOLE.items()),
    *(({"kind": kind, "partition": ["issues"]}, "", NEVER_SQL)
      for kind in ("x' OR 'a' = 'a", "x'); --", "note'--")),
    *(({name: "x' OR 'a' = 'a"}, "", NEVER_SQL)
      for name in ("repo_slug", "branch", "namespace", "document_name", "tenant_id")),
)  # fmt: skip
"""Filters, the rows of `ROWS` that pass, and why."""


# --- 7.2 ---


def _searched(function: Callable[..., Any], connection: Any, query: Any, *args: Any) -> Any:
    """Return the rows, and the settings after the search."""
    from pgvector.psycopg import register_vector

    filters, top_k, *rest = args[:-1]
    register_vector(connection)
    connection.execute("SET seq_page_cost = 1000; SET hnsw.max_scan_tuples = 60")
    connection.execute("SET hnsw.iterative_scan = relaxed_order")
    vector = np.array(query, dtype=np.float32)
    values = {**Query().filters, **filters, "query": vector, "top_k": top_k}
    try:
        found = function(connection, values, *rest)
        if isinstance(found, GeneratorType):  # it passes for a list, as in the check
            found = list(found)
        rows = [[one.document_name, one.chunk_index, one.similarity_score] for one in found]
        names = sorted({str(getattr(one, "_fields", ())) for one in found})
        status = connection.info.transaction_status.name
        settings = connection.execute(SETTINGS).fetchone()
        return [type(found).__name__, rows, names, status, *settings]
    finally:
        connection.rollback()
        connection.execute("RESET seq_page_cost; RESET hnsw.max_scan_tuples")
        connection.execute("RESET hnsw.iterative_scan")


PASSING: tuple[dict[str, Any], ...] = ({"kind": "note"}, {"kind": "tied"}, {"kind": "none"}, {})


def _filters(random: Draws) -> dict[str, Any]:
    filters = random.choice(PASSING)
    return {**filters, "partition": ["issues"]} if random.chance(0.3) else filters


@drawn(4, takes_connection=True, apply=_searched, prepare=_fill_plain)
def any_walk(random: Draws) -> Call:
    """Draw a vector, filters, how many rows, and at times another order; there is no index."""
    more = random.choice(((), (), (EXACT,), ("chunk_index",)))
    vector, top_k = random.numbers(4, -1.0), random.randint(1, 30)
    return given(vector, _filters(random), top_k, *more, [random.randrange(10**6), 24])


@exercise(
    "7.2", "retriever.query:find_nearest", 3,
    waits_for=["7.1"], time_limit=TIME_LIMIT, draws=any_walk,
)  # fmt: skip
def check_find_nearest(call: Probe) -> None:
    """Walk to many rows, to rows that are far away, and by another order."""
    with call.scratch() as db:
        searches = Searches(call, db)
        for about, judge in (
            ("a walk that finds enough, and one that goes on", searches.walk),
            ("the rows that pass, in their order", searches.found_rows),
            ("another order, a plan for its values, and nothing left behind", searches.walk_apart),
        ):
            with call.part(1, about, needed=False), _blaming(call, check_statement):
                judge()
            searches.begin_again()


@contextmanager
def _blaming(call: Probe, earlier: Exercise) -> Iterator[None]:
    """Say so if the function that was checked uses an earlier answer that fails its own check."""
    try:
        yield
    except CheckFailed as failed:
        name = earlier.name
        used = getattr(call.given, "__globals__", {}).get(name)
        if (
            used is not None
            and all(one.passed for one in call.parts)
            and not _passes_alone(call, earlier, used)
        ):
            failed.because += "\n" * bool(failed.because) + (
                f"the cause may be the {name} that it uses: it is not right yet, so repair "
                f'{earlier.id} first, or run `{name} = lab.use("{name}")` to take one that is'
            )
        raise


def _passes_alone(call: Probe, earlier: Exercise, used: Any) -> bool:
    probe = Probe(earlier, used, call.connect)
    try:
        earlier.check(probe)
        probe.settle()
    except CheckFailed:
        return False
    return True


# --- 7.3 ---


@drawn(6, takes_connection=True, apply=_searched, prepare=_fill)
def any_search(random: Draws) -> Call:
    """Draw a vector and filters that keep many rows, few, or none, and a threshold."""
    limits = ((3,), (60,), (60, 0.3), (5, -1.0))[random.turn(4)]
    vector = random.numbers(4, -1.0)
    return given(vector, _filters(random), *limits, [random.randrange(10**6), 120])


@exercise(
    "7.3", "retriever.query:search_filtered", 3,
    waits_for=["7.2"], time_limit=TIME_LIMIT, draws=any_search,
)  # fmt: skip
def check_search_filtered(call: Probe) -> None:
    """Search where the walk finds enough, where it gives up, and with thresholds."""
    with call.scratch() as db:
        searches = Searches(call, db)
        for about, judge in (
            ("a walk, and what it found", searches.search),
            ("walks that give up", searches.short_walks),
            ("the exact way, and thresholds", searches.search_apart),
        ):
            with call.part(1, about, needed=False), _blaming(call, check_find_nearest):
                judge()
            searches.begin_again()
