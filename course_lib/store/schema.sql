-- The tables of the course (lab 06). `create_schema`, in schema.py, fills in the dimension and the storage of
-- `embedding` and runs this file. After it comes words_and_tenants.sql, with what later labs add. There is no vector
-- index here: it is built when the rows are there (vector_indexes.py).

-- The extension pgvector has the type vector, its operators and its kinds of index.
CREATE EXTENSION IF NOT EXISTS vector;

-- One row for each source document. The ingest (lab 12) reads here what is indexed already; lab 06 writes no row.
-- A tenant, such as a customer, owns texts. repo_slug names a repository, document_name is a path in it.
CREATE TABLE documents (
    -- Which document it is. A column of a key is never NULL, so a document without a branch has ''.
    partition     text NOT NULL,
    tenant_id     text NOT NULL,
    repo_slug     text NOT NULL,
    branch        text NOT NULL DEFAULT '',
    document_name text NOT NULL,
    -- One value that names the row, for other programs. An update keeps it. No search uses it, so it has no index.
    id            uuid NOT NULL DEFAULT gen_random_uuid(),
    -- The commit that the last ingest found this text in (NULL without git), and the address that an answer shows.
    commit_sha    text,
    citation_url  text,
    -- The whole text, for people. The ingest compares content_hash instead.
    content       text NOT NULL,
    -- The hash of the text, and what made its chunks and vectors: the parser and its version, the sizes that it cuts
    -- to, and the model. If one of the four differs, the document is indexed again.
    content_hash  text NOT NULL,
    parser        text NOT NULL,
    settings      text NOT NULL,
    model         text NOT NULL,
    -- For fields of your own: the course leaves it empty, and no update touches it.
    metadata      jsonb NOT NULL DEFAULT '{}',
    -- Who may read it: its tenant only (private), or all. Nothing here enforces it: the row-level security of
    -- words_and_tenants.sql does.
    visibility    text NOT NULL DEFAULT 'private' CHECK (visibility IN ('private', 'public')),
    -- The upserts in writer.py set updated_at; there is no trigger.
    created_at    timestamptz NOT NULL DEFAULT now(),
    updated_at    timestamptz NOT NULL DEFAULT now(),
    -- Also an index. By its order, PostgreSQL finds all rows of a tenant, repository and branch together.
    PRIMARY KEY (partition, tenant_id, repo_slug, branch, document_name)
) PARTITION BY LIST (partition);

-- A row goes to the table whose list has the value of its column `partition`; a row with any other value, such as a
-- partition of your own, goes to the last one. The three for code are meant for the repositories kubeflow/manifests,
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
    -- Search results name a chunk by it. It names the place, not the text: an update keeps it.
    id            uuid NOT NULL DEFAULT gen_random_uuid(),
    -- The commit that it was made from. The ingest leaves the chunks of an unchanged document alone, so this, and the
    -- address, may be older than in `documents`.
    commit_sha    text,
    -- What it is, such as a section or a function, what it is called, and the Kubernetes namespace it belongs to.
    -- Searches filter by kind and namespace. They are columns, not JSON: by itself, ANALYZE keeps statistics
    -- only about columns, and from these PostgreSQL guesses how many rows pass.
    kind          text NOT NULL,
    name          text NOT NULL,
    namespace     text,
    citation_url  text,
    content       text NOT NULL,
    -- The hash that lab 04 gives a chunk, of more than its text. The upsert compares the content itself.
    content_hash  text NOT NULL,
    -- All other fields, such as the lines, the parser, and the header that was embedded with the content. (jsonb can be
    -- compared, json cannot.)
    metadata      jsonb NOT NULL DEFAULT '{}',
    -- As in `documents`, and copied here so that a search needs no join.
    visibility    text NOT NULL DEFAULT 'private' CHECK (visibility IN ('private', 'public')),
    created_at    timestamptz NOT NULL DEFAULT now(),
    updated_at    timestamptz NOT NULL DEFAULT now(),
    -- The dimension is part of the type: a model with another one is refused. If a row is longer than 2 kB, PostgreSQL
    -- moves its long values to a side table (TOAST), where each comparison would have to look. PLAIN keeps the vector
    -- in the row, so the text is moved. But a row must fit on a page of 8 kB, so a vector of over 7,000 bytes gets
    -- EXTERNAL, which lets it be moved.
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
