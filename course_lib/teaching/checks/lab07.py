"""Lab 07, the search query: the statement, a walk that continues, and a search that finds all."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from course_lib.retriever.statements import BY_VECTOR, EXACT
from course_lib.teaching.checks.definition import Parts, exercise, part
from course_lib.teaching.checks.searched import SORTS, asks, draws, large, pasted, searched, table

TIME_LIMIT = 10
"""Seconds: the first check of a session also makes its database, and may start the server."""

# --- 7.1 ---


def _found(
    connection: Any, text: str, sort: str, values: Any, table: Any, more: Mapping[str, str]
) -> dict[str, Any]:
    """Run the statement; return its rows, or whether its plan uses an index."""
    statement = text.format(**{"distance": BY_VECTOR, **more}).encode()
    if SORTS[sort].explains:
        plan = connection.execute(b"EXPLAIN " + statement, values, prepare=False).fetchall()
        return {"uses the HNSW index": "using graph" in str(plan)}
    cursor = connection.execute(statement, values, prepare=False)
    names = [column.name for column in cursor.description or ()]
    found = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    return {
        "columns": names,
        "rows": [f"{one.get('document_name')} {one.get('chunk_index')}" for one in found],
        "similarity_score": [one.pop("similarity_score", None) for one in found],
        "other columns": [[one[name] for name in one if name != "chunk_id"] for one in found],
    }


BRACES = "the only part in braces is {distance}; values are placeholders, such as %(kind)s"
ORDERS: tuple[dict[str, Any], ...] = ({}, {}, {"distance": EXACT}, {"distance": "chunk_index"})
STATEMENTS = draws(
    "rows", 12, {}, *ORDERS, look=_found,
    paste=pasted("print(*db.execute({2}NEAREST.format({0}), values), sep='\\n')"),
    says={
        **dict.fromkeys(("KeyError", "IndexError", "ValueError"), BRACES),
        "cannot be mixed": "values are passed by name: write %(name)s, not %s",
    },
)  # fmt: skip
PLACED = "document_name chunk_index embedding"
SIDE = [3, 4, 0, 0]
LENGTHS = table(
    "document_name embedding",
    ("long.md", [12, 5, 0, 0]), ("close.md", [0.6, 0.8, 0, 0]), ("same.md", [5, 0, 0, 0]),
)  # fmt: skip
ROWS = table(
    "document_name chunk_index kind partition namespace repo_slug branch tenant_id",
    ("a.md", 0, "doc-section", "documentation", "prod", "docs", "", "ours"),
    ("a.md", 1, "note", "documentation", None, "docs", "v2", "ours"),
    ("b.md", 0, "note", "issues", "prod", "wiki", "", "theirs"),
    ("c.md", 0, "", "secrets", None, "wiki", "v2", "theirs"),
)
BOTH = "a row has to pass both filters"
LIKE = "% and _ are characters like any other: a value is not a pattern"
EMPTY = "the empty string is a value like any other; only None means any"
NEVER_SQL = "a value must never be read as SQL"
FILTERS: tuple[tuple[dict[str, Any], str], ...] = (
    ({}, "all filters are None, which means any value, also none at all"),
    ({"partition": ["documentation"], "kind": "note"}, BOTH),
    *(({name: value}, f"two rows are of this {name.partition('_')[0]}") for name, value in (
        ("repo_slug", "wiki"), ("namespace", "prod"), ("document_name", "a.md"),
        ("tenant_id", "theirs"), ("branch", "v2"))),
    *(({name: ""}, EMPTY) for name in ("branch", "kind", "namespace")),
    ({"kind": "Heading"}, "'Heading' is the name of all four rows, and the kind of none"),
    ({"namespace": "PROD"}, "'prod' is not 'PROD': case counts"),
    ({"namespace": "p%"}, LIKE),
    ({"partition": ["iss%", "ISSUES"]}, LIKE),
    ({"partition": ["issues", "documentation"]}, "three are in one of these"),
    ({"partition": []}, "nothing is an element of an empty list"),
    ({"kind": "note", "partition": ["issues"], "namespace": "prod", "repo_slug": "wiki",
      "branch": "", "tenant_id": "theirs", "document_name": "b.md"},
     "a row has to pass all seven filters"),
    ({"kind": "NOTE"}, "'note' is not 'NOTE': case counts"),
    *(({"kind": kind}, LIKE) for kind in ("n%", "not_")),
    *(({"kind": kind, "partition": ["issues"]}, NEVER_SQL)
      for kind in ("x' OR 'a' = 'a", "x'); --", "note'--")),
    ({"tenant_id": "x' OR 'a' = 'a"}, NEVER_SQL),
)  # fmt: skip
"""Filters for `ROWS`, and why some pass."""


@exercise("7.1", "retriever.statements:NEAREST", time_limit=TIME_LIMIT, draws=STATEMENTS)
def check_statement() -> Parts:
    """Ask small tables, one a rule; look whether the index is of use; then filter."""
    begins = (
        "ORDER BY has to begin with {distance}, and nothing around it: the index gives rows in the "
        "order of embedding <=> %(query)s, ascending, and no index is sorted by similarity_score"
    )
    many, indexed = table("kind", many=500), table("kind", many=100, index=True)
    nearer = table("kind embedding", ("note", SIDE), many=2_000)
    away = table(PLACED, ("up.md", 0, [0, 0, 2, 0]), ("back.md", 0, [-1, 0, 0, 0]))
    tied = table(PLACED, ("b.md", 2, SIDE), ("b.md", 1, SIDE), ("b.md", 0, SIDE), ("a.md", 3, SIDE))
    digits = table(PLACED, ("a.md", 10, SIDE), ("a.md", 9, SIDE))
    three = table(PLACED, ("a.md", 2, [1, 0, 0, 0]), ("b.md", 1, SIDE), ("c.md", 0, [4, 3, 0, 0]))
    return [
        part(1, "the nearest rows, by cosine",
             asks("by cosine same.md is the nearest, with 5 / 5; then long.md, with 12 / 13, and "
                  "close.md, with 0.6 / 1: how long a vector is does not count", LENGTHS, top_k=3),
             asks("one row was asked for", LENGTHS, top_k=1),
             asks("perpendicular is 0 and opposite is -1, whatever the length", away,
                  query="[7, 0, 0, 0]", top_k=2), needed=False),
        part(1, "an order for which the index is of use",
             asks(begins, indexed, sort="plan"),
             asks(begins, indexed, {"kind": "many"}, "plan"),
             asks("300 were asked for, and 500 pass", many, top_k=300)),
        part(1, "rows that are equally near, and another order",
             asks("equals come by document name, then by chunk index", tied, top_k=3),
             asks("both are equally near: chunk 9 comes before chunk 10, as numbers do", digits),
             asks("ORDER BY begins with what is filled in, whatever it is; the similarity stays "
                  "the cosine", three, distance="chunk_index")),
        part(1, "filters",
             *(asks(because, ROWS, filters, top_k=9) for filters, because in FILTERS),
             asks("2,000 rows of another kind are nearer: a row counts for LIMIT only after it has "
                  "passed the filters", nearer, {"kind": "note"}, top_k=1)),
    ]  # fmt: skip


# --- 7.2, 7.3 ---

NAMED = "rows have the names of NEAREST's columns, as by a cursor with row_factory=namedtuple_row"
FUNCTION: dict[str, Any] = {
    "takes_connection": True, "apply": searched, "says": {"object has no attribute": NAMED},
}  # fmt: skip
WALKS = draws("own", 8, {}, *ORDERS, paste=pasted("print(find_nearest(db, {1}))"), **FUNCTION)
SEARCHES = draws(
    "shortest", 8, {"index": True},
    {}, {"threshold": 0.3}, {"threshold": -1.0}, {"distance": "chunk_index"},
    paste=pasted("print(search_filtered(db, {1}))"), **FUNCTION,
)  # fmt: skip
STRICT = (
    "CASE current_setting('hnsw.iterative_scan', true) WHEN 'strict_order' THEN chunk_index "
    "ELSE -chunk_index END"
)
"""An order that tells the setting that the statement runs with."""
ANY_ORDER = "ORDER BY begins with `distance`, whatever it is: here the chunk index"


@exercise(
    "7.2", "retriever.query:find_nearest", waits_for=["7.1"], time_limit=TIME_LIMIT, draws=WALKS
)
def check_find_nearest() -> Parts:
    """Walk to many rows, to rows that are far away, and by another order."""
    return [
        part(1, "a walk that finds enough, and one that goes on",
             large("2,200 rows qualify, and the walk found as many as were asked for", sort="walk"),
             large("200 rows pass the filter, and no others; the walk has to continue until five "
                   "have passed it: hnsw.iterative_scan", "far", "walk"),
             large("hnsw.iterative_scan must be strict_order: a relaxed walk may break the order; "
                   "SET LOCAL needs a transaction", "far", distance=STRICT), needed=False),
        part(1, "the rows that pass, in their order",
             large("three rows of 2,200 pass", "rare"),
             large("no row passes", "none such"),
             large("five rows are in one of these partitions", ["rare", "edge"]),
             large("all three are equally near: equals come by chunk index", "tied")),
        part(1, "another order, a plan for its values, and nothing left behind",
             large(ANY_ORDER, "many", top_k=3, distance="chunk_index"),
             large("`distance` is EXACT", top_k=7, distance=EXACT),
             large("ORDER BY begins with `distance`, which is EXACT here: no index has this order",
                   "many", "way", distance=EXACT),
             large("psycopg prepares a statement after five uses, and a plan for any value does "
                   "not know how many rows pass this filter: prepare=False", "rare", "planned",
                   distance=EXACT),
             large("settings are only for this search: after it they are as before", "rare", "own",
                   distance=EXACT),
             large("an empty list would say that no row passes the filters", sort="own",
                   query="[1, 0, 0]", raises=Exception),
             large("only the code that began a transaction may end it", "rare", "transaction",
                   distance=EXACT)),
    ]  # fmt: skip


@exercise(
    "7.3", "retriever.query:search_filtered",
    waits_for=["7.2"], time_limit=TIME_LIMIT, draws=SEARCHES,
)  # fmt: skip
def check_search_filtered() -> Parts:
    """Search where the walk finds enough, where it gives up, and with thresholds."""
    gave_up, two = "the walk stopped after 60 rows", ["rare", "odd"]
    whole = partial(large, threshold=-1.0)
    return [
        part(1, "a walk, and what it found",
             whole("2,200 rows qualify, and the walk is the first way: it found five rows, as many "
                   "as were asked for", sort="walk"),
             whole("three rows of 2,200 pass", "rare"),
             whole("the exact scan found three of five rows, so there are no more", "rare",
                   "looks"),
             whole("no row passes", "none such"), needed=False),
        part(1, "walks that give up",
             whole(f"{gave_up}; 200 pass the filter", "far", "short"),
             whole(f"{gave_up} and returned two; 202 pass the filter", ["near", "far"], "short"),
             whole("the walk came back with fewer than 300, the `top_k` of this call", sort="short",
                   top_k=300),
             whole("the walk goes around another vector, and gives up; the exact scan compares all "
                   "rows with the query, and so its rows are the answer", sort="short", top_k=300,
                   other="[-1, 0, 0, 0]", distance="embedding <=> %(other)s")),
        part(1, "the exact way, and thresholds",
             whole(ANY_ORDER, "many", top_k=3, distance="chunk_index"),
             whole("one of them is a vector of zeros, whose similarity is NaN", "odd"),
             whole("`distance` is EXACT: all rows were looked at, and there are no more than "
                   "these; 2,200 rows qualify, and the similarity of one is NaN", sort="way",
                   top_k=2_300, distance=EXACT),
             large("a similarity of at least 0.5", two, top_k=50, threshold=0.5),
             large("without a threshold it is 0.0", two, top_k=50),
             large("one row is 0.5 similar, which is at least 0.5; the other is 0.4996, which is "
                   "not", "edge", threshold=0.5),
             large("two rows came back, as many as were asked for, so they are not looked for "
                   "again; the threshold is not part of the statement, and says only afterwards "
                   "what is a result", "near", "way", top_k=2, threshold=0.9999),
             whole("the vector of zeros is the first by chunk index; the others are similar "
                   "enough, and the one with NaN is not missing", "odd", "way", top_k=3,
                   distance="chunk_index")),
    ]  # fmt: skip
