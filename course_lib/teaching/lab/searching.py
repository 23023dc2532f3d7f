"""What a statement costs and finds, as lab 07 measures it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, LiteralString

from course_lib.evaluation import recall_at

if TYPE_CHECKING:
    import pandas as pd
    import psycopg

Values = Mapping[str, Any]
Way = Callable[[Values], Sequence[Any]]


def measure_search(
    conn: psycopg.Connection[Any],
    way: Way,
    exact: Way,
    statement: LiteralString,
    asked: Sequence[Values],
    iterative: LiteralString = "off",
) -> pd.Series[float]:
    """Search for each of some values; return the means of rows, recall, pages and rows expected.

    Parameters
    ----------
    conn
        The connection on which the plan is read.
    way, exact
        The search, and one that finds the true rows; both return rows with a `chunk_id`.
    statement
        What the search runs, for its plan.
    asked
        The values of each search.
    iterative
        The `hnsw.iterative_scan` with which the plan is read.
    """
    import pandas as pd

    measured = []
    for values in asked:
        found, truth = ([row.chunk_id for row in search(values)] for search in (way, exact))
        with conn.transaction():
            conn.execute(f"SET LOCAL hnsw.iterative_scan = {iterative}")
            explain = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}"
            ((document,),) = conn.execute(explain, values, prepare=False).fetchall()
        plan = document[0]["Plan"]
        pages = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
        recall = recall_at(found, truth, k=values["top_k"])
        measured.append((len(found), recall, pages, plan["Plans"][0]["Plan Rows"]))
    return pd.DataFrame(measured, columns=["rows", "recall", "pages", "rows expected"]).mean()
