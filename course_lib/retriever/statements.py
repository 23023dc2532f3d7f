"""Pieces of SQL that a search is put together from; `query` puts them together."""

from __future__ import annotations

from typing import Any, LiteralString

import numpy as np
from pgvector import Vector
from psycopg import sql

from course_lib.errors import InputError
from course_lib.records import Query
from course_lib.store.vector_indexes import VECTOR_LIMIT

COLUMNS = sql.SQL(
    "id::text AS chunk_id, document_name, chunk_index, content, partition, repo_slug, branch, "
    "kind, name, namespace, citation_url, metadata, tenant_id"
)
"""What is returned of a row: the fields of a `SearchResult`, but for its numbers."""

EVERY_ROW = sql.SQL("true")

WALK = sql.SQL("embedding <=> %(query)s")
"""The order in which a vector index delivers rows."""

LOOK_AT_ALL = sql.SQL("(embedding <=> %(query)s) + 0")
"""Adding zero keeps PostgreSQL from taking the order out of a vector index."""

ITERATIVE: LiteralString = "SET LOCAL hnsw.iterative_scan = strict_order"
"""A walk goes on where a filter has thrown its candidates away, until enough rows have passed."""

SET_EF_SEARCH: LiteralString = """
SELECT set_config('hnsw.ef_search', coalesce(%(ef_search)s, round(sqrt(rows)))::text, true)
FROM (
    SELECT least(greatest(max(reltuples), 10000), 1000000) AS rows
    FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
    WHERE inhparent = 'document_chunks'::regclass
) AS largest_partition
"""
"""Sets how many candidates a walk keeps, until the transaction ends: 100 to 1,000."""

WITH_WORDS = sql.SQL("""
    SELECT chunk.*
    FROM chunks_with_words(
        %(words)s, %(most)s, %(partition)s::text[], %(kind)s, %(repo_slug)s, %(branch)s,
        %(namespace)s, %(document_name)s, %(tenant_id)s
    ) AS found
    CROSS JOIN LATERAL (
        SELECT {columns}, 1 - (embedding <=> %(query)s) AS similarity_score
        FROM document_chunks
        WHERE (partition, tenant_id, repo_slug, branch, document_name, chunk_index) = (
            found.partition, found.tenant_id, found.repo_slug, found.branch,
            found.document_name, found.chunk_index)
        LIMIT 1  -- has the planner look up each row by its key
    ) AS chunk
    ORDER BY found.place
""").format(columns=COLUMNS)
"""The rows that hold a question's words, the best first: those that whoever asks may read."""


def words_values(vector: Vector, query: Query) -> dict[str, Any]:
    """Return the values for the placeholders of `WITH_WORDS`."""
    return {**query.filters, "query": vector, "words": query.words, "most": query.depth}


def ways_to(vector: Vector, query: Query) -> tuple[sql.Composable, ...]:
    """Return in which orders rows are looked for, one after the other, until there are enough.

    Larger vectors are indexed at half precision, which decides who is found; similarities are
    exact.

    Examples
    --------
    >>> [way.as_string() for way in ways_to(Vector([1, 0]), Query())]
    ['embedding <=> %(query)s', '(embedding <=> %(query)s) + 0']
    """
    if query.exact:
        return (LOOK_AT_ALL,)
    dimension = sql.Literal(vector.dimensions())
    if vector.dimensions() <= VECTOR_LIMIT:
        return (WALK, LOOK_AT_ALL)
    halves = sql.SQL("embedding::halfvec({}) <=> %(query)s::halfvec({})")
    return (halves.format(dimension, dimension), LOOK_AT_ALL)


def as_vector(given: object) -> Vector:
    """Return a question's vector as the database takes it, of length 1.

    Raises
    ------
    InputError
        If it is not a vector, holds NaN, or is zero.

    Examples
    --------
    >>> as_vector([0, 2]).to_list()
    [0.0, 1.0]
    """
    hint = "Pass one vector, as `EmbeddingClient.encode([question])[0]` gives it."
    try:
        vector = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"the query vector is not a vector: {error}", hint=hint) from error
    if vector.ndim != 1 or not vector.size:
        raise InputError(f"the query vector has shape {vector.shape}", hint=hint)
    if not np.isfinite(vector).all():
        raise InputError("the query vector holds NaN or infinity", hint=hint)
    if not vector.any():
        raise InputError("the query vector holds only zeros: it points nowhere", hint=hint)
    # pgvector squares in single precision, where very small and very large numbers get lost.
    vector = vector / np.abs(vector).max()
    vector = vector / np.linalg.norm(vector)
    return Vector(vector.astype(np.float32))
