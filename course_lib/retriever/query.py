"""The search query: a question's vector and words go in, the chunks that answer it come out.

Two ways lead to the nearest vectors. The exact way looks at every row that passes the filters; the
indexed way walks an HNSW graph. A filter that keeps few rows starves the graph walk, and few rows
are quick to look at one by one: so PostgreSQL decides by the filters' selectivity, and `top_k` rows
come back whenever that many qualify. With the question's words, rows that hold them are found too.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import psycopg
from pgvector import Vector
from psycopg.pq import PipelineStatus, TransactionStatus
from psycopg.rows import dict_row

from course_lib.errors import DatabaseError, InputError
from course_lib.records import SearchResult
from course_lib.retriever import statements
from course_lib.store.collection import ways_out

DEPTH = 100
"""How many rows each of the two lists of a hybrid search holds, at least."""

MOST_CHARACTERS = 2_000
"""Characters of a question whose words are looked up; the model reads no more than about 1,000."""

ROUNDING = 1e-6
"""What single precision may take from a result that lies on the threshold itself."""

Mode = Literal["hybrid", "dense"]
Row = dict[str, Any]


def search(
    conn: psycopg.Connection,
    query_vector: Sequence[float] | np.ndarray[Any, Any],
    top_k: int = 5,
    threshold: float = 0.0,
    partitions: Iterable[str] | str | None = None,
    kind: str | None = None,
    *,
    question: str | None = None,
    mode: Mode | None = None,
    repo: str | None = None,
    branch: str | None = None,
    namespace: str | None = None,
    document: str | None = None,
    tenant: str | None = None,
    ef_search: int | None = None,
    exact: bool | None = None,
) -> list[SearchResult]:
    """Return the chunks that answer a question best, given its vector and, better, its words.

    Parameters
    ----------
    conn
        A connection from `connect`.
    query_vector
        As many numbers as the table's vectors have; its length does not matter.
    top_k
        How many results, at most; this many come back wherever that many qualify.
    threshold
        Smallest cosine similarity of a result, in either mode.
    partitions, kind, repo, branch, namespace, document, tenant
        Only chunks with these values; None means any.
    question
        The question's words, which a hybrid search looks up in the index of words.
    mode
        ``"dense"`` ranks by the vector alone. ``"hybrid"`` fuses that ranking with one by words,
        which finds identifiers that a model has never read. None is hybrid where the words are
        given.
    ef_search
        Candidates that the walk through the HNSW graph keeps at hand (1 … 1000): more find more
        and take longer. None is 100, or the square root of the rows where a partition has more
        than 10,000. Among up to 86,000 real pieces that finds 0.97 of the ten nearest and more
        (`tests/bench/README.md`); what it finds among many more was not measured.
    exact
        True looks at every row that passes the filters. Otherwise PostgreSQL weighs that against
        a walk through the index.

    Returns
    -------
    list of SearchResult
        By falling `score`, equals by document name and place in the document. The score is the
        cosine similarity in dense mode. In hybrid mode it is the sum of ``1 / (60 + place)`` over
        the two rankings (reciprocal rank fusion): a chunk that comes third by meaning and first by
        words has 1/63 + 1/61. `similarity_score` is the cosine in both.

    Raises
    ------
    InputError
        If an argument is out of its range, the vector holds NaN or has the wrong dimension, or a
        hybrid search is asked for without a question.
    DatabaseError
        If there is no index, or one of an earlier version, or the database went away.

    Notes
    -----
    In dense mode the threshold is applied to what the query found and is no part of it: inside, the
    graph walk would go on and on for one more row that passes.

    Which way is quicker, PostgreSQL's planner knows from its statistics: with filters, every search
    is planned anew for their values. So nothing has to be counted first.

    With ``hnsw.iterative_scan`` the walk goes on when a filter has thrown its candidates away, but
    it gives up after ``hnsw.max_scan_tuples`` rows. If it came back with fewer rows than were asked
    for, the exact way is taken after all.

    Examples
    --------
    >>> search(conn, vector, question="Who may use PodDefault?", top_k=3)  # doctest: +SKIP
    [SearchResult(...), SearchResult(...), SearchResult(...)]
    """
    wanted = want(
        query_vector, top_k, threshold, partitions, question, mode, ef_search,
        kind=kind, repo_slug=repo, branch=branch, namespace=namespace,
        document_name=document, tenant_id=tenant,
    )  # fmt: skip
    steps = find(wanted, exact)
    with explained(), _closed_when_lost(conn), _own_transaction(conn) as cursor:
        try:
            query = next(steps)
            while True:
                cursor.execute(query, wanted.values, prepare=wanted.is_prepared)
                query = steps.send(cursor.fetchall())
        except StopIteration as end:
            found: list[SearchResult] = end.value
    return found


@dataclass
class Wanted:
    """What is looked for: filters, how many, and the values of the statements' parameters."""

    equal: dict[str, str | None]
    partitions: list[str] | None
    top_k: int
    threshold: float
    ef_search: int | None
    values: Row

    def __post_init__(self) -> None:
        given = tuple(name for name, value in self.equal.items() if value is not None)
        self.filters = statements.Filters(given, self.partitions is not None)
        self.depth = max(self.top_k, DEPTH)
        self.values |= self.equal | {
            "partitions": self.partitions,
            "least": self.threshold - ROUNDING,
            "ef_search": None if self.ef_search is None else str(self.ef_search),
        }

    @property
    def dimension(self) -> int:
        """Numbers in the question's vector."""
        vector: Vector = self.values["query"]
        return int(vector.dimensions())

    @property
    def is_prepared(self) -> bool:
        """Whether one plan does for all values.

        A plan that was made once does not know how many rows the filters leave: it would walk the
        index where three rows pass. Without filters there is nothing to know.
        """
        return not any(self.filters)


def _listed(partitions: Iterable[str] | str | None) -> list[str] | None:
    if partitions is None:
        return None
    return [partitions] if isinstance(partitions, str) else list(partitions)


def want(
    query_vector: object,
    top_k: int,
    threshold: float,
    partitions: Iterable[str] | str | None,
    question: str | None,
    mode: Mode | None,
    ef_search: int | None,
    **equal: str | None,
) -> Wanted:
    """Return what a search looks for; see `search` for the parameters and what is raised."""
    values = {
        "query": _check(query_vector, top_k, threshold, ef_search),
        "question": _words(question, mode),
    }
    return Wanted(equal, _listed(partitions), top_k, threshold, ef_search, values)


def find(wanted: Wanted, exact: bool | None) -> Generator[bytes, list[Row], list[SearchResult]]:
    """Search, and leave the statements to whoever holds the connection, blocking or async.

    Yields each statement, is sent its rows, and returns the results.
    """
    search_once = _nearest if wanted.values["question"] is None else _fused
    rows, is_enough = yield from search_once(wanted, bool(exact))
    if not (is_enough or exact):
        rows, _ = yield from search_once(wanted, True)
    return [_result(row) for row in rows]


def _nearest(wanted: Wanted, exact: bool) -> Generator[bytes, list[Row], tuple[list[Row], bool]]:
    """Return the rows of a dense search, and whether as many were found as were looked for."""
    rows = yield statements.nearest(
        wanted.filters, wanted.top_k, exact=exact, dimension=wanted.dimension
    )
    is_enough = len(rows) >= wanted.top_k
    # Where a row's vector is zero, its similarity is not a number and passes no comparison.
    rows = [row for row in rows if row["similarity"] >= wanted.threshold - ROUNDING]
    rows.sort(key=lambda row: (-row["similarity"], row["document_name"], row["chunk_index"]))
    return rows, is_enough


def _fused(wanted: Wanted, exact: bool) -> Generator[bytes, list[Row], tuple[list[Row], bool]]:
    """Return the rows of a hybrid search, and whether enough were found by their vectors."""
    rows = yield statements.fused(
        wanted.filters, wanted.top_k, wanted.depth, exact=exact, dimension=wanted.dimension
    )
    is_enough = rows[0]["near_rows"] >= wanted.depth
    return [row for row in rows if row["id"] is not None], is_enough


@contextmanager
def _own_transaction(conn: psycopg.Connection[Any]) -> Iterator[psycopg.Cursor[Row]]:
    """Give a cursor whose statements leave no setting behind."""
    status, pgconn = conn.info.transaction_status, conn.pgconn
    with conn.cursor(row_factory=dict_row, binary=True) as cursor:
        if (
            conn.autocommit
            and status == TransactionStatus.IDLE
            and pgconn.pipeline_status == PipelineStatus.OFF
        ):
            yield cursor  # each statement is a transaction, with which its settings end
        else:
            # In a transaction of the caller's, a roll-back to where it stood takes our settings
            # back. A pipeline sends it together with the query: one journey.
            nested = conn.transaction(force_rollback=status == TransactionStatus.INTRANS)
            with conn.pipeline(), nested:
                yield cursor


@contextmanager
def _closed_when_lost(conn: psycopg.Connection[Any]) -> Iterator[None]:
    """Close a connection whose server went away between a statement and its answer.

    Left open, it would fail once more, with another error, where its `with` block ends.
    """
    try:
        yield
    except psycopg.OperationalError:
        if conn.info.transaction_status in (TransactionStatus.ACTIVE, TransactionStatus.UNKNOWN):
            conn.close()
        raise


@contextmanager
def explained() -> Iterator[None]:
    """Turn what the database says into errors that say what to do."""
    try:
        yield
    except psycopg.DataError as error:
        raise InputError(
            f"the query does not fit the table: {error.diag.message_primary or error}",
            hint=ways_out(),
        ) from error
    except psycopg.errors.UndefinedTable as error:
        raise DatabaseError("there is no index in the database", hint="Ingest first.") from error
    except psycopg.errors.UndefinedFunction as error:
        raise DatabaseError(
            "the index is of an earlier version of the course and has no words",
            hint="Ingest again, which adds them; or ask with mode='dense'.",
        ) from error
    except psycopg.OperationalError as error:
        raise DatabaseError(
            f"the search was broken off: {str(error).strip()}", hint="Connect and search again."
        ) from error


def _words(question: str | None, mode: str | None) -> str | None:
    """Return the words that a hybrid search looks up, None for a dense one."""
    if mode not in (None, "hybrid", "dense"):
        raise InputError(f"there is no mode {mode!r}", hint="It is 'hybrid' or 'dense'.")
    if mode == "hybrid" and question is None:
        raise InputError(
            "a hybrid search needs the question's words",
            hint="Pass question=…, or use mode='dense'.",
        )
    if mode == "dense" or question is None:
        return None
    # What PostgreSQL cannot store is in no text that it has.
    readable = question[:MOST_CHARACTERS].encode("utf-8", "replace").decode("utf-8")
    return readable.replace("\0", " ")


def _check(query_vector: object, top_k: int, threshold: float, ef_search: int | None) -> Vector:
    hint = "Pass one vector, as `EmbeddingClient.encode([question])[0]` gives it."
    try:
        query = np.asarray(query_vector, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"the query vector is no vector: {error}", hint=hint) from error
    if query.ndim != 1 or not query.size:
        raise InputError(f"the query vector has shape {query.shape}", hint=hint)
    if not np.isfinite(query).all():
        raise InputError("the query vector holds NaN or infinity", hint=hint)
    if not query.any():
        raise InputError("the query vector holds only zeros: it points nowhere", hint=hint)
    # pgvector squares in single precision, where very small and very large numbers get lost.
    query = query / np.abs(query).max()
    query = query / np.linalg.norm(query)
    if top_k < 1:
        raise InputError(f"top_k is {top_k}", hint="Ask for 1 result or more.")
    if not -1 <= threshold <= 1:
        raise InputError(
            f"threshold is {threshold}", hint="A cosine similarity lies between -1 and 1."
        )
    if ef_search is not None and not 1 <= ef_search <= 1000:
        raise InputError(f"ef_search is {ef_search}", hint="pgvector takes 1 to 1000.")
    return Vector(query.astype(np.float32))


def _result(row: dict[str, Any]) -> SearchResult:
    similarity = float(row["similarity"])
    return SearchResult(
        chunk_id=str(row["id"]),
        document_name=row["document_name"],
        chunk_index=row["chunk_index"],
        content=row["content"],
        similarity_score=similarity,
        score=float(row.get("score", similarity)),
        partition=row["partition"],
        repo_slug=row["repo_slug"],
        branch=row["branch"],
        kind=row["kind"],
        name=row["name"],
        namespace=row["namespace"],
        citation_url=row["citation_url"],
        metadata=row["metadata"],
    )
