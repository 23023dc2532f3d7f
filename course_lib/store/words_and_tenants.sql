-- Runs after schema.sql, and adds what later labs need to its tables: B-trees for the filters of a search (lab 07), the
-- search for words (lab 08), a view of the code (lab 10), and whose rows a connection sees ("Tenants", below).
-- schema.py fills in what is in braces: the schema of the tables, what is indexed for the search by words, and the
-- ranking by words. In this, the function's parameter `most` takes the place of the placeholder for how many rows are
-- asked for.
-- To add a column, add one line to its table in schema.sql, nullable or with a DEFAULT, because INSERTs do not name it.
-- PostgreSQL can also compute it from other columns whenever a row is written (GENERATED), and keep it (STORED):
--     audience text GENERATED ALWAYS AS (metadata ->> 'audience') STORED,

-- B-trees. An index on the whole table makes one index in each partition. The vector index comes after the rows: see
-- vector_indexes.py. `partition` needs no index, since it chooses the table, and the key's index begins with it and the
-- tenant.
CREATE INDEX document_chunks_document_name ON document_chunks (document_name);
CREATE INDEX document_chunks_kind ON document_chunks (kind);
CREATE INDEX document_chunks_namespace ON document_chunks (namespace);
-- The next index is for searches of one repository and branch. Its third column is a protection: for a statement about
-- one document, the primary key fits, and this index, too. Before the first ANALYZE, PostgreSQL has no statistics and
-- takes the smaller. If that is this one, without `document_name` it would read every row of the branch.
CREATE INDEX document_chunks_repo_branch ON document_chunks (repo_slug, branch, document_name);

-- The pieces of code (lab 10), by the names that tools for code expect.
-- security_invoker: the view has the rights of whoever reads it. Without it, the view reads with the rights of its
-- owner, who sees the rows of every tenant.
-- If a document did not change, the ingest (lab 12) leaves its chunks as they are: their `commit_sha` and
-- `citation_url` name an old commit. The row in `documents` has the newest one. The view puts it into the address, so
-- that an address is of the version that was indexed last. If a commit is NULL, replace gives NULL, and coalesce
-- takes the address as it is. LEFT JOIN: a chunk without its document is shown, too.
CREATE VIEW code_chunks WITH (security_invoker = true) AS
SELECT chunk.content AS content_text, document_name AS file_path, kind AS resource_kind,
       name AS resource_name, repo_slug AS repo_name, branch,
       coalesce(replace(chunk.citation_url, chunk.commit_sha, document.commit_sha), chunk.citation_url) AS citation_url
FROM document_chunks AS chunk LEFT JOIN documents AS document
    USING (partition, tenant_id, repo_slug, branch, document_name)
WHERE partition IN ('code_manifests', 'code_pipelines', 'code_notebooks');

-- Words: the function `search_words` and the column `search_text`, from search_words.sql. A GIN index lists for each word
-- the rows that have it.
-- PostgreSQL's own full-text search does not split NetworkPolicy, and splits paths in its own way.
-- (The function is in PL/pgSQL, which keeps the plans of its expressions for the session. PostgreSQL either copies a
-- function in SQL into the query or plans it anew, which costs as much again as its work. IMMUTABLE: a text always has
-- the same words; a generated column accepts no other function. STRICT: for NULL the result is NULL, without a call.
-- PARALLEL SAFE: the processes that share a statement's work may call it.)
{words}
CREATE INDEX document_chunks_search_text ON document_chunks USING gin (search_text);

-- An index would apply an operator to a row before the policies (see below) are checked. PostgreSQL allows this only
-- for operators that are marked leakproof: they reveal nothing of what they saw, not even in an error. @@ is not, so
-- every role but the owner would read the whole table. This function may use the index, since it has the rights of the
-- tables' owner (SECURITY DEFINER), whose policy lets every row pass. So it checks itself what the policies say:
-- `visible` are the rows that the caller may see and asked for. The ranking of rank_by_words.sql reads them. The
-- function returns only keys; WITH_WORDS (retriever/statements.py) then reads the rows under the caller's policies.
-- A question's 32 longest words are looked up, which tend to be the rarest.
-- (STABLE: it changes nothing. ROWS 100: how many the planner expects; otherwise it is 1,000. With its own search_path,
-- a caller cannot put another table or function in the place of those named here. SET jit: compiling the query to
-- machine code would take longer than it saves.)
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
#variable_conflict use_column
-- (The columns that it returns are variables here, too. Where a name is both, the column is meant; otherwise it would
-- be an error.)
DECLARE
    -- Here, current_user is the owner. Who asks is the role that SET ROLE has set, or else who has logged in.
    caller name := CASE current_setting('role') WHEN 'none' THEN session_user
        ELSE current_setting('role') END;
    -- The owner, and roles that have its rights.
    sees_all boolean := pg_has_role(caller, (
        SELECT relowner FROM pg_class WHERE oid = 'document_chunks'::regclass), 'USAGE');
    -- `true`: if the setting does not exist, it is NULL instead of an error. nullif: once a transaction with SET LOCAL
    -- has ended, it is '' and not NULL.
    own text := nullif(current_setting('course.tenant', true), '');
BEGIN
    -- Every role may call a function, and this one has the owner's rights: without this, each could probe for words.
    IF NOT has_table_privilege(caller, 'document_chunks', 'SELECT') THEN
        RAISE insufficient_privilege
            USING MESSAGE = format('permission denied for table document_chunks to %I', caller);
    END IF;
    RETURN QUERY
    -- NOT MATERIALIZED: it becomes a part of what reads it, so that the index can look up a word. Without this, a
    -- ranking that reads it twice would have all visible rows copied first.
    WITH visible AS NOT MATERIALIZED (
        SELECT chunk.tableoid AS part, chunk.ctid AS address, chunk.search_text
        FROM document_chunks AS chunk
        WHERE (sees_all OR chunk.visibility = 'public' OR chunk.tenant_id = own)
          AND (partitions IS NULL OR chunk.partition = ANY (partitions))
          AND (kinds IS NULL OR chunk.kind = kinds)
          AND (repo IS NULL OR chunk.repo_slug = repo)
          AND (of_branch IS NULL OR chunk.branch = of_branch)
          AND (in_namespace IS NULL OR chunk.namespace = in_namespace)
          AND (document IS NULL OR chunk.document_name = document)
          AND (tenant IS NULL OR chunk.tenant_id = tenant)
    ), word AS MATERIALIZED (
        -- Each word becomes a tsquery: in quotes, and the quotes and backslashes in it are doubled. (A cast, because
        -- to_tsquery would stem the stems again.)
        SELECT row_number() OVER () AS number,
               ('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''')::tsquery AS query
        FROM unnest(tsvector_to_array(search_words(asked))) AS lexeme
        ORDER BY length(lexeme) DESC, lexeme LIMIT 32
    )
    SELECT ranking.* FROM (
{ranking}
    ) AS ranking;
END
$$;

-- Tenants. Queries name their tenant, and may forget to; row-level security does not. The owner's own tools see every
-- row; all other roles read their tenant's rows and the public ones, and write their tenant's only. Their tenant is
-- `course.tenant`; where it is empty, they have none. Each role can set it: this protects from a program that forgets
-- its tenant, not from a person who writes SQL. (A subselect is evaluated once for a query, a function in a
-- filter once for a row.) USING is tested on existing rows, WITH CHECK on new ones.
-- CURRENT_USER is who runs this file: the owner. A row has to pass one of the policies for a statement, not all: they
-- are joined by OR. ENABLE has the policies hold for all roles but the owner, FORCE (below) for the owner as well;
-- superusers are never checked.
ALTER TABLE documents ENABLE ROW LEVEL SECURITY;
CREATE POLICY owner_does_all ON documents TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant_reads ON documents FOR SELECT
    USING (visibility = 'public' OR tenant_id = (SELECT nullif(current_setting('course.tenant', true), '')));
CREATE POLICY tenant_inserts ON documents FOR INSERT
    WITH CHECK (tenant_id = (SELECT nullif(current_setting('course.tenant', true), '')));
CREATE POLICY tenant_updates ON documents FOR UPDATE
    USING (tenant_id = (SELECT nullif(current_setting('course.tenant', true), '')))
    WITH CHECK (tenant_id = (SELECT nullif(current_setting('course.tenant', true), '')));
CREATE POLICY tenant_deletes ON documents FOR DELETE
    USING (tenant_id = (SELECT nullif(current_setting('course.tenant', true), '')));

ALTER TABLE document_chunks ENABLE ROW LEVEL SECURITY;
CREATE POLICY owner_does_all ON document_chunks TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant_reads ON document_chunks FOR SELECT
    USING (visibility = 'public' OR tenant_id = (SELECT nullif(current_setting('course.tenant', true), '')));
CREATE POLICY tenant_inserts ON document_chunks FOR INSERT
    WITH CHECK (tenant_id = (SELECT nullif(current_setting('course.tenant', true), '')));
CREATE POLICY tenant_updates ON document_chunks FOR UPDATE
    USING (tenant_id = (SELECT nullif(current_setting('course.tenant', true), '')))
    WITH CHECK (tenant_id = (SELECT nullif(current_setting('course.tenant', true), '')));
CREATE POLICY tenant_deletes ON document_chunks FOR DELETE
    USING (tenant_id = (SELECT nullif(current_setting('course.tenant', true), '')));

-- For the owner, too. owner_does_all lets it do everything, but now what the owner may do is written in a policy, and
-- can be narrowed there.
ALTER TABLE documents FORCE ROW LEVEL SECURITY;
ALTER TABLE document_chunks FORCE ROW LEVEL SECURITY;

-- A policy of the parent does not hold for whoever names a partition. So row security is enabled for each of them, too:
-- pg_inherits lists them. They have no policies, and without a policy nothing is seen: whoever does not own them sees
-- nothing there. A partition that is added later needs the same. (Without FORCE here: the owner can still COPY into a
-- partition, which is refused to roles that policies apply to.)
DO $$
DECLARE part regclass;
BEGIN
    FOR part IN SELECT inhrelid FROM pg_inherits WHERE inhparent IN ('documents'::regclass, 'document_chunks'::regclass)
    LOOP EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', part); END LOOP;
END
$$;
