"""What lab 07's checks search: a table, a crowd, NumPy's brute force, and what was done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import psycopg
from psycopg.rows import tuple_row

from course_lib.retriever.statements import LOOK_AT_ALL, WALK
from course_lib.teaching.checks.probe import Case, Probe
from course_lib.teaching.checks.scratch import Scratch

TABLE = """
CREATE TABLE document_chunks (
    id            uuid NOT NULL DEFAULT gen_random_uuid(),
    partition     text NOT NULL DEFAULT 'issues',
    repo_slug     text NOT NULL DEFAULT 'docs',
    branch        text NOT NULL DEFAULT '',
    document_name text NOT NULL,
    chunk_index   integer NOT NULL,
    kind          text NOT NULL DEFAULT 'doc-section',
    name          text NOT NULL DEFAULT 'Heading',
    namespace     text,
    citation_url  text,
    tenant_id     text,
    content       text NOT NULL DEFAULT 'text',
    metadata      jsonb NOT NULL DEFAULT '{}',
    embedding     vector(4) NOT NULL
)
"""
# With whole pages this dear, the planner takes the index wherever the order allows it.
INDEX = """
CREATE INDEX graph ON document_chunks USING hnsw (embedding vector_cosine_ops);
ANALYZE document_chunks; SET seq_page_cost = 1000
"""
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


def crowd() -> list[tuple[str, str, int, npt.NDArray[np.float32]]]:
    """Return 2,200 rows: many anywhere, 200 far from the query, and a few of each other kind."""
    many = directions(1_987)
    angles = np.linspace(2.0, 3.0, 200)[:, None]  # from the query: 114 degrees and more
    aside = directions(200)[:, 1:]
    aside /= np.linalg.norm(aside, axis=1, keepdims=True)
    far = np.hstack([np.cos(angles), np.sin(angles) * aside])
    rare = np.array([[4, 3, 0, 0], [3, 4, 0, 0], [1, 0, 4, 8]], dtype=np.float32)
    odd = np.array([[0, 0, 0, 0], [3, 0, 4, 0], [-3, 4, 0, 0]], dtype=np.float32)
    edge = np.array([[1, 1, 1, 1], [0.999, 1, 1, 1]], dtype=np.float32)  # 0.5, and 0.4996
    tied = np.array([[3, 4, 0, 0]] * 3, dtype=np.float32)
    near = np.array([[1, 0.01, 0, 0], [1, 0, 0.02, 0]], dtype=np.float32)
    groups = {"many": many, "far": far, "near": near, "rare": rare, "odd": odd, "edge": edge}
    rows = [
        (kind, f"{kind}.md", index, vector.astype(np.float32))
        for kind, vectors in (groups | {"tied": tied}).items()
        for index, vector in enumerate(vectors)
    ]
    return [rows[i] for i in np.random.default_rng(6).permutation(len(rows))]


def told(rows: list[Any], filters: dict[str, Any]) -> str:
    """Return as a comment what a hidden table holds, and which of its rows pass the filters."""
    kinds = filters.get("kind", [])
    parts = []
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        found = sorted((index, vector) for each, _, index, vector in rows if each == kind)
        vectors = ", ".join(f"[{', '.join(f'{x:g}' for x in vector)}]" for _, vector in found[:5])
        where = "more than 90 degrees from the query" if len(found) > 5 else vectors or "none"
        parts.append(f"{len(found)} of kind {kind!r}: {where}")
    passing = "; ".join(parts) or "all pass"
    return f"# in the check's own table of {len(rows):,} rows, with vectors of 4 numbers; {passing}"


def directions(count: int) -> npt.NDArray[np.float32]:
    """Return so many unit vectors of four numbers, always the same."""
    rows = np.random.default_rng(count).normal(size=(count, 4))
    unit: npt.NDArray[np.float64] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit.astype(np.float32)


def fill(
    connection: psycopg.Connection[Any], rows: Iterable[Sequence[Any]], *, is_indexed: bool = False
) -> None:
    """Make the table, with rows of name, index, vector and, where they differ, kind and partition.

    An index is one that the planner takes wherever the order allows it.
    """
    connection.execute(TABLE)
    columns = "document_name, chunk_index, embedding, kind, partition"
    with connection.cursor().copy(f"COPY document_chunks ({columns}) FROM STDIN".encode()) as copy:
        for name, index, vector, *more in rows:
            rest = (*more, *("doc-section", "issues")[len(more) :])
            copy.write_row((name, index, str([float(one) for one in vector]), *rest))
    if is_indexed:
        connection.execute(INDEX)


def brute_force(rows: list[Any], filters: dict[str, Any]) -> list[tuple[float, str, int]]:
    """Return similarity, name and index of the rows that pass; a NaN is as far away as can be."""
    kinds = filters.get("kind")
    wanted = [kinds] if isinstance(kinds, str) else kinds
    found = []
    for kind, name, index, vector in rows:
        if wanted is None or kind in wanted:
            length = float(np.linalg.norm(vector))
            found.append((float(vector[0]) / length if length else float("-inf"), name, index))
    return sorted(found, key=lambda row: (-row[0], row[1], row[2]))


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
    connection.cursor_factory = type("Watched", (Watched,), {"modes": modes})
    return modes


class Searches:
    """Searches of a crowd by filters that keep many rows, few, distant ones and none.

    Parameters
    ----------
    call
        The learner's `search_filtered`.
    db
        Where the crowd is stored.
    """

    def __init__(self, call: Probe, db: Scratch) -> None:
        self.call, self.db, self.rows = call, db, crowd()
        fill(db.connection, [(*row, kind) for kind, *row in self.rows], is_indexed=True)
        self.before = scans(db)

    def all_ways(self) -> None:
        """Go through all cases."""
        self.few_rows()
        self.thresholds()
        self.many_rows()
        self.short_walks()
        self.given_ways()
        self.is_planned_for_its_values()
        self.leaves_nothing_behind()

    def few_rows(self) -> None:
        """Search by filters that three rows pass, or none."""
        rare = {"kind": "rare"}
        self.finds(rare, "three rows of 2,200 pass, and all are wanted", top_k=3)
        self.finds(rare, "the nearest two of three", top_k=2)
        self.finds(rare, "only three rows pass", top_k=50)
        self.finds({"kind": "none such"}, "no row passes", top_k=5)
        equal = "all three are equally near: equals come by chunk index"
        self.finds({"kind": "tied"}, equal, top_k=2)

    def thresholds(self) -> None:
        """Search with thresholds, which a similarity of NaN, 0.5 or 0.4996 meets or not."""
        two = {"kind": ["rare", "odd"]}
        nan = "one of them is a vector of zeros, whose similarity is NaN"
        self.finds({"kind": "odd"}, nan)
        self.finds(two, "a similarity of at least 0.5", top_k=50, threshold=0.5)
        self.finds(two, "without a threshold it is 0.0", top_k=50, threshold=None)
        edge = "one row is 0.5 similar, which is at least 0.5; the other is 0.4996, which is not"
        self.finds({"kind": "edge"}, edge, threshold=0.5)
        case = self.called({}, 5, 0.999)
        self.walked(case, "2,200 rows qualify, and WALK is the first way")
        similar = all(row.similarity_score >= 0.999 for row in _rows(case))
        case.holds(similar, "rows that are at least 0.999 similar")
        self.walked_only(
            case, "the walk, which finds five rows, of which some are dropped",
            "five rows came back, as many as were asked for, so the next way is not taken; the "
            "threshold is not part of the statement, and says only afterwards what is a result",
        )  # fmt: skip

    def many_rows(self) -> None:
        """Look at order, transaction and setting of a walk that finds enough."""
        notices: list[str] = []
        self.db.connection.add_notice_handler(lambda n: notices.append(n.message_primary or ""))
        modes = watch(self.db.connection)
        case = self.called({}, 5, -1.0)
        scores = [row.similarity_score for row in _rows(case)]
        case.holds(
            len(scores) == 5 and scores == sorted(scores, reverse=True) and scores[0] > 0.9,
            "five rows, the most similar first",
            because="2,200 rows qualify",
        )
        other = {*modes} - {"off", "strict_order"}
        because = "the walk found five rows, as many as were asked for"
        self.walked_only(case, "the walk alone", because)
        lost = [notice for notice in notices if "SET LOCAL" in notice]
        case.holds(
            not lost,
            "the setting inside `with conn.transaction():`",
            got=f"PostgreSQL's warning: {''.join(lost[:1])}",
            because="outside a transaction SET LOCAL has no effect",
        )
        case.holds(
            not other,
            "hnsw.iterative_scan = strict_order",
            got=f"hnsw.iterative_scan = {', '.join(other)}",
            because="a relaxed walk may return rows in the wrong order",
        )

    def short_walks(self) -> None:
        """Let walks go on, then give up after 60 rows."""
        far = {"kind": "far"}  # at the other end of the graph
        case = self.called(far, 5, -1.0)
        case.holds(len(_rows(case)) == 5, "five rows", because="200 rows pass the filter")
        self.walked_only(
            case, "a walk that goes on until five have passed the filter",
            "that is what hnsw.iterative_scan is for",
            "an index walk that brought too few rows, and a look at all of them",
        )  # fmt: skip
        self.db.execute("SET hnsw.max_scan_tuples = 60")
        self.finds(far, "the walk stopped after 60 rows; 200 pass the filter")
        two = "the walk stopped after 60 rows and returned two; 202 pass the filter"
        self.finds({"kind": ["near", "far"]}, two)
        case = self.called({}, 300, -1.0)
        case.holds(
            len(_rows(case)) == 300, "300 rows", got=f"{len(case.value)} rows",
            because="the walk came back with fewer than 300, the `top_k` of this call",
        )  # fmt: skip
        third = "two walks gave up after 60 rows, so the third of the ways is taken"
        self.finds(far, third, ways=(WALK, WALK, LOOK_AT_ALL))
        self.db.execute("RESET hnsw.max_scan_tuples")

    def given_ways(self) -> None:
        """Name one way in `ways`, and then the other."""
        self.finds({}, "the only way is to look at all rows", ways=(LOOK_AT_ALL,))
        case = self.called({"kind": "many"}, 5, -1.0, (LOOK_AT_ALL,))
        case.holds(
            scans(self.db).walks == self.before.walks, "a search that looks at all rows",
            got="one that walked the index", because="`ways` names one way, and it is LOOK_AT_ALL",
        )  # fmt: skip
        case = self.called({"kind": "rare"}, 5, -1.0, (WALK,))
        because = "`ways` names one way, and it is WALK"
        self.walked(case, because)
        only = "a search that walks the index and leaves it at that"
        self.walked_only(case, only, because, "one that looked at all rows as well")

    def is_planned_for_its_values(self) -> None:
        """Search so often that psycopg would prepare the statement."""
        for kind in ("many", "far", "rare", "odd", "edge", "tied", "many"):
            case = self.called({"kind": kind}, 5, -1.0)
        kept = self.db.execute(
            "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%similarity_score%'"
        ).fetchone()
        case.holds(
            kept == (0,),
            "one that is planned again each time: prepare=False",
            got="a statement that was prepared, by psycopg after five uses",
            because="a plan for any value does not know how many rows pass this filter",
        )

    def leaves_nothing_behind(self) -> None:
        """Search, and fail in the walk, where the session has a setting of its own."""
        three = np.array([1, 0, 0], dtype=np.float32)  # the table's vectors have four numbers
        says = "hnsw.iterative_scan = {}, enable_indexscan = {}, and the connection {}"
        for query, ending in ((EAST, "a search"), (three, "a search that failed")):
            for scan in ("off", "relaxed_order"):
                self.db.execute(f"SET hnsw.iterative_scan = {scan}")
                label = self.called({}, 5, -1.0, query=query).label
                status = self.db.connection.info.transaction_status.name
                if status == "INERROR":
                    self.db.connection.rollback()
                found = *(self.db.execute(SETTINGS).fetchone() or ()), status
                Case(self.call, f'conn.execute("SET hnsw.iterative_scan = {scan}"); {label}').holds(
                    found == (scan, "on", "IDLE"),
                    says.format(scan, "on", "IDLE"),
                    got=says.format(*found),
                    because=f"settings are only for this search: after {ending} they are as before",
                )
        self.db.execute("RESET hnsw.iterative_scan")

    def called(self, filters: dict[str, Any], *args: Any, query: Any = EAST, **named: Any) -> Case:
        """Return the call; its label says what the table holds that it met."""
        self.before = scans(self.db)
        case = self.call(self.db.connection, query, filters, *args, **named)
        case.label = f"{case.label}\n{told(self.rows, filters)}"
        return case

    def walked(self, case: Case, because: str) -> None:
        """Expect the last call to have walked the index."""
        case.holds(
            scans(self.db).walks > self.before.walks, "one that walks the HNSW index",
            got="a search that looked at every row", because=because,
        )  # fmt: skip

    def walked_only(
        self, case: Case, says: str, because: str, got: str = "a walk, and then a look at all rows"
    ) -> None:
        """Expect the last call not to have looked at the table as a whole."""
        case.holds(scans(self.db).looks == self.before.looks, says, got=got, because=because)

    def finds(
        self, filters: dict[str, Any], because: str, *, threshold: float | None = -1.0, **more: Any
    ) -> None:
        """Expect exactly the rows that brute force finds."""
        given = {"top_k": 5, **more} | ({} if threshold is None else {"threshold": threshold})
        case = self.called(filters, **given)
        found = [(row.document_name, row.chunk_index) for row in _rows(case)]
        best = brute_force(self.rows, filters)[: given["top_k"]]
        expected = [(name, index) for similar, name, index in best if similar >= (threshold or 0.0)]
        case.holds(found == expected, f"{expected}", got=f"{found}", because=because)
        scores = np.array([row.similarity_score for row in case.value], dtype=float)
        wanted = np.array([best[i][0] for i in range(len(scores))], dtype=float)
        case.holds(
            bool(np.allclose(scores, wanted, atol=1e-5)),
            f"the similarities {wanted.round(3).tolist()}",
            got=f"{scores.round(3).tolist()}",
        )


def _rows(case: Case) -> list[Any]:
    found: list[Any] = case.returns(list)
    names = {tuple(getattr(row, "_fields", ())) for row in found}
    case.holds(
        names <= {NAMES},
        "rows with the names of nearest_sql's columns",
        got=f"rows of {', '.join(*names)}" if len(names) == 1 and () not in names else "",
    )
    return found
