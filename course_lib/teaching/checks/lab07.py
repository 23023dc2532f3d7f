"""Lab 07, the search query: nearest rows, filters, and always enough rows.

What the learner's SQL and functions find in an empty schema is judged, against NumPy's brute force.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import psycopg
from psycopg import sql

from course_lib.retriever.statements import LOOK_AT_ALL
from course_lib.teaching.checks.drawn import Call, Draws, drawn, given
from course_lib.teaching.checks.encoded import alike, encode
from course_lib.teaching.checks.outcomes import CheckFailed
from course_lib.teaching.checks.probe import Case, Probe, exercise
from course_lib.teaching.checks.scratch import TIME_LIMIT, Scratch
from course_lib.teaching.checks.searched import EAST, NAMES, SETTINGS, Searches, directions, fill
from course_lib.teaching.checks.values import written

KINDS = ("note", "NOTE", " note", "n%", "", "it's")


def _vector(values: Sequence[float]) -> str:
    return f"[{', '.join(map(str, values))}]"


def _fill(connection: Any, *args: Any) -> None:
    """Make the table with the rows that the seed at the end of the arguments gives."""
    seed, count = args[-1]
    random = Draws(seed)
    rows: list[Any] = []
    for place in range(count):
        vector = [0.0] * 4 if place == 3 else random.numbers(4, -1.0)
        kind = KINDS[place % 3] if place % 8 else KINDS[3 + place // 8 % 3]
        rows.append((random.choice("abc"), place, vector, kind, random.choice(("issues", "code"))))
    rows += [("d", count + place, [3.0, 4.0, 0.0, 0.0], "tied") for place in range(3)]
    random.shuffle(rows)
    fill(connection, rows, is_indexed=True)


def _text_drawn(function: Callable[..., Any], gaps: Mapping[str, str], *_: Any) -> Any:
    """Return the statement as text; the gaps are filled with SQL."""
    return function(**{name: sql.SQL(gap) for name, gap in gaps.items()}).as_string(None)


def _nearest_drawn(connection: Any, value: Any, gaps: Any, query: Any, top_k: int, _: Any) -> Any:
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


@drawn(8, apply=_text_drawn, prepare=_fill, look=_nearest_drawn, paste="nearest_sql(**{0})")
def any_query(random: Draws) -> Call:
    """Draw what fills the gaps, a vector that is nobody's, and how many rows are asked for."""
    gaps = {}
    if random.chance(0.5):
        gaps["condition"] = random.choice(("chunk_index > 5", "kind = 'tied' OR kind = 'note'"))
    if random.chance(0.3):
        gaps["distance"] = random.choice(("chunk_index", "(embedding <=> %(query)s) + 0"))
    query = random.choice(([3.0, 4.0, 0.0, 0.0], random.numbers(4, -9.0, 9.0)))
    return given(gaps, query, random.randint(1, 30), [random.randrange(10**6), 20])


@exercise("7.1", "retriever.query:nearest_sql", 3, time_limit=TIME_LIMIT, draws=any_query)
def check_nearest(call: Probe) -> None:
    """Ask small tables, one a rule; then look whether the index is of use, and fill the gaps."""
    for rows, query, top_k, expected, because in NEAREST:
        _nearest(call, {}, rows, {"query": query, "top_k": top_k}, expected, because)
    with call.scratch() as db:
        rows = [(f"{i}.md", i, row) for i, row in enumerate(directions(500))]
        fill(db.connection, rows, is_indexed=True)
        values = {"query": EAST, "top_k": 5}
        plan = db.runs("EXPLAIN " + _text(call()), values).value
        called = f"conn.execute(sql.SQL('EXPLAIN ') + nearest_sql(), {written(values)})"
        Case(call, called).holds(
            "using graph" in "\n".join(line for (line,) in plan),
            "a plan that uses the HNSW index",
            got="a plan that reads the whole table: " + plan[-1][0].strip(),
            because="the index gives rows in the order of embedding <=> %(query)s, and ORDER "
            "BY does not begin with this expression as it is",
        )
    _nearest(
        call, {}, [("zero.md", 0, [0, 0, 0, 0]), ("up.md", 0, [0, 0, 2, 0])],
        {"query": EAST, "top_k": 2}, [("up.md", 0, 0.0), ("zero.md", 0, float("nan"))],
        "a vector of zeros has no direction, so its similarity is not a number: PostgreSQL puts "
        "that above all numbers, and the row last by distance",
    )  # fmt: skip
    for gaps, expected, because in GAPS:
        _nearest(call, gaps, [NEAR, FAR, MIDDLE], {"query": EAST, "top_k": 5}, expected, because)


def _text(case: Case) -> str:
    """Return the statement that a learner's `nearest_sql` made."""
    return str(case.returns(sql.Composed).as_string(None))


def _nearest(
    call: Probe, gaps: dict[str, Any], rows: list[Any], values: dict[str, Any],
    expected: list[tuple[str, int, float]], because: str,
) -> None:  # fmt: skip
    """Expect the statement with these gaps to find these rows: name, place and similarity."""
    with call.scratch() as db:
        fill(db.connection, rows)
        case = call(**gaps)
        statement = _text(case)
        called = f"conn.execute({case.label}, {written(values)})"
        found = db.runs(statement, values, called=called).value
        columns = db.execute(statement, values).description or ()
        names = [column.name for column in columns]
        if names != list(NAMES):
            call.fail(called, got=f"the columns {names}", expected=f"the columns {list(NAMES)}")
        shown = [names.index(name) for name in SHOWN]
        held = "; ".join(f"{name!r}, {index}, {vector}" for name, index, vector in rows)
        Case(call, called, value=[tuple(row[at] for at in shown) for row in found]).gives(
            [(name, index, "text", similarity) for name, index, similarity in expected],
            because=f"{because}\nthe table holds, in the partition 'issues', {held}",
        )


SHOWN = ("document_name", "chunk_index", "content", "similarity_score")
LONG_ONE = ("long.md", 0, [12, 5, 0, 0])
SAME = ("same.md", 0, [5, 0, 0, 0])
SIDE = [3, 4, 0, 0]
NEAR, MIDDLE, FAR = ("a.md", 2, [1, 0, 0, 0]), ("c.md", 0, [4, 3, 0, 0]), ("b.md", 1, SIDE)
GAPS: tuple[tuple[dict[str, Any], list[tuple[str, int, float]], str], ...] = (
    ({"condition": sql.SQL("chunk_index > 0")}, [("a.md", 2, 1.0), ("b.md", 1, 0.6)],
     "only these pass the condition"),
    ({"distance": sql.SQL("chunk_index")}, [("c.md", 0, 0.8), ("b.md", 1, 0.6), ("a.md", 2, 1.0)],
     "ORDER BY begins with `distance`, whatever it is; the similarity stays the cosine"),
    ({"condition": sql.SQL("chunk_index = 1 OR chunk_index = 2"), "distance": LOOK_AT_ALL},
     [("a.md", 2, 1.0), ("b.md", 1, 0.6)],
     "both gaps at once"),
)  # fmt: skip
"""What fills the gaps, what comes of `NEAR`, `MIDDLE` and `FAR`, and why."""

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


def _condition(function: Callable[..., Any], filters: Any, *_: Any) -> Any:
    condition, values = function(filters)
    return [condition.as_string(None), values]


def _passing_drawn(connection: Any, value: Any, filters: Mapping[str, Any], _: Any) -> Any:
    """Return the rows that pass, if the values are those of the filters; none for odd columns."""
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
    asked = "SELECT document_name || ' ' || chunk_index FROM document_chunks"
    return f"{asked} WHERE {condition} ORDER BY 1".encode()


@drawn(24, apply=_condition, prepare=_fill, look=_passing_drawn)
def any_filters(random: Draws) -> Call:
    """Draw filters: values, lists, None, and what tries to be read as SQL."""
    kinds = (*KINDS, "x' OR 'a' = 'a", "note'--", "not_", None)
    draws: dict[str, Callable[[], Any]] = {
        "kind": lambda: random.choice(kinds),
        "partition": lambda: random.choice(("issues", ["issues", "code"], ["code"], None)),
        "chunk_index": lambda: random.choice((0, [1, 2, 3], [], 5)),
        "document_name": lambda: random.choice(("a", ["a", "b"], None)),
    }
    filters = {name: draws[name]() for name in random.some(list(draws))[:3]}
    if random.chance(0.3):
        filters["kind"] = [kind for kind in random.some(kinds) if kind is not None]
    if random.chance(0.1):
        filters[random.choice(("true OR kind", 'kind" = "kind" OR "kind'))] = "x"
    return given(filters, [random.randrange(10**6), 24])


@exercise("7.2", "retriever.query:conditions", 3, time_limit=TIME_LIMIT, draws=any_filters)
def check_conditions(call: Probe) -> None:
    """Filter a small table by each form, then by values and names that attack it."""
    rows = [
        ("a.md", 0, EAST, "doc-section", "documentation"),
        ("a.md", 1, EAST, "note", "documentation"),
        ("b.md", 0, EAST, "note", "issues"),
        ("c.md", 0, EAST, "", "secrets"),
    ]
    with call.scratch() as db:
        fill(db.connection, rows)
        a0, a1, b0, c0 = (f"{name} {index}" for name, index, *_ in rows)
        every = [a0, a1, b0, c0]
        _passes(call, db, {"kind": "doc-section"}, [a0], "one row is of this kind")
        both = {"kind": "note", "partition": "issues"}
        _passes(call, db, both, [b0], "a row has to pass both filters")
        _passes(
            call, db, {"partition": ["issues", "documentation"]}, [a0, a1, b0],
            "a row passes a list if the list holds its value",
        )  # fmt: skip
        _passes(call, db, {"partition": []}, [], "nothing is an element of an empty list")
        _passes(call, db, {}, every, "there is no filter")
        _passes(call, db, {"kind": None, "partition": None}, every, "None means any value")
        _passes(call, db, {"kind": "note", "partition": None}, [a1, b0], "None means any value")
        _passes(call, db, {"chunk_index": 0}, [a0, b0, c0], "0 is a value like any other")
        _passes(call, db, {"partition": ["issues"], "chunk_index": 0}, [b0], "it passes both")
        _passes(call, db, {"kind": ""}, [c0], "an empty string is a value like any other")
        case = call({"archived": False})
        case.holds(
            _composed(case)[1] == {"archived": False},
            "the values {'archived': False}",
            got=f"the values {_composed(case)[1]!r}",
            because="False is a value like any other; only None means anything",
        )
        for attack in ("x' OR 'a' = 'a", "x'); --", "note'--"):
            because = "a value must never be read as SQL"
            _passes(call, db, {"partition": "issues", "kind": attack}, [], because)
            _passes(call, db, {"partition": "issues", "kind": ["x", attack]}, [], because)
        for kind in ("NOTE", ["NOTE"]):
            _passes(call, db, {"kind": kind}, [], "'note' is not 'NOTE': case counts")
        for kind in (" note", [" note"]):
            _passes(call, db, {"kind": kind}, [], "a blank is a character like any other")
        for kind in ("n%", "not_", ["n%"]):
            _passes(call, db, {"kind": kind}, [], "% and _ are characters like any other")
        for attack in ("true OR kind", 'kind" = "kind" OR "kind'):
            _resists(call, db, {"partition": "issues", attack: "x"})


def _passes(
    call: Probe, db: Scratch, filters: dict[str, Any], expected: list[str], because: str
) -> None:
    case = call(filters)
    condition, values = _composed(case)
    kept = {name: value for name, value in filters.items() if value is not None}
    case.holds(
        type(values) is dict and values == kept, f"the values {kept}", got=f"the values {values!r}",
        because=because,
    )  # fmt: skip
    text = condition.as_string(db.connection)
    case.holds(
        not kept or any(f"%({name})s" in text for name in kept),
        f"a placeholder for {' and for '.join(kept)}",
        got=text,
        because="a value must never be read as SQL: it travels beside the statement, by its "
        "column's name, as in %(kind)s",
    )
    try:
        found = [row[0] for row in db.connection.execute(_where(text), values).fetchall()]
    except (psycopg.Error, ValueError) as error:
        if "named placeholders" in str(error):  # mixed with positional ones: said for all labs
            raise
        call.fail(
            case.label, got=f"{type(error).__name__}: {str(error).splitlines()[0]}",
            expected=_passing(expected), because=because,
        )  # fmt: skip
    case.holds(found == expected, _passing(expected), got=_passing(found), because=because)


def _passing(rows: list[str]) -> str:
    return f"rows {', '.join(rows)} pass" if rows else "no row passes"


def _resists(call: Probe, db: Scratch, filters: dict[str, Any]) -> None:
    """Expect an error, wherever it comes from, or no rows: never a row that does not qualify."""
    case = call(filters)
    if case.error is not None:
        return
    condition, values = _composed(case)
    try:
        found = db.connection.execute(_where(condition.as_string(db.connection)), values).fetchall()
    except (psycopg.Error, ValueError):
        return
    case.holds(
        found == [],
        "an error, or no rows",
        got=f"rows of {sorted(row[0].split()[0] for row in found)}",
        because="a column's name must never be read as SQL: sql.Identifier",
    )


def _composed(case: Case) -> tuple[sql.Composable, Any]:
    value = case.returns(tuple)
    case.holds(
        len(value) == 2 and isinstance(value[0], sql.Composable),
        "a pair: a condition made with psycopg's sql, and a dictionary",
    )
    return value[0], value[1]


def _searched(function: Callable[..., Any], connection: Any, query: Any, *args: Any) -> Any:
    """Return the rows, and the settings after the search."""
    from pgvector.psycopg import register_vector

    register_vector(connection)
    connection.execute("SET seq_page_cost = 1000; SET hnsw.max_scan_tuples = 60")
    connection.execute("SET hnsw.iterative_scan = relaxed_order")
    try:
        found = function(connection, np.array(query, dtype=np.float32), *args[:-1])
        rows = [[one.document_name, one.chunk_index, one.similarity_score] for one in found]
        names = sorted({str(getattr(one, "_fields", ())) for one in found})
        status = connection.info.transaction_status.name
        settings = connection.execute(SETTINGS).fetchone()
        return [type(found).__name__, rows, names, status, *settings]
    finally:
        connection.rollback()
        connection.execute("RESET seq_page_cost; RESET hnsw.max_scan_tuples")
        connection.execute("RESET hnsw.iterative_scan")


@drawn(6, takes_connection=True, apply=_searched, prepare=_fill)
def any_search(random: Draws) -> Call:
    """Draw a vector and filters that keep many rows, few, or none, and a threshold."""
    filters: dict[str, Any] = random.choice(
        ({"kind": "note"}, {"kind": ["n%", "tied"]}, {"kind": "none"}, {})
    )
    if random.chance(0.3):
        filters = {**filters, "partition": "issues"}
    limits = ((3,), (60,), (60, 0.3), (5, -1.0))[random.turn(4)]
    return given(random.numbers(4, -1.0), filters, *limits, [random.randrange(10**6), 120])


@exercise(
    "7.3", "retriever.query:search_filtered", 4,
    waits_for=("7.1", "7.2"), time_limit=TIME_LIMIT, draws=any_search,
)  # fmt: skip
def check_search_filtered(call: Probe) -> None:
    """Search by filters; where that fails, look whether the cause is in 7.1."""
    try:
        with call.scratch() as db:
            Searches(call, db).all_ways()
    except CheckFailed as failed:
        _blames_nearest_sql(call, failed)
        raise


def _blames_nearest_sql(call: Probe, failed: CheckFailed) -> None:
    """Say so if the function that was checked calls a `nearest_sql` that fails its own check."""
    nearest = getattr(call.given, "__globals__", {}).get("nearest_sql")
    if nearest is None:
        return
    try:
        check_nearest.check(Probe(check_nearest, nearest, call.connect))
    except CheckFailed:
        failed.because += "\n" * bool(failed.because) + (
            "the cause may be the nearest_sql that it calls: it is not right yet, so repair 7.1 "
            'first, or run `nearest_sql = lab.use("nearest_sql")` to take one that is'
        )
