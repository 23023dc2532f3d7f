"""The search query: a question's vector goes in, the nearest chunks come out, most similar first.

Two ways lead there. The exact way looks at every row that passes the filters; the indexed way
walks an HNSW graph. A filter that keeps few rows starves the graph walk, and few rows are quick to
look at one by one: so the filters' selectivity decides, and `top_k` rows come back whenever that
many qualify.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, LiteralString

import numpy as np
import psycopg
from pgvector import Vector
from psycopg import sql
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row

from course_lib.errors import DatabaseError, InputError
from course_lib.records import SearchResult

EXACT_LIMIT = 10_000
"""Up to this many rows behind a filter are scanned exactly: a few milliseconds' work."""

ROUNDING = 1e-6
"""What single precision may take from a result that lies on the threshold itself."""

_COLUMNS: LiteralString = (
    "id, document_name, chunk_index, content, partition, repo_slug, branch, kind, name, "
    "namespace, citation_url, metadata"
)

_NEAREST: LiteralString = """
SELECT {columns}, 1 - (embedding <=> %(query)s) AS similarity
FROM document_chunks
WHERE {filters}
ORDER BY {order}
LIMIT %(top_k)s
"""
_BY_INDEX = sql.SQL("embedding <=> %(query)s")
# Adding zero keeps the planner from taking the order out of the vector index.
_BY_LOOKING_AT_ALL = sql.SQL("(embedding <=> %(query)s) + 0, document_name, chunk_index, id")

_COUNT: LiteralString = """
SELECT count(*) FROM (SELECT FROM document_chunks WHERE {filters} LIMIT %(exact_limit)s + 1) AS few
"""


def search(
    conn: psycopg.Connection,
    query_vector: Sequence[float] | np.ndarray[Any, Any],
    top_k: int = 5,
    threshold: float = 0.0,
    partitions: Iterable[str] | str | None = None,
    kind: str | None = None,
    *,
    repo: str | None = None,
    branch: str | None = None,
    namespace: str | None = None,
    document: str | None = None,
    tenant: str | None = None,
    ef_search: int = 100,
    exact: bool | None = None,
) -> list[SearchResult]:
    """Return the chunks that are most similar to a vector.

    Parameters
    ----------
    conn
        A connection from `connect`.
    query_vector
        As many numbers as the table's vectors have; its length does not matter.
    top_k
        How many results, at most; this many come back wherever that many qualify.
    threshold
        Smallest cosine similarity of a result.
    partitions, kind, repo, branch, namespace, document, tenant
        Only chunks with these values; None means any.
    ef_search
        Candidates that the walk through the HNSW graph keeps at hand (1 … 1000): more find more
        and take longer.
    exact
        True looks at every row, False walks the index; None decides by the filters.

    Returns
    -------
    list of SearchResult
        By falling similarity; equals by document name and place in the document.

    Raises
    ------
    InputError
        If an argument is out of its range, or the vector holds NaN or has the wrong dimension.
    DatabaseError
        If there is no index, or the database went away.

    Notes
    -----
    The threshold is applied to what the query found and is no part of it: inside, the graph walk
    would go on and on for one more row that passes.

    With ``hnsw.iterative_scan`` the walk goes on when a filter has thrown its candidates away, but
    it gives up after ``hnsw.max_scan_tuples`` rows. If it came back with fewer than `top_k` rows,
    the exact way is taken after all.
    """
    query = _check(query_vector, top_k, threshold, ef_search)
    equal = {
        "kind": kind,
        "repo_slug": repo,
        "branch": branch,
        "namespace": namespace,
        "document_name": document,
        "tenant_id": tenant,
    }
    values: dict[str, Any] = {name: value for name, value in equal.items() if value is not None}
    conditions: list[sql.Composable] = [
        sql.SQL("{} = {}").format(sql.Identifier(n), sql.Placeholder(n)) for n in values
    ]
    is_filtered = bool(values)
    if partitions is not None:
        conditions.append(sql.SQL("partition = ANY(%(partitions)s)"))
        values["partitions"] = [partitions] if isinstance(partitions, str) else list(partitions)
    filters = sql.SQL(" AND ").join(conditions) if conditions else sql.SQL("true")
    values |= {"query": query, "top_k": top_k, "exact_limit": EXACT_LIMIT}
    # In a transaction of the caller's, a roll-back to where it stood takes our settings back.
    is_nested = conn.info.transaction_status == TransactionStatus.INTRANS
    try:
        # A pipeline sends BEGIN, settings and query together: one journey instead of three.
        with (
            conn.pipeline(),
            conn.transaction(force_rollback=is_nested),
            conn.cursor(row_factory=dict_row, binary=True) as cursor,
        ):
            if exact is None:
                exact = is_filtered and _few(cursor, filters, values)
            rows = _nearest(
                cursor, filters, values, _BY_LOOKING_AT_ALL if exact else _BY_INDEX, ef_search
            )
            if len(rows) < top_k and not exact:
                rows = _nearest(cursor, filters, values, _BY_LOOKING_AT_ALL, ef_search)
    except psycopg.DataError as error:
        raise InputError(
            f"the query does not fit the table: {error.diag.message_primary or error}",
            hint="Encode the question with the model that filled the index.",
        ) from error
    except psycopg.errors.UndefinedTable as error:
        raise DatabaseError("there is no index in the database", hint="Ingest first.") from error
    except psycopg.OperationalError as error:
        raise DatabaseError(
            f"the search was broken off: {str(error).strip()}", hint="Connect and search again."
        ) from error
    # Where a row's vector is zero, its similarity is not a number and passes no comparison.
    rows = [row for row in rows if row["similarity"] >= threshold - ROUNDING]
    rows.sort(key=lambda row: (-row["similarity"], row["document_name"], row["chunk_index"]))
    return [_result(row) for row in rows]


def _nearest(
    cursor: psycopg.Cursor[dict[str, Any]],
    filters: sql.Composable,
    values: dict[str, Any],
    order: sql.SQL,
    ef_search: int,
) -> list[dict[str, Any]]:
    cursor.execute(
        "SELECT set_config('hnsw.iterative_scan', 'strict_order', true), "
        "set_config('hnsw.ef_search', %s, true), "
        # A generic plan would not know how many rows the filters and the limit leave.
        "set_config('plan_cache_mode', 'force_custom_plan', true)",
        [str(ef_search)],
    )
    query = sql.SQL(_NEAREST).format(columns=sql.SQL(_COLUMNS), filters=filters, order=order)
    return cursor.execute(query, values, prepare=True).fetchall()


def _few(
    cursor: psycopg.Cursor[dict[str, Any]], filters: sql.Composable, values: dict[str, Any]
) -> bool:
    row = cursor.execute(sql.SQL(_COUNT).format(filters=filters), values, prepare=True).fetchone()
    return row is not None and row["count"] <= EXACT_LIMIT


def _check(query_vector: object, top_k: int, threshold: float, ef_search: int) -> Vector:
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
    if not 1 <= ef_search <= 1000:
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
        score=similarity,
        partition=row["partition"],
        repo_slug=row["repo_slug"],
        branch=row["branch"],
        kind=row["kind"],
        name=row["name"],
        namespace=row["namespace"],
        citation_url=row["citation_url"],
        metadata=row["metadata"],
    )
