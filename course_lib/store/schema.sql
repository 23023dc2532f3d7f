-- The tables of the course (lab 06). `create_schema`, in schema.py, fills in what is in braces and runs this file.
-- After it comes words_and_tenants.sql, with what later labs add.

-- The extension pgvector has the type vector, its operators and its kinds of index.
CREATE EXTENSION IF NOT EXISTS vector;

-- One row for each source document. The ingest (lab 12) reads here what is indexed already; lab 06 writes no row.
-- A tenant owns texts, such as a customer. A repository's name is its slug. A document's name is its path there.
CREATE TABLE documents (
    -- Which document it is. A column of a key is never NULL, so a document without a branch has ''.
    partition     text NOT NULL,
    tenant_id     text NOT NULL,
    repo_slug     text NOT NULL,
    branch        text NOT NULL DEFAULT '',
    document_name text NOT NULL,
    -- A short name for the row, for other programs. It stays when the text changes.
    id            uuid NOT NULL DEFAULT gen_random_uuid(),
    -- The newest commit that has this text (NULL without git), and the address that an answer shows as its source.
    commit_sha    text,
    citation_url  text,
    -- The whole text, for people. The ingest compares its hash.
    content       text NOT NULL,
    -- What its chunks and vectors were made from, and by what. If one of these differs, it is indexed again.
    content_hash  text NOT NULL,
    parser        text NOT NULL,
    settings      text NOT NULL,
    model         text NOT NULL,
    -- For fields of your own; the course leaves it empty.
    metadata      jsonb NOT NULL DEFAULT '{}',
    -- Who may read it: its tenant only (private), or all. Row-level security (lab 08's stretch) enforces it.
    visibility    text NOT NULL DEFAULT 'private' CHECK (visibility IN ('private', 'public')),
    created_at    timestamptz NOT NULL DEFAULT now(),
    updated_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (partition, tenant_id, repo_slug, branch, document_name)
) PARTITION BY LIST (partition);

-- A row goes to the table whose list has the value of its column `partition`; a row with any other value, such as a
-- partition of your own, goes to the last one. The three for code hold the repositories kubeflow/manifests,
-- kubeflow/pipelines and kubeflow/notebooks.
CREATE TABLE documents_documentation  PARTITION OF documents FOR VALUES IN ('documentation');
CREATE TABLE documents_issues         PARTITION OF documents FOR VALUES IN ('issues');
CREATE TABLE documents_code_manifests PARTITION OF documents FOR VALUES IN ('code_manifests');
CREATE TABLE documents_code_pipelines PARTITION OF documents FOR VALUES IN ('code_pipelines');
CREATE TABLE documents_code_notebooks PARTITION OF documents FOR VALUES IN ('code_notebooks');
CREATE TABLE documents_default        PARTITION OF documents DEFAULT;

-- The pieces of the documents, with their vectors. The ingest writes a document and its chunks in one transaction.
-- Lab 06 and other programs store chunks alone, so there is no foreign key to `documents`.
CREATE TABLE document_chunks (
    -- Which document it belongs to, and at which place in it.
    partition     text NOT NULL,
    tenant_id     text NOT NULL,
    repo_slug     text NOT NULL,
    branch        text NOT NULL DEFAULT '',
    document_name text NOT NULL,
    chunk_index   integer NOT NULL,
    -- By this, search results name a chunk. An update keeps it.
    id            uuid NOT NULL DEFAULT gen_random_uuid(),
    -- The commit that it was made from. The ingest leaves the chunks of an unchanged document alone, so this may be
    -- older than in `documents`.
    commit_sha    text,
    -- What it is, such as a section or a function, what it is called, and the Kubernetes namespace it belongs to.
    -- Searches filter by kind and namespace. They are columns because PostgreSQL counts the values of columns, and so
    -- guesses how many rows a filter keeps.
    kind          text NOT NULL,
    name          text NOT NULL,
    namespace     text,
    citation_url  text,
    content       text NOT NULL,
    -- The record's own hash (lab 04).
    content_hash  text NOT NULL,
    -- All other fields, such as the lines, the parser and the header that was embedded, too.
    metadata      jsonb NOT NULL DEFAULT '{}',
    -- As in its document, so that a search needs no join.
    visibility    text NOT NULL DEFAULT 'private' CHECK (visibility IN ('private', 'public')),
    created_at    timestamptz NOT NULL DEFAULT now(),
    updated_at    timestamptz NOT NULL DEFAULT now(),
    -- The dimension of the model's vectors is part of the type. PostgreSQL moves long values of a row of over 2 kB to a
    -- side table (TOAST), and each comparison would have to look there. PLAIN keeps the vector in its row. A row must
    -- fit on a page of 8 kB, so a vector of over 7,000 bytes is moved (EXTERNAL).
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
