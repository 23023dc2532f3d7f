"""What lab 07's checks ask of a search, and how they see what was done for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import psycopg
from psycopg.rows import tuple_row

from course_lib.records import Query
from course_lib.retriever.statements import EXACT
from course_lib.teaching.checks.crowd import brute_force, crowd, fill, told
from course_lib.teaching.checks.probe import Case, Probe
from course_lib.teaching.checks.scratch import Scratch
from course_lib.teaching.checks.values import written

EAST = np.array([1, 0, 0, 0], dtype=np.float32)
NAMES = (
    "chunk_id", "document_name", "chunk_index", "content", "partition", "repo_slug", "branch",
    "kind", "name", "namespace", "citation_url", "metadata", "tenant_id", "similarity_score",
)  # fmt: skip
"""The columns of a result."""
SETTINGS = (
    "SELECT current_setting('hnsw.iterative_scan') AS scan, "
    "current_setting('enable_indexscan') AS index"
)


def pasted(values: Mapping[str, Any]) -> str:
    """Return the values of a search as they are written, without the filters that are None."""
    return f"Query().filters | {written(dict(values))}"


class Scans(NamedTuple):
    """How often the HNSW index was walked, and the table looked at as a whole."""

    walks: int
    looks: int


def scans(db: Scratch) -> Scans:
    """Return what PostgreSQL has counted until now."""
    db.execute("SELECT pg_stat_force_next_flush()")
    row = db.execute(
        "SELECT (SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelid = 'graph'::regclass), "
        "seq_scan FROM pg_stat_user_tables WHERE relid = 'document_chunks'::regclass"
    ).fetchone()
    return Scans(*row) if row else Scans(0, 0)


class Watched(psycopg.Cursor[Any]):
    """A cursor that notes in `modes` how far a walk may go on, after each statement."""

    modes: list[str]

    def execute(self, *args: Any, **kwargs: Any) -> Watched:
        """Run a statement and note the setting that it ran with."""
        super().execute(*args, **kwargs)
        plain = psycopg.Cursor(self.connection, row_factory=tuple_row)
        asked = plain.execute("SELECT current_setting('hnsw.iterative_scan', true)")
        self.modes += [row[0] for row in asked]
        return self


def watch(connection: psycopg.Connection[Any]) -> list[str]:
    """Return a list that grows by the mode of the iterative scan with each statement."""
    modes: list[str] = []
    named = {"modes": modes, "__module__": "psycopg"}  # what a learner sees who returns it
    connection.cursor_factory = type("Cursor", (Watched,), named)
    return modes


class Searches:
    """The searches of 7.2 and 7.3, in a table of 2,200 rows.

    Parameters
    ----------
    call
        The learner's `find_nearest` or `search_filtered`.
    db
        Where the table is made.
    """

    def __init__(self, call: Probe, db: Scratch) -> None:
        self.call = call
        self.db = db
        self.rows = crowd()
        self.before = Scans(0, 0)
        rows = [(name, index, vector, kind, kind) for kind, name, index, vector in self.rows]
        fill(db.connection, rows, is_indexed=True)
        self.at_first = self.state()

    def begin_again(self) -> None:
        """Undo what a search that failed has left."""
        if not self.db.connection.closed:
            self.db.connection.rollback()
            self.db.execute("RESET hnsw.max_scan_tuples; RESET hnsw.iterative_scan")
            self.db.execute("RESET plan_cache_mode")

    # --- 7.2 ---

    def walk(self) -> None:
        """Judge the walk of `find_nearest`."""
        self.many_rows()
        self.walks_on()

    def found_rows(self) -> None:
        """Compare what `find_nearest` finds with brute force."""
        self.finds({"kind": "rare"}, "three rows of 2,200 pass")
        self.finds({"kind": "rare"}, "the nearest two of three", top_k=2)
        self.finds({"kind": "none such"}, "no row passes")
        self.finds({"partition": ["rare", "edge"]}, "five rows are in one of these partitions")
        self.finds({"kind": "tied"}, "all three are equally near: equals come by chunk index")

    def walk_apart(self) -> None:
        """Judge what else `find_nearest` has to mind."""
        self.takes_another_order()
        self.is_planned_for_its_values()
        self.leaves_nothing_behind()

    def many_rows(self) -> None:
        """Look at order, transaction and setting of a walk that finds enough."""
        notices: list[str] = []
        self.db.connection.add_notice_handler(lambda n: notices.append(n.message_primary or ""))
        modes = watch(self.db.connection)
        case = self.called({})
        rows = _rows(case)
        scores = [row.similarity_score for row in rows]
        case.holds(
            len(scores) == 5 and scores == sorted(scores, reverse=True) and scores[0] > 0.9,
            "five rows, the most similar first",
            got=_named(rows),
            because="2,200 rows qualify",
        )
        self.walked_only(case, "the walk alone", "the walk found as many as were asked for")
        lost = [notice for notice in notices if "SET LOCAL" in notice]
        case.holds(
            not lost,
            "the setting inside `with conn.transaction():`",
            got=f"PostgreSQL's warning: {''.join(lost[:1])}",
            because="outside a transaction SET LOCAL has no effect",
        )
        other = {*modes} - {"off", "strict_order"}
        case.holds(
            not other,
            "hnsw.iterative_scan = strict_order",
            got=f"hnsw.iterative_scan = {', '.join(other)}",
            because="a relaxed walk may return rows in the wrong order",
        )

    def walks_on(self) -> None:
        """Ask for rows at the other end of the graph."""
        case = self.called({"kind": "far"})
        case.holds(
            len(_rows(case)) == 5, "five rows", got=_named(case.value),
            because="200 rows pass the filter; the walk has to continue until five have passed it: "
            "hnsw.iterative_scan",
        )  # fmt: skip
        names = sorted({row.document_name for row in case.value})
        got = f"rows of {', '.join(names)}"
        case.holds(names == ["far.md"], "rows of far.md", got=got, because="no others pass")
        self.walked_only(case, "the walk alone", "it finds five rows when it may continue")

    def takes_another_order(self) -> None:
        """Fill in what no index is sorted by."""
        self.in_order_of_index()
        self.finds({}, "`distance` is EXACT", top_k=7, distance=EXACT)
        self.finds({"kind": "rare"}, "`distance` is EXACT, and three rows pass", distance=EXACT)
        case = self.called({"kind": "many"}, distance=EXACT)
        case.holds(
            scans(self.db).walks == self.before.walks, "a search that looks at all rows",
            got="a search that walked the index",
            because="ORDER BY begins with `distance`, which is EXACT here: no index has this order",
        )  # fmt: skip

    def in_order_of_index(self, **named: Any) -> None:
        """Ask for rows by their index, which says nothing of how near they are."""
        case = self.called({"kind": "many"}, top_k=3, distance="chunk_index", **named)
        found = [(row.document_name, row.chunk_index) for row in _rows(case)]
        expected = [("many.md", at) for at in range(3)]
        case.holds(
            found == expected, f"{expected}", got=f"{found}",
            because="ORDER BY begins with `distance`, whatever it is: here the chunk index",
        )  # fmt: skip

    def is_planned_for_its_values(self) -> None:
        """Search so often that psycopg would prepare the statement, and PostgreSQL its plan."""
        self.db.execute("SET plan_cache_mode = force_generic_plan")  # of what is prepared
        for kind in ("many", "far", "rare", "odd", "edge", "tied", "many"):
            case = self.called({"kind": kind})
        kept = self.db.execute(
            "SELECT coalesce(sum(generic_plans), 0) FROM pg_prepared_statements "
            "WHERE statement LIKE '%similarity_score%'"
        ).fetchone()
        self.db.execute("RESET plan_cache_mode")
        case.holds(
            kept == (0,),
            "one that is planned again each time: prepare=False",
            got="a plan for any value: psycopg prepares a statement after five uses",
            because="a plan for any value does not know how many rows pass this filter",
        )

    def leaves_nothing_behind(self) -> None:
        """Search, and fail in the walk, where the session has a setting of its own."""
        three = np.array([1, 0, 0], dtype=np.float32)  # the table's vectors have four numbers
        for query, ending in ((EAST, "a search"), (three, "a search that failed")):
            for scan in ("off", "relaxed_order"):
                self.db.execute(f"SET hnsw.iterative_scan = {scan}")
                before = {**self.at_first, "hnsw.iterative_scan": scan}
                case = self.called({}, query=query)
                case.label = f'conn.execute("SET hnsw.iterative_scan = {scan}"); {case.label}'
                self.is_as_before(case, before, f"after {ending} they are as before")
                if query is three:
                    because = "an empty list would say that no row passes the filters"
                    case.raises(Exception, because=because)
        self.leaves_its_caller_s_transaction()
        self.db.execute("RESET hnsw.iterative_scan")

    def leaves_its_caller_s_transaction(self) -> None:
        """Search inside a transaction that its caller began, and commits."""
        before = self.state()
        self.db.execute("BEGIN")
        case = self.called({})
        case.label = f'conn.execute("BEGIN"); {case.label}; conn.execute("COMMIT")'
        _rows(case)
        case.holds(
            self.db.connection.info.transaction_status.name == "INTRANS",
            "a transaction that its caller can still end",
            got="one that was ended",
            because="only the code that began a transaction may end it",
        )
        self.db.execute("COMMIT")
        self.is_as_before(case, before, "after the transaction they are as before")

    def state(self) -> dict[str, str]:
        """Return the settings of the connection, PostgreSQL's and psycopg's."""
        of = self.db.connection
        found = {"the connection": of.info.transaction_status.name}
        if found["the connection"] == "INERROR":
            of.rollback()
        with of.cursor(row_factory=tuple_row) as cursor:
            found |= dict(cursor.execute("SELECT name, setting FROM pg_settings").fetchall())
        named = ("autocommit", "prepare_threshold", "row_factory")
        own = {f"conn.{name}": getattr(of, name) for name in named}
        return found | {name: getattr(one, "__name__", str(one)) for name, one in own.items()}

    def is_as_before(self, case: Case, before: dict[str, str], because: str) -> None:
        """Expect the settings of before."""
        after = self.state()
        other = [name for name, value in before.items() if after[name] != value]
        Case(self.call, case.label).holds(
            not other,
            ", ".join(f"{name} = {before[name]}" for name in other),
            got=", ".join(f"{name} = {after[name]}" for name in other),
            because=f"settings are only for this search: {because}",
        )

    # --- 7.3 ---

    def search(self) -> None:
        """Judge a search whose walk finds enough."""
        case = self.called({}, threshold=-1.0)
        five = len(_rows(case)) == 5
        case.holds(five, "five rows", got=_named(case.value), because="2,200 rows qualify")
        self.walked(case, "2,200 rows qualify, and the walk is the first way")
        because = "the walk found five rows, as many as were asked for"
        self.walked_only(case, "the walk alone", because)
        self.finds({"kind": "rare"}, "three rows of 2,200 pass", threshold=-1.0)
        self.looked_once("the exact scan found three of five rows, so there are no more")
        self.finds({"kind": "none such"}, "no row passes", threshold=-1.0)

    def search_apart(self) -> None:
        """Judge the exact way, and what a threshold keeps."""
        self.exact_once()
        self.thresholds()
        self.drops_nan()

    def short_walks(self) -> None:
        """Let walks give up after 60 rows."""
        self.db.execute("SET hnsw.max_scan_tuples = 60")
        gave_up = "the walk stopped after 60 rows"
        self.finds({"kind": "far"}, f"{gave_up}; 200 pass the filter", threshold=-1.0)
        two = f"{gave_up} and returned two; 202 pass the filter"
        self.finds({"partition": ["near", "far"]}, two, threshold=-1.0)
        case = self.called({}, top_k=300, threshold=-1.0)
        case.holds(
            len(_rows(case)) == 300, "300 rows", got=f"{len(case.value)} rows",
            because="the walk came back with fewer than 300, the `top_k` of this call",
        )  # fmt: skip
        around = "embedding <=> %(other)s"
        case = self.called({"other": -EAST}, top_k=300, threshold=-1.0, distance=around)
        first, best = _named(_rows(case)[:1]), brute_force(self.rows, {})[0]
        case.holds(
            first == f"1 row: {best[1]} {best[2]}", f"{best[1]} {best[2]} first", got=first,
            because="the walk goes around another vector, and gives up; the exact scan compares "
            "all rows with the query, and so its rows are the answer",
        )  # fmt: skip
        self.db.execute("RESET hnsw.max_scan_tuples")

    def exact_once(self) -> None:
        """Begin with another order, and with the exact way, of which nothing is to be repaired."""
        self.in_order_of_index(threshold=-1.0)
        case = self.called({}, top_k=2_300, threshold=-1.0, distance=EXACT)
        found = scans(self.db)
        _rows(case)
        because = "`distance` is EXACT: all rows were looked at, and there are no more than these"
        case.holds(
            found.walks == self.before.walks and found.looks == self.before.looks + 1,
            "one look at all rows",
            got=f"all rows looked at {_times(found.looks - self.before.looks)}, and the index "
            f"walked {_times(found.walks - self.before.walks)}",
            because=because,
        )

    def thresholds(self) -> None:
        """Search with thresholds, which a similarity of NaN, 0.5 or 0.4996 meets or not."""
        two = {"partition": ["rare", "odd"]}
        nan = "one of them is a vector of zeros, whose similarity is NaN"
        self.finds({"kind": "odd"}, nan, threshold=-1.0)
        self.finds(two, "a similarity of at least 0.5", top_k=50, threshold=0.5)
        self.finds(two, "without a threshold it is 0.0", top_k=50)
        edge = "one row is 0.5 similar, which is at least 0.5; the other is 0.4996, which is not"
        self.finds({"kind": "edge"}, edge, threshold=0.5)
        case = self.called({}, threshold=0.999)
        similar = all(row.similarity_score >= 0.999 for row in _rows(case))
        case.holds(similar, "rows that are at least 0.999 similar")
        self.walked_only(
            case, "the walk, which finds five rows, of which some are dropped",
            "five rows came back, as many as were asked for, so they are not looked for again; the "
            "threshold is not part of the statement, and says only afterwards what is a result",
        )  # fmt: skip

    def drops_nan(self) -> None:
        """Meet NaN where the first search finds it: by another order, and by the exact way."""
        because = "the vector of zeros is the first by chunk index; the others are similar enough"
        self.finds({"kind": "odd"}, because, top_k=3, threshold=-1.0, distance="chunk_index")
        self.looked_once("three rows were found; the one with NaN is not missing")
        case = self.called({}, top_k=2_300, threshold=-1.0, distance=EXACT)
        case.holds(
            len(_rows(case)) == 2_199, "2,199 rows", got=f"{len(case.value)} rows",
            because="2,200 rows qualify, and the similarity of one is NaN",
        )  # fmt: skip

    # --- both ---

    def called(
        self, filters: dict[str, Any], *, top_k: int = 5, query: Any = EAST, **named: Any
    ) -> Case:
        """Return the call; its label says what the table holds that it met."""
        self.before = scans(self.db)
        given = {**filters, "query": query, "top_k": top_k}
        case = self.call(self.db.connection, {**Query().filters, **given}, **named)
        more = "".join(f", {name}={value!r}" for name, value in named.items())
        called = f"{self.call.exercise.name}(conn, {pasted(given)}{more})"
        case.label = f"{called}\n{told(self.rows, filters)}"
        return case

    def walked(self, case: Case, because: str) -> None:
        """Expect the last call to have walked the index."""
        case.holds(
            scans(self.db).walks > self.before.walks, "one that walks the HNSW index",
            got="a search that looked at every row", because=because,
        )  # fmt: skip

    def looked_once(self, because: str) -> None:
        """Expect the last call not to have looked at the table as a whole twice."""
        looks = scans(self.db).looks - self.before.looks
        Case(self.call, self.call.called).holds(
            looks <= 1, "one look at all rows",
            got=f"all rows looked at {_times(looks)}", because=because,
        )  # fmt: skip

    def walked_only(self, case: Case, says: str, because: str) -> None:
        """Expect the last call not to have looked at the table as a whole."""
        found = scans(self.db)
        is_walk = found.walks > self.before.walks
        got = "a walk, and then a look at all rows"
        if not is_walk:
            got, because = (
                "no walk: a look at all rows",
                "the index finds enough rows in this order",
            )
        case.holds(found.looks == self.before.looks, says, got=got, because=because)

    def finds(self, filters: dict[str, Any], because: str, *, top_k: int = 5, **named: Any) -> None:
        """Expect exactly the rows that brute force finds."""
        case = self.called(filters, top_k=top_k, **named)
        found = [(row.document_name, row.chunk_index) for row in _rows(case)]
        is_search = self.call.exercise.name == "search_filtered"
        least = named.get("threshold", 0.0) if is_search else -2.0
        best = brute_force(self.rows, filters)[:top_k]
        expected = [(name, index) for similar, name, index in best if similar >= least]
        case.holds(found == expected, f"{expected}", got=f"{found}", because=because)
        scores = np.array([row.similarity_score for row in case.value], dtype=float)
        wanted = np.array([best[i][0] for i in range(len(scores))], dtype=float)
        case.holds(
            bool(np.allclose(scores, wanted, atol=1e-5)),
            f"the similarities {wanted.round(3).tolist()}",
            got=f"{scores.round(3).tolist()}",
        )


def _times(count: int) -> str:
    return ("not at all", "once", "twice")[count] if count < 3 else f"{count} times"


def _named(rows: list[Any]) -> str:
    names = ", ".join(f"{row.document_name} {row.chunk_index}" for row in rows[:5])
    return f"{len(rows)} row{'s'[: len(rows) != 1]}" + (f": {names}" if names else "")


def _rows(case: Case) -> list[Any]:
    found: list[Any] = case.returns(list)
    names = {tuple(getattr(row, "_fields", ())) for row in found}
    kind = type(found[0]).__name__ if found else ""
    case.holds(
        names <= {NAMES},
        "rows with the names of NEAREST's columns",
        got=f"rows of {', '.join(*names)}"
        if len(names) == 1 and () not in names
        else f"{len(found)} rows of type {kind}, without names",
    )
    return found
