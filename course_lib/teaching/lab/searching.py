"""What a statement costs and finds, as labs 06 and 07 measure it; the rankings of lab 08."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, LiteralString

from course_lib.evaluation import recall_at
from course_lib.retriever.query import find_nearest
from course_lib.retriever.statements import BY_VECTOR, EXACT, NEAREST
from course_lib.teaching.lab.retrieval import score_words

if TYPE_CHECKING:
    import pandas as pd
    import psycopg

Values = Mapping[str, Any]
Find = Callable[..., Sequence[Any]]


def plan_of(conn: psycopg.Connection[Any], statement: LiteralString, values: Any) -> Any:
    """Run a statement; return the top of its plan, with ``Pages`` and ``Rows Removed``.

    These are how many pages were visited, and how many rows did not pass a filter.

    Parameters
    ----------
    conn
        Its settings are those of the plan.
    statement
        A statement that returns rows.
    values
        Those of its placeholders.
    """
    explain = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}"
    ((document,),) = conn.execute(explain, values, prepare=False).fetchall()
    plan = document[0]["Plan"]
    pages = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
    return plan | {"Pages": pages, "Rows Removed": _removed(plan)}


def _removed(node: Mapping[str, Any]) -> int:
    here: int = node.get("Rows Removed by Filter", 0)
    return here + sum(map(_removed, node.get("Plans", ())))


def search_ten(
    conn: psycopg.Connection[Any], table: LiteralString, queries: Sequence[Any], setting: str = ""
) -> tuple[list[set[Any]], float]:
    """Return the ten nearest rows of each query, and how many pages a search visits in the mean.

    Parameters
    ----------
    conn
        A connection that commits each statement by itself.
    table
        Its columns are id and embedding.
    queries
        Vectors.
    setting
        What holds for these searches only, such as ``hnsw.ef_search = 40``. They use an index.
        Without a setting, they use none, and so find the true ten.
    """
    nearest = f"SELECT id FROM {table} ORDER BY embedding <=> %s LIMIT 10"
    found, pages = [], []
    with conn.transaction():
        conn.execute(
            f"SET LOCAL enable_seqscan = off; SET LOCAL {setting}"
            if setting
            else "SET LOCAL enable_indexscan = off"
        )
        for query in queries:
            found.append({*conn.execute(nearest, (query,), prepare=False).fetchall()})
            pages.append(plan_of(conn, nearest, (query,))["Pages"])
    return found, statistics.fmean(pages)


def measure_index(
    conn: psycopg.Connection[Any], table: LiteralString, queries: Sequence[Any], setting: str
) -> dict[str, float]:
    """Return the pages that a search visits, by those of an exact scan, and its recall of ten rows.

    Parameters
    ----------
    conn, table, queries, setting
        Those of `search_ten`.
    """
    truth, all_pages = search_ten(conn, table, queries)
    found, pages = search_ten(conn, table, queries, setting)
    shares = [len(some & ten) / len(ten) for some, ten in zip(found, truth, strict=True)]
    return {"share of pages": pages / all_pages, "recall": statistics.fmean(shares)}


def measure_search(
    conn: psycopg.Connection[Any],
    wanted: Mapping[str, Sequence[Values]],
    scan: str,
    find: Find = find_nearest,
    ef_search: int = 40,
) -> pd.Series[float]:
    """Search for each of some values; return the means of rows, recall, pages and what was planned.

    ``rows expected`` is the planner's estimate, and ``walks`` is 1 for a search whose plan walks
    through a vector index, 0 for another.

    Parameters
    ----------
    conn
        A connection that commits each statement by itself.
    wanted
        Name → the values of each search. The means are by this name, then by what they are of.
    scan
        ``off`` runs `NEAREST` alone, without the iterative scan; ``on`` runs `find`, and ``exact``
        runs `find` with the distance `EXACT`.
    find
        `find_nearest`, or what takes the same; both return rows with a `chunk_id`.
    ef_search
        How many candidates a walk keeps.

    Examples
    --------
    >>> wanted = {"notes": [values]}  # doctest: +SKIP
    >>> measure_search(conn, wanted, "off")["notes", "recall"]  # doctest: +SKIP
    0.8
    """
    import pandas as pd
    from psycopg.rows import namedtuple_row

    distance = EXACT if scan == "exact" else BY_VECTOR
    statement = NEAREST.format(distance=distance)
    iterative = "strict_order" if scan == "on" else "off"
    alone: psycopg.Cursor[Any] = conn.cursor(row_factory=namedtuple_row)

    def measured(values: Values) -> dict[str, float]:
        rows: Sequence[Any] = (
            alone.execute(statement, values, prepare=False).fetchall()
            if scan == "off"
            else find(conn, values, distance=distance)
        )
        true_rows = find_nearest(conn, values, EXACT)
        found, truth = ([row.chunk_id for row in some] for some in (rows, true_rows))
        with conn.transaction():
            conn.execute(f"SET LOCAL hnsw.iterative_scan = {iterative}")
            plan = plan_of(conn, statement, values)
        return {
            "rows": len(found),
            "recall": recall_at(found, truth, k=values["top_k"]),
            "pages": plan["Pages"],
            "walks": float("'Order By'" in str(plan)),
            "rows expected": plan["Plans"][0]["Plan Rows"],
        }

    conn.execute(f"SET hnsw.ef_search = {ef_search}")
    tables = {name: pd.DataFrame(map(measured, some)) for name, some in wanted.items()}
    conn.execute("RESET hnsw.ef_search")
    return pd.concat(tables, axis="columns").mean()


def make_visible(conn: psycopg.Connection[Any], indexed: LiteralString) -> None:
    """Make the view ``visible`` of lab 08: for each chunk, the words that are indexed of it.

    Parameters
    ----------
    conn
        Whose temporary tables are made again.
    indexed
        An expression of SQL, such as ``search_text``.
    """
    conn.execute(f"""
        DROP TABLE IF EXISTS indexed CASCADE;
        CREATE TEMP TABLE indexed AS
        SELECT tableoid AS part, ctid AS address, {indexed} AS search_text FROM document_chunks;
        CREATE TEMP VIEW visible AS SELECT * FROM indexed""")


def rank_words(
    conn: psycopg.Connection[Any],
    ranking: LiteralString,
    question: str,
    words: LiteralString = "search_words(%s)",
) -> list[tuple[str, int]]:
    """Return document and index of the chunks that lab 08's ranking finds, the best first.

    Parameters
    ----------
    conn
        Its table ``word`` is made again, with the words of the question.
    ranking
        A statement such as `RANK_BY_WORDS`. It reads ``word``, and ``visible`` of `make_visible`.
    question
        A text.
    words
        An expression that makes a ``tsvector`` of ``%s``.

    Examples
    --------
    ::

        rank_words(conn, RANK_BY_WORDS, "May guests use the network?")[0]
        # ('platform/overlays/prod/allow-office-network.yaml', 0)
    """
    conn.execute("DROP TABLE IF EXISTS word")
    conn.execute(
        f"""
        CREATE TEMP TABLE word AS
        SELECT row_number() OVER () AS number, quote_literal(word)::tsquery AS query
        FROM unnest(tsvector_to_array({words})) AS word""",
        (question,),
    )
    return [(name, at) for *_, name, at, _ in conn.execute(ranking, {"most": 1000})]


def rank_by_bm25(
    conn: psycopg.Connection[Any], questions: Sequence[str]
) -> list[list[tuple[str, int]]]:
    """Rank the chunks for each question by BM25, on the texts that lab 08 indexes.

    Parameters
    ----------
    conn
        Its chunks are ranked.
    questions
        Texts. A chunk without any of a question's words is not in its ranking.
    """
    rows = conn.execute("""
        SELECT document_name, chunk_index,
               concat_ws(' ', name, kind, document_name, metadata ->> 'header', content)
        FROM document_chunks ORDER BY document_name, chunk_index""").fetchall()
    scores = score_words(questions, [text for *_, text in rows]).round(9)
    return [[rows[at][:2] for at in (-row).argsort(kind="stable") if row[at] > 0] for row in scores]
