-- The tables of the course, in the order in which one understands them (lab 06). `create_schema`, in schema.py,
-- fills in {dimension} and {storage} and runs this file, and after it words_and_tenants.sql.
-- A new column is one line here: make it nullable, or give it a DEFAULT or a value out of the metadata, such as
--     audience text GENERATED ALWAYS AS (metadata ->> 'audience') STORED,

-- The type vector, its operators and its kinds of index. It is not a trusted extension: where it is not there yet, a
-- superuser creates it, or in the cloud the administrator that the service gives you.
CREATE EXTENSION IF NOT EXISTS vector;

-- Each source once: its text, and what it was indexed with. When one of these changes, it is indexed anew. The first
-- five columns say which document it is, and are the key; a column of a key is never NULL, so no branch is ''.
-- `id` is a random name that stays when the text changes. `metadata` takes any field. A timestamptz is a moment, in
-- whatever time zone it is shown.
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

-- Each row goes where its partition is listed, or to the last table, which takes all others.
CREATE TABLE documents_documentation  PARTITION OF documents FOR VALUES IN ('documentation');
CREATE TABLE documents_issues         PARTITION OF documents FOR VALUES IN ('issues');
CREATE TABLE documents_code_manifests PARTITION OF documents FOR VALUES IN ('code_manifests');
CREATE TABLE documents_code_pipelines PARTITION OF documents FOR VALUES IN ('code_pipelines');
CREATE TABLE documents_code_notebooks PARTITION OF documents FOR VALUES IN ('code_notebooks');
CREATE TABLE documents_default        PARTITION OF documents DEFAULT;

-- The pieces of the documents, with their vectors. What is filtered on is a column: PostgreSQL keeps statistics about
-- columns, and about the insides of a JSON value only where it is told to. A vector that fits stays in its row (STORAGE
-- PLAIN) and is read with it; one that is moved to a side table (TOAST, STORAGE EXTERNAL) costs a look-up each. The
-- first CHECK refuses words other than these two, the second a vector of zeros, which has no direction. What is right
-- for one model's vectors is fixed here: their dimension is a part of the column's type.
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

-- B-trees for the filters. Made for the whole table, each of them is made for every partition. The vector index comes
-- after the rows: see vector_indexes.py.
CREATE INDEX document_chunks_document_name ON document_chunks (document_name);
CREATE INDEX document_chunks_kind ON document_chunks (kind);
CREATE INDEX document_chunks_namespace ON document_chunks (namespace);
-- This one also finds the rows of a document, as the primary key does: a planner that knows nothing of the table yet
-- takes the smaller of the two, and of (repo_slug, branch) alone all rows fit.
CREATE INDEX document_chunks_repo_branch ON document_chunks (repo_slug, branch, document_name);

-- The pieces of code, by the names that tools for code expect. It has the rights of whoever reads it: a view has its
-- owner's otherwise, and shows the rows of every tenant.
-- A document that did not change has its chunks from an earlier commit than its own: in their addresses, the document's
-- commit replaces theirs. If one of the two is NULL, replace gives NULL, and coalesce takes the address as it is.
CREATE VIEW code_chunks WITH (security_invoker = true) AS
SELECT chunk.content AS content_text, document_name AS file_path, kind AS resource_kind,
       name AS resource_name, repo_slug AS repo_name, branch,
       coalesce(replace(chunk.citation_url, chunk.commit_sha, document.commit_sha), chunk.citation_url) AS citation_url
FROM document_chunks AS chunk LEFT JOIN documents AS document
    USING (partition, tenant_id, repo_slug, branch, document_name)
WHERE partition IN ('code_manifests', 'code_pipelines', 'code_notebooks');
