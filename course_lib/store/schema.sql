-- The tables of the course, in the order in which one understands them (lab 06). `create_schema`, in schema.py,
-- fills in {dimension} and {storage} and runs this file, and after it words_and_tenants.sql.
-- A new column is one line here: make it nullable, or give it a DEFAULT. PostgreSQL can also compute it from others
-- whenever a row is written (GENERATED), and keep it in the row (STORED), as it does in words_and_tenants.sql:
--     audience text GENERATED ALWAYS AS (metadata ->> 'audience') STORED,

-- The type vector, its operators and its kinds of index. It is not a trusted extension: where it is not there yet, a
-- superuser creates it, or in the cloud the administrator that the service gives you.
CREATE EXTENSION IF NOT EXISTS vector;

-- Each source once. The ingest reads here what is indexed already; lab 06 writes no row to it.
-- The first five columns are the key; a column of a key is never NULL, so a document without a branch has ''.
-- `id`: one name for the row in place of the five, random, and the same when its text changes.
-- `parser`, `settings`, `model`: what made its chunks and vectors. The ingest compares them and the hash of the content
-- with those of the file (indexing/update.py): if one differs, it indexes the document again.
-- `metadata` takes any field. `visibility`: a row is for its tenant only (private), or for all (public); the rules
-- are in words_and_tenants.sql. A timestamptz is a moment, in whatever time zone it is shown.
CREATE TABLE documents (
    partition     text NOT NULL,
    tenant_id     text NOT NULL,
    repo_slug     text NOT NULL,
    branch        text NOT NULL DEFAULT '',
    document_name text NOT NULL,
    id            uuid NOT NULL DEFAULT gen_random_uuid(),
    commit_sha    text,
    citation_url  text,
    content       text NOT NULL,
    content_hash  text NOT NULL,
    parser        text NOT NULL,
    settings      text NOT NULL,
    model         text NOT NULL,
    metadata      jsonb NOT NULL DEFAULT '{}',
    visibility    text NOT NULL DEFAULT 'private' CHECK (visibility IN ('private', 'public')),
    created_at    timestamptz NOT NULL DEFAULT now(),
    updated_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (partition, tenant_id, repo_slug, branch, document_name)
) PARTITION BY LIST (partition);

-- Each row goes where its partition is listed, or to the last table, which takes all others. The three for code hold
-- files of the repositories kubeflow/manifests, kubeflow/pipelines and kubeflow/notebooks.
CREATE TABLE documents_documentation  PARTITION OF documents FOR VALUES IN ('documentation');
CREATE TABLE documents_issues         PARTITION OF documents FOR VALUES IN ('issues');
CREATE TABLE documents_code_manifests PARTITION OF documents FOR VALUES IN ('code_manifests');
CREATE TABLE documents_code_pipelines PARTITION OF documents FOR VALUES IN ('code_pipelines');
CREATE TABLE documents_code_notebooks PARTITION OF documents FOR VALUES IN ('code_notebooks');
CREATE TABLE documents_default        PARTITION OF documents DEFAULT;

-- The pieces of the documents, with their vectors. What is filtered on is a column: PostgreSQL keeps statistics about
-- columns, and about the insides of a JSON value only where it is told to.
-- `id`: search results name a chunk by it, as one value is shorter than the six of the key.
-- `namespace`: the part of a Kubernetes cluster that a resource of a manifest belongs to (lab 02).
-- `embedding`: the dimension of the model's vectors is a part of the type. A vector that fits stays in its row (STORAGE
-- PLAIN) and is read with it; one that is moved to a side table (TOAST, STORAGE EXTERNAL) costs a look-up each.
-- The CHECK on `visibility` allows only its two words. The last CHECK refuses a vector of zeros: it has no direction.
CREATE TABLE document_chunks (
    partition     text NOT NULL,
    tenant_id     text NOT NULL,
    repo_slug     text NOT NULL,
    branch        text NOT NULL DEFAULT '',
    document_name text NOT NULL,
    chunk_index   integer NOT NULL,
    id            uuid NOT NULL DEFAULT gen_random_uuid(),
    commit_sha    text,
    kind          text NOT NULL,
    name          text NOT NULL,
    namespace     text,
    citation_url  text,
    content       text NOT NULL,
    content_hash  text NOT NULL,
    metadata      jsonb NOT NULL DEFAULT '{}',
    visibility    text NOT NULL DEFAULT 'private' CHECK (visibility IN ('private', 'public')),
    created_at    timestamptz NOT NULL DEFAULT now(),
    updated_at    timestamptz NOT NULL DEFAULT now(),
    embedding     vector({dimension}) STORAGE {storage} NOT NULL,
    CHECK (vector_norm(embedding) > 0),
    PRIMARY KEY (partition, tenant_id, repo_slug, branch, document_name, chunk_index)
) PARTITION BY LIST (partition);

CREATE TABLE document_chunks_documentation  PARTITION OF document_chunks FOR VALUES IN ('documentation');
CREATE TABLE document_chunks_issues         PARTITION OF document_chunks FOR VALUES IN ('issues');
CREATE TABLE document_chunks_code_manifests PARTITION OF document_chunks FOR VALUES IN ('code_manifests');
CREATE TABLE document_chunks_code_pipelines PARTITION OF document_chunks FOR VALUES IN ('code_pipelines');
CREATE TABLE document_chunks_code_notebooks PARTITION OF document_chunks FOR VALUES IN ('code_notebooks');
CREATE TABLE document_chunks_default        PARTITION OF document_chunks DEFAULT;

-- B-trees for the filters of a search (lab 07), `namespace` among them. Made for the whole table, each of them is made
-- for every partition. The vector index comes after the rows: see vector_indexes.py.
CREATE INDEX document_chunks_document_name ON document_chunks (document_name);
CREATE INDEX document_chunks_kind ON document_chunks (kind);
CREATE INDEX document_chunks_namespace ON document_chunks (namespace);
-- It has `document_name` for a reason: before the first ANALYZE, the planner takes the smaller of two indexes that fit.
-- That may be this one, and by (repo_slug, branch) alone it would read every row of the repository.
CREATE INDEX document_chunks_repo_branch ON document_chunks (repo_slug, branch, document_name);

-- The pieces of code (lab 10), by the names that tools for code expect.
-- security_invoker: the view has the rights of whoever reads it. Otherwise it has its owner's, and shows the rows of
-- every tenant.
-- The sync does not write an unchanged document's chunks again (lab 12). They keep the commit of their last change,
-- while `documents` has the newest, which replaces theirs in their addresses. LEFT JOIN: a chunk that was written
-- without its document, as in lab 06, is shown too. Where a commit is NULL, replace gives NULL, and coalesce takes
-- the address as it is.
CREATE VIEW code_chunks WITH (security_invoker = true) AS
SELECT chunk.content AS content_text, document_name AS file_path, kind AS resource_kind,
       name AS resource_name, repo_slug AS repo_name, branch,
       coalesce(replace(chunk.citation_url, chunk.commit_sha, document.commit_sha), chunk.citation_url) AS citation_url
FROM document_chunks AS chunk LEFT JOIN documents AS document
    USING (partition, tenant_id, repo_slug, branch, document_name)
WHERE partition IN ('code_manifests', 'code_pipelines', 'code_notebooks');
