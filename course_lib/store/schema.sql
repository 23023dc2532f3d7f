-- The tables of the course (lab 06). `create_schema`, in schema.py, fills in the dimension and the
-- storage, and runs this file, then words_and_tenants.sql. A vector index is built when the rows
-- are there (vector_indexes.py).
CREATE EXTENSION IF NOT EXISTS vector;

-- One row for each source document, from which the ingest (lab 12) learns what is indexed. Lab 06
-- writes no row here.
CREATE TABLE documents (
    -- Which document it is. A column of a key is never NULL, so a document without a branch has ''.
    partition     text NOT NULL,
    tenant_id     text NOT NULL,
    repo_slug     text NOT NULL,
    branch        text NOT NULL DEFAULT '',
    document_name text NOT NULL,
    id            uuid NOT NULL DEFAULT gen_random_uuid(),
    commit_sha    text,
    citation_url  text,
    content       text NOT NULL,
    -- If one of these four differs, the document is indexed again.
    content_hash  text NOT NULL,
    parser        text NOT NULL,
    settings      text NOT NULL,
    model         text NOT NULL,
    metadata      jsonb NOT NULL DEFAULT '{}',
    -- Who may read it: its tenant only (private), or all. The row-level security of
    -- words_and_tenants.sql enforces it.
    visibility    text NOT NULL DEFAULT 'private' CHECK (visibility IN ('private', 'public')),
    created_at    timestamptz NOT NULL DEFAULT now(),
    updated_at    timestamptz NOT NULL DEFAULT now(),
    -- Also an index. In it, all rows of a tenant, repository and branch lie together.
    PRIMARY KEY (partition, tenant_id, repo_slug, branch, document_name)
) PARTITION BY LIST (partition);

-- A row goes to the table whose list has the value of its `partition`, or else to the last one.
CREATE TABLE documents_documentation  PARTITION OF documents FOR VALUES IN ('documentation');
CREATE TABLE documents_issues         PARTITION OF documents FOR VALUES IN ('issues');
CREATE TABLE documents_code_manifests PARTITION OF documents FOR VALUES IN ('code_manifests');
CREATE TABLE documents_code_pipelines PARTITION OF documents FOR VALUES IN ('code_pipelines');
CREATE TABLE documents_code_notebooks PARTITION OF documents FOR VALUES IN ('code_notebooks');
CREATE TABLE documents_default        PARTITION OF documents DEFAULT;

-- The pieces of the documents, with their vectors. The ingest writes a document and its chunks in
-- one transaction. Lab 06 and other programs store chunks alone, so there is no foreign key to
-- `documents`.
CREATE TABLE document_chunks (
    -- Which document it belongs to, and at which place in it.
    partition     text NOT NULL,
    tenant_id     text NOT NULL,
    repo_slug     text NOT NULL,
    branch        text NOT NULL DEFAULT '',
    document_name text NOT NULL,
    chunk_index   integer NOT NULL,
    -- Search results name a chunk by it. It names a place: after an update, another text.
    id            uuid NOT NULL DEFAULT gen_random_uuid(),
    commit_sha    text,
    -- Searches filter by kind and namespace. They are columns, not JSON: by itself, ANALYZE keeps
    -- statistics only about columns, and from these PostgreSQL guesses how many rows pass.
    kind          text NOT NULL,
    name          text NOT NULL,
    namespace     text,
    citation_url  text,
    content       text NOT NULL,
    content_hash  text NOT NULL,
    -- All other fields, such as the header that was embedded with the content. (jsonb can be
    -- compared, json cannot.)
    metadata      jsonb NOT NULL DEFAULT '{}',
    visibility    text NOT NULL DEFAULT 'private' CHECK (visibility IN ('private', 'public')),
    created_at    timestamptz NOT NULL DEFAULT now(),
    updated_at    timestamptz NOT NULL DEFAULT now(),
    -- If a row is longer than 2 kB, PostgreSQL moves its long values to a side table (TOAST), where
    -- each comparison would have to look. PLAIN keeps the vector in the row. One of over 7,000
    -- bytes gets EXTERNAL, and may be moved.
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
