-- Runs after schema.sql, and adds what later labs need to its tables: B-trees for the filters of a search (lab 07), the
-- search for words (lab 08), a view of the code (lab 10), and whose rows a connection sees (lab 08's stretch).
-- schema.py fills in what is in braces, the schema of the tables and the ranking by words, in which the function's
-- parameter takes the place of the placeholder for how many rows are asked for.
-- To add a column, add one line to its table in schema.sql, nullable or with a DEFAULT, because INSERTs do not name it.
-- PostgreSQL can also compute it from other columns whenever a row is written (GENERATED), and keep it (STORED):
--     audience text GENERATED ALWAYS AS (metadata ->> 'audience') STORED,

-- B-trees. An index on the whole table makes one index in each partition. The
-- vector index comes after the rows: see vector_indexes.py.
CREATE INDEX document_chunks_document_name ON document_chunks (document_name);
CREATE INDEX document_chunks_kind ON document_chunks (kind);
CREATE INDEX document_chunks_namespace ON document_chunks (namespace);
-- The next index is for searches of one repository and branch. Its third column is a protection: for a statement
-- about one document, two indexes fit, the primary key and this one. Before the first ANALYZE, PostgreSQL has no
-- statistics and takes the smaller. If that is this one, without `document_name` it would read every row of the
-- repository.
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

-- Words. PostgreSQL's own full-text search does not split NetworkPolicy, and splits paths in its own way. Here an
-- identifier is indexed by its parts and as a whole, without what joins the parts, so that kubeflow-pipelines,
-- KubeflowPipelines and "kubeflow pipelines" find each other.

-- The words of a text, each once, in English stems: parts of identifiers, then identifiers whole. Only the first
-- 100,000 characters of a chunk are indexed: PostgreSQL takes no more than 1 MB of words.
-- (In PL/pgSQL, which keeps the plans of its expressions. PostgreSQL either copies a function in SQL into the query or
-- plans it anew at every call, which costs as much again as its work. IMMUTABLE: a text always has the same words; a
-- generated column accepts no other function. STRICT: for NULL the result is NULL, without a call.
-- PARALLEL SAFE: the processes that share a statement's work may call it.)
CREATE FUNCTION search_words(asked text) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    -- Without the signs by which PostgreSQL's parser recognises paths, addresses and tags.
    plain text := regexp_replace(left(asked, 100000), '[/:@&<>+~=?#%]+', ' ', 'g');
    parts text;
BEGIN
    -- The plural of GPU is GPUs, whose stem is not GPU. (\M is the end of a word.)
    plain := regexp_replace(plain, '([A-Z][A-Z])s\M', '\1', 'g');
    -- Parts: cut at - _ and ., between a small letter and a capital, and before the last capital of HTTPServer. It
    -- looks back (?<=…) and ahead (?=…). Two small letters have to follow, so that GPUsOnly
    -- becomes `GPUs Only`.
    parts := replace(replace(replace(plain, '-', ' '), '_', ' '), '.', ' ');
    parts := regexp_replace(
        parts, '(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})', ' ', 'g');
    -- Whole: without what joins the parts. `strip` drops where in the text each word is.
    plain := replace(replace(replace(plain, '-', ''), '_', ''), '.', '');
    RETURN strip(to_tsvector('pg_catalog.english', parts || ' ' || plain));
END
$$;

-- PostgreSQL computes this column itself whenever a row is written (GENERATED). A GIN index lists for each word the
-- rows that have it.
ALTER TABLE document_chunks ADD COLUMN search_text tsvector GENERATED ALWAYS AS (search_words(
    name || ' ' || kind || ' ' || document_name || ' '
    || coalesce(metadata ->> 'header', '') || ' ' || content)) STORED;

CREATE INDEX document_chunks_search_text ON document_chunks USING gin (search_text);

-- An index would apply an operator to a row before the policies (see below) are checked. PostgreSQL allows this only for
-- operators that are marked leakproof: they reveal nothing of what they saw, not even in an error. @@ is not. This
-- function may use the index, since it has the rights of the tables' owner (SECURITY DEFINER). So it checks what the
-- policies say: `visible` are the rows that the caller may see and asked for. The ranking of rank_by_words.sql reads
-- them. The function returns only keys; WITH_WORDS then reads the rows under the caller's policies.
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
    -- `true`: if the setting does not exist, it is NULL instead of an error. nullif: after SET LOCAL it is empty.
    own text := nullif(current_setting('course.tenant', true), '');
BEGIN
    -- The owner's rights would otherwise let anybody read.
    IF NOT has_table_privilege(caller, 'document_chunks', 'SELECT') THEN
        RAISE insufficient_privilege
            USING MESSAGE = format('permission denied for table document_chunks to %I', caller);
    END IF;
    RETURN QUERY
    -- NOT MATERIALIZED: it becomes a part of what reads it, so that the index can look up a word. Otherwise all visible
    -- rows would be copied first.
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
        -- Each word becomes a tsquery: in quotes, and the quotes and backslashes in it are doubled.
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
-- `course.tenant`; where it is empty, they have none. (A subselect is evaluated once for a query, a function in a
-- filter once for a row.) USING is tested on existing rows, WITH CHECK on new ones.
-- CURRENT_USER is who runs this file: the owner. A row has to pass one of the policies for a statement, not all: they
-- are joined by OR. ENABLE has the policies hold for all roles but the owner, FORCE (below) for the owner as well.
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

-- For the owner, too: what it may do is then what a policy says, owner_does_all, and nothing that is not written here.
ALTER TABLE documents FORCE ROW LEVEL SECURITY;
ALTER TABLE document_chunks FORCE ROW LEVEL SECURITY;

-- A policy of the parent does not hold for whoever names a partition. So row security is enabled for each of them, too:
-- pg_inherits lists them. They have no policies, and without a policy nothing is seen: whoever does not own them sees
-- nothing there. (Without FORCE here: the owner can still COPY into a partition, which is
-- refused to roles that policies apply to.)
DO $$
DECLARE part regclass;
BEGIN
    FOR part IN SELECT inhrelid FROM pg_inherits WHERE inhparent IN ('documents'::regclass, 'document_chunks'::regclass)
    LOOP EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', part); END LOOP;
END
$$;
