"""The statements of a search; `query` runs them."""

from __future__ import annotations

from typing import Any, LiteralString

import numpy as np
from pgvector import Vector

from course_lib.errors import InputError
from course_lib.records import Query
from course_lib.store.vector_indexes import VECTOR_LIMIT

NEAREST: LiteralString = """
SELECT id::text AS chunk_id, document_name, chunk_index, content, partition, repo_slug, branch,
       kind, name, namespace, citation_url, metadata, tenant_id,
       1 - (embedding <=> %(query)s) AS similarity_score
FROM document_chunks
WHERE (%(partition)s::text[] IS NULL OR partition = ANY (%(partition)s))
  AND (%(kind)s::text IS NULL OR kind = %(kind)s)
  AND (%(namespace)s::text IS NULL OR namespace = %(namespace)s)
  AND (%(repo_slug)s::text IS NULL OR repo_slug = %(repo_slug)s)
  AND (%(branch)s::text IS NULL OR branch = %(branch)s)
  AND (%(document_name)s::text IS NULL OR document_name = %(document_name)s)
  AND (%(tenant_id)s::text IS NULL OR tenant_id = %(tenant_id)s)
ORDER BY {distance}, document_name, chunk_index
LIMIT %(top_k)s
"""
"""The rows that pass the filters, the nearest first. {distance} is one of the three below.

The values are those of `Query.filters`, `query` (a vector) and `top_k`. PostgreSQL drops a filter
whose value is NULL from its plan, as long as the statement is planned for its values:
`prepare=False`. `id::text` makes the uuid a text. The other casts name a placeholder's type:
PostgreSQL takes it from where the placeholder occurs first, and `IS NULL` gives none. Document name
and chunk index order rows of equal distance, but not the copies of a chunk in two branches or
repositories: if `LIMIT` cuts there, either may come.
"""

BY_VECTOR: LiteralString = "embedding <=> %(query)s"
"""The order of a vector index."""

BY_HALFVEC: LiteralString = "embedding::halfvec({0}) <=> %(query)s::halfvec({0})"
"""The order of an index for vectors of more than 2,000 dimensions; {0} is the number of dimensions.

pgvector indexes these with two bytes a number, as `halfvec`. The index is on the expression
`embedding::halfvec(…)`, and PostgreSQL uses an index on an expression only for the same expression.
The query is cast, too, because `<=>` takes two values of one type. `similarity_score` is still
computed with four bytes.
"""

EXACT: LiteralString = "(embedding <=> %(query)s) + 0"
"""No index is sorted by the distance plus zero, so PostgreSQL compares all rows that pass."""

SET_EF_SEARCH: LiteralString = """
SELECT set_config('hnsw.ef_search', coalesce(%(ef_search)s, round(sqrt(rows)))::text, true)
FROM (
    SELECT least(greatest(max(reltuples), 10000), 1000000) AS rows
    FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
    WHERE inhparent = 'document_chunks'::regclass
) AS largest_partition
"""
"""Sets how many candidates a walk keeps, until the transaction ends: `ef_search`, or 100 to 1,000.

`set_config` with `true` is `SET LOCAL` for a value that is computed. `reltuples` is how many rows a
partition had by its last ANALYZE (-1 before the first); `pg_inherits` lists the partitions. Each
has a graph of its own, and the largest decides. Between 10,000 and 1,000,000 rows, the candidates
are the square root of its rows: a larger table gets a longer list, but not in proportion. pgvector
takes at most 1,000.
"""

WITH_WORDS: LiteralString = """
SELECT chunk.*
FROM chunks_with_words(
    %(words)s, %(top_k)s, %(partition)s::text[], %(kind)s, %(repo_slug)s, %(branch)s,
    %(namespace)s, %(document_name)s, %(tenant_id)s
) AS found
CROSS JOIN LATERAL (
    SELECT id::text AS chunk_id, document_name, chunk_index, content, partition, repo_slug, branch,
           kind, name, namespace, citation_url, metadata, tenant_id,
           1 - (embedding <=> %(query)s) AS similarity_score
    FROM document_chunks
    WHERE (partition, tenant_id, repo_slug, branch, document_name, chunk_index) = (
        found.partition, found.tenant_id, found.repo_slug, found.branch,
        found.document_name, found.chunk_index)
    LIMIT 1  -- keeps this from becoming a join: each row is looked up by its key
) AS chunk
ORDER BY found.place
"""
"""The rows with a question's words (lab 08), the best first: those that whoever asks may read.

`chunks_with_words` (store/words_and_tenants.sql) runs with its owner's rights, so it returns only
keys and places. LATERAL runs the subquery once for each key. It reads the row under the caller's
row security, with the columns of `NEAREST`.
"""


def values_of(vector: Vector, query: Query) -> dict[str, Any]:
    """Return the values for the placeholders of `NEAREST` and `WITH_WORDS`.

    `top_k` is how many rows a ranking has there: at least 100 where two are fused.
    """
    return {**query.filters, "query": vector, "words": query.words, "top_k": query.depth}


def distance_of(vector: Vector, query: Query) -> LiteralString:
    """Return the expression that a query's rows are ordered by first.

    Examples
    --------
    >>> distance_of(Vector([1, 0]), Query())
    'embedding <=> %(query)s'
    """
    if query.exact:
        return EXACT
    dimension = vector.dimensions()
    return BY_VECTOR if dimension <= VECTOR_LIMIT else BY_HALFVEC.format(dimension)


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
