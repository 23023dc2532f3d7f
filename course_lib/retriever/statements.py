"""The statements of a search: what kind of search and which filters go in, composed SQL comes out.

Every value is a parameter, but for the number of rows, which the planner has to know. What was
composed once is kept, as bytes, which psycopg need not compose again either.
"""

from __future__ import annotations

from functools import lru_cache
from typing import LiteralString, NamedTuple

from psycopg import sql

from course_lib.store.schema import VECTOR_LIMIT

RRF_K = 60
"""What is added to a place before it is inverted: the first place counts little more than the next.

60 is the constant of Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet
and individual Rank Learning Methods" (SIGIR 2009).
"""

_COLUMNS: LiteralString = (
    "chunk.id, chunk.document_name, chunk.chunk_index, chunk.content, chunk.partition, "
    "chunk.repo_slug, chunk.branch, chunk.kind, chunk.name, chunk.namespace, chunk.citation_url, "
    "chunk.metadata"
)

_NEAREST: LiteralString = """
SELECT {columns}, 1 - (embedding <=> %(query)s) AS similarity
FROM document_chunks AS chunk
WHERE {filters}{settings}
ORDER BY {order}
LIMIT {top_k}
"""

# What the walk through the graph is to do. A condition without a column is looked at before the
# first row is fetched; set here, the settings need no statement and no journey of their own. They
# hold until the transaction ends, which is at once where the statement is one by itself.
SETTINGS: LiteralString = """ AND (
    SELECT set_config('hnsw.iterative_scan', 'strict_order', true)
        || set_config('hnsw.ef_search', coalesce(%(ef_search)s, (
            SELECT round(sqrt(least(greatest(max((
                SELECT reltuples FROM pg_class WHERE oid = inhrelid)), 10000), 1000000)))::text
            FROM pg_inherits WHERE inhparent = 'document_chunks'::regclass)), true) <> '')"""

# Two lists of rows, one by meaning and one by words, each with its places. A row's score is the sum
# of 1 / (60 + place) over the lists that it is in. (tableoid, ctid) is where a row lies, which
# does not change within a statement.
_FUSED: LiteralString = """
WITH near AS MATERIALIZED (
    SELECT tableoid AS tab, ctid AS "row", embedding <=> %(query)s AS distance,
           document_name, chunk_index
    FROM document_chunks AS chunk
    WHERE {filters}{settings}
    ORDER BY {order}
    LIMIT {depth}
), by_meaning AS (
    SELECT tab, "row", row_number() OVER (ORDER BY distance, document_name, chunk_index) AS place
    FROM near
), by_words AS (
    SELECT tab, "row", place FROM chunks_with_words(
        %(question)s, {depth}, %(partitions)s::text[], %(kind)s, %(repo_slug)s,
        %(branch)s, %(namespace)s, %(document_name)s, %(tenant_id)s)
), fused AS MATERIALIZED (
    SELECT tab, "row", coalesce(1 / ({k} + by_meaning.place)::float8, 0)
                     + coalesce(1 / ({k} + by_words.place)::float8, 0) AS score
    FROM by_meaning FULL JOIN by_words USING (tab, "row")
), best AS (
    SELECT {columns}, 1 - (embedding <=> %(query)s) AS similarity, fused.score,
           row_number() OVER (ORDER BY fused.score DESC, {ties}) AS place
    FROM fused CROSS JOIN LATERAL (
        -- LIMIT makes the planner fetch each row by its address.
        SELECT * FROM document_chunks WHERE tableoid = fused.tab AND ctid = fused."row" LIMIT 1
    ) AS chunk
    WHERE (embedding <=> %(query)s) <= 1 - %(least)s
    ORDER BY place
    LIMIT {top_k}
)
SELECT near_rows, best.* FROM (SELECT count(*) AS near_rows FROM near) AS counted
LEFT JOIN best ON true ORDER BY place
"""

_TIES: LiteralString = (
    "chunk.document_name, chunk.chunk_index, chunk.partition, chunk.tenant_id, chunk.repo_slug, "
    "chunk.branch"
)
_BY_INDEX: LiteralString = "embedding <=> %(query)s"
# Larger vectors are indexed at half precision, which decides who is found; similarities are exact.
_BY_HALF_INDEX: LiteralString = "embedding::halfvec({}) <=> %(query)s::halfvec({})"
# Adding zero keeps the planner from taking the order out of the vector index.
_BY_LOOKING_AT_ALL: LiteralString = "(embedding <=> %(query)s) + 0, {ties}"


class Filters(NamedTuple):
    """The columns that have to equal their parameters, and whether partitions are named."""

    equal: tuple[str, ...]
    has_partitions: bool

    def compose(self) -> sql.Composable:
        """Return the condition."""
        conditions: list[sql.Composable] = [
            sql.SQL("chunk.{} = {}").format(sql.Identifier(name), sql.Placeholder(name))
            for name in self.equal
        ]
        if self.has_partitions:
            conditions.append(sql.SQL("chunk.partition = ANY(%(partitions)s)"))
        return sql.SQL(" AND ").join(conditions) if conditions else sql.SQL("true")


@lru_cache
def nearest(filters: Filters, top_k: int, *, exact: bool, dimension: int) -> bytes:
    """Return the statement of a dense search."""
    return (
        sql.SQL(_NEAREST)
        .format(
            columns=sql.SQL(_COLUMNS),
            filters=filters.compose(),
            settings=sql.SQL("" if exact else SETTINGS),
            order=_order(exact, dimension),
            top_k=sql.Literal(top_k),
        )
        .as_bytes(None)
    )


@lru_cache
def fused(filters: Filters, top_k: int, depth: int, *, exact: bool, dimension: int) -> bytes:
    """Return the statement of a hybrid search whose two lists have `depth` rows."""
    return (
        sql.SQL(_FUSED)
        .format(
            columns=sql.SQL(_COLUMNS),
            filters=filters.compose(),
            settings=sql.SQL("" if exact else SETTINGS),
            order=_order(exact, dimension),
            ties=sql.SQL(_TIES),
            k=sql.Literal(RRF_K),
            depth=sql.Literal(depth),
            top_k=sql.Literal(top_k),
        )
        .as_bytes(None)
    )


def _order(exact: bool, dimension: int) -> sql.Composable:
    if not exact and dimension > VECTOR_LIMIT:
        return sql.SQL(_BY_HALF_INDEX).format(sql.Literal(dimension), sql.Literal(dimension))
    if not exact:
        return sql.SQL(_BY_INDEX)
    return sql.SQL(_BY_LOOKING_AT_ALL).format(ties=sql.SQL(_TIES))
