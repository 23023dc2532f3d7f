r"""Words: what a chunk says goes in, an index of its words comes out, and a function that asks it.

PostgreSQL's own full-text search takes ``kubeflow-pipelines`` and ``NetworkPolicy`` as it finds
them. Here an identifier is indexed by its parts and as a whole, without what joins the parts, so
that ``kubeflow-pipelines``, ``KubeflowPipelines`` and ``kubeflow pipelines`` find each other.
"""

from __future__ import annotations

from typing import LiteralString

import psycopg
from psycopg import sql

COMMON = 2_000
"""A word that is in so many chunks tells little: it counts 1, and no chunk is found by it.

It bounds the work of a search. On the Kubeflow corpora (10,000 chunks) nothing is lost by it; a
bound at a fiftieth of the chunks loses a tenth of what words bring to manifests.
"""

MOST_WORDS = 32
"""Words of a question that are looked up: the longest ones, which tend to be the rarest."""

MOST_CHARACTERS = 100_000
"""Characters of a chunk whose words are indexed; PostgreSQL takes no more than 1 MB of words."""

# The words of a text, each once, in English stems: parts of identifiers, then identifiers whole.
# (In PL/pgSQL, since a function in SQL that is not inlined costs as much again at every call.)
_SEARCH_WORDS: LiteralString = r"""
CREATE FUNCTION search_words(asked text) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    -- Without what PostgreSQL's parser would take for paths, addresses, tags and signs.
    plain text := regexp_replace(left(asked, {most_characters}), '[/:@&<>+~=?#%]+', ' ', 'g');
    parts text;
BEGIN
    -- The plural of GPU is GPUs, whose stem is not GPU.
    plain := regexp_replace(plain, '([A-Z][A-Z])s\M', '\1', 'g');
    parts := replace(replace(replace(plain, '-', ' '), '_', ' '), '.', ' ');
    parts := regexp_replace(
        parts, '(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{{2}})', ' ', 'g');
    plain := replace(replace(replace(plain, '-', ''), '_', ''), '.', '');
    RETURN strip(to_tsvector('pg_catalog.english', parts || ' ' || plain));
END
$$
"""

_COLUMN: LiteralString = """
ALTER TABLE document_chunks ADD COLUMN search_text tsvector GENERATED ALWAYS AS (search_words(
    name || ' ' || kind || ' ' || document_name || ' '
    || coalesce(metadata ->> 'header', '') || ' ' || content)) STORED
"""

# Where rows have policies, the operator @@ may not be an index's condition: it could see rows that
# the policies hide. This function may use the index, since it is the tables' owner's; so it checks
# itself what the policies say. It gives keys of rows, which are then read under the policies.
_FIND: LiteralString = r"""
CREATE FUNCTION chunks_with_words(
    asked text, most integer, partitions text[], kinds text, repo text, of_branch text,
    in_namespace text, document text, tenant text)
RETURNS TABLE (
    partition text, tenant_id text, repo_slug text, branch text, document_name text,
    chunk_index integer, place bigint)
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER ROWS 100
SET search_path = pg_catalog, {schema}, pg_temp
SET jit = off
AS $$
DECLARE
    caller name := CASE current_setting('role') WHEN 'none' THEN session_user
        ELSE current_setting('role') END;
    sees_all boolean := pg_has_role(caller, (
        SELECT relowner FROM pg_class WHERE oid = 'document_chunks'::regclass), 'USAGE');
    own text := nullif(current_setting('course.tenant', true), '');
BEGIN
    IF NOT has_table_privilege(caller, 'document_chunks', 'SELECT') THEN
        RAISE insufficient_privilege
            USING MESSAGE = format('permission denied for table document_chunks to %I', caller);
    END IF;
    RETURN QUERY
    WITH word AS MATERIALIZED (
        SELECT row_number() OVER () AS number,
               ('''' || replace(replace(lexeme, '', '\'), '''', '''''') || '''')::tsquery AS query
        FROM unnest(tsvector_to_array(search_words(asked))) AS lexeme
        ORDER BY length(lexeme) DESC, lexeme LIMIT {most_words}
    ), hit AS MATERIALIZED (
        SELECT word.number, one.tab, one."row"
        FROM word CROSS JOIN LATERAL (
            SELECT chunk.tableoid, chunk.ctid FROM document_chunks AS chunk
            WHERE chunk.search_text @@ word.query
              AND (sees_all OR chunk.visibility = 'public' OR chunk.tenant_id = own)
              AND (partitions IS NULL OR chunk.partition = ANY (partitions))
              AND (kinds IS NULL OR chunk.kind = kinds)
              AND (repo IS NULL OR chunk.repo_slug = repo)
              AND (of_branch IS NULL OR chunk.branch = of_branch)
              AND (in_namespace IS NULL OR chunk.namespace = in_namespace)
              AND (document IS NULL OR chunk.document_name = document)
              AND (tenant IS NULL OR chunk.tenant_id = tenant)
            LIMIT {common}) AS one (tab, "row")
    ), weighed AS MATERIALIZED (
        -- The rarer a word, the more it says. Whole numbers add up the same in any order.
        SELECT hit.number, count(*) < {common} AS is_rare,
               round(1e6 * (1 + ln({common} / count(*)::float8)))::integer AS weight
        FROM hit GROUP BY hit.number
    ), found AS MATERIALIZED (
        SELECT hit.tab, hit."row", sum(weighed.weight) AS score
        FROM hit JOIN weighed USING (number) WHERE weighed.is_rare
        GROUP BY hit.tab, hit."row" ORDER BY score DESC FETCH FIRST (2 * most) ROWS WITH TIES
    ), common AS (
        SELECT array_agg(word.query) AS queries
        FROM weighed JOIN word USING (number) WHERE NOT weighed.is_rare
    ), scored AS (
        SELECT chunk.document_name, chunk.chunk_index, chunk.partition,
               chunk.tenant_id, chunk.repo_slug, chunk.branch, found.score
               + CASE WHEN common.queries IS NULL THEN 0 ELSE (
                    SELECT 1000000 * count(*) FROM unnest(common.queries) AS query
                    WHERE chunk.search_text @@ query) END AS score
        FROM found CROSS JOIN common CROSS JOIN LATERAL (
            -- LIMIT makes the planner fetch each row by its address.
            SELECT * FROM document_chunks WHERE tableoid = found.tab AND ctid = found."row" LIMIT 1
        ) AS chunk
    )
    SELECT scored.partition, scored.tenant_id, scored.repo_slug, scored.branch,
           scored.document_name, scored.chunk_index, row_number() OVER (
        ORDER BY scored.score DESC, scored.document_name, scored.chunk_index, scored.partition,
                 scored.tenant_id, scored.repo_slug, scored.branch)
    FROM scored ORDER BY 7 LIMIT most;
END
$$
"""
_FUNCTIONS: tuple[LiteralString, LiteralString] = (
    "search_words(text)",
    "chunks_with_words(text, integer, text[], text, text, text, text, text, text)",
)


def add_word_search(conn: psycopg.Connection) -> None:
    """Give the new table of chunks its index of words.

    Parameters
    ----------
    conn
        A connection of the tables' owner, in a transaction; the tables are there.
    """
    row = conn.execute(
        "SELECT current_schema(), pg_get_userbyid(relowner) FROM pg_class "
        "WHERE oid = 'document_chunks'::regclass"
    ).fetchone()
    assert row is not None
    schema, owner = row
    search_words = sql.SQL(_SEARCH_WORDS).format(most_characters=sql.Literal(MOST_CHARACTERS))
    find = sql.SQL(_FIND).format(
        schema=sql.Identifier(schema),
        common=sql.Literal(COMMON),
        most_words=sql.Literal(MOST_WORDS),
    )
    drop_word_search(conn)  # tables that were dropped by hand leave them behind
    conn.execute(search_words)
    conn.execute(_COLUMN)
    conn.execute(
        "CREATE INDEX document_chunks_search_text ON document_chunks USING gin (search_text)"
    )
    conn.execute(find)
    # It runs with the rights of its owner, which are to be the tables' owner's and no more.
    for function in map(sql.SQL, _FUNCTIONS):
        change = sql.SQL("ALTER FUNCTION {} OWNER TO {}")
        conn.execute(change.format(function, sql.Identifier(owner)))


def drop_word_search(conn: psycopg.Connection) -> None:
    """Drop the functions; the column that uses them has to be gone."""
    row = conn.execute("SELECT current_schema()").fetchone()
    if row and row[0]:
        # Named with its schema: after a collection's own, others are in sight.
        named = [
            sql.SQL("{}.{}").format(sql.Identifier(row[0]), sql.SQL(function))
            for function in _FUNCTIONS
        ]
        conn.execute(sql.SQL("DROP FUNCTION IF EXISTS {}").format(sql.SQL(", ").join(named)))
