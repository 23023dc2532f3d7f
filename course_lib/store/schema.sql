-- The tables of the course, in the order in which one understands them (lab 06). `create_schema`, in schema.py,
-- fills in {dimension} and {storage} and runs this file, and after it words_and_tenants.sql.
-- To add a column, add one line to its table, nullable or with a DEFAULT, because INSERTs do not name it. PostgreSQL
-- can also compute it from other columns whenever a row is written (GENERATED), and keep it in the row (STORED):
--     audience text GENERATED ALWAYS AS (metadata ->> 'audience') STORED,

-- The extension pgvector: the type vector, its operators and its kinds of index. Not every user may create it: where
-- it is not there yet, a superuser does, or in the cloud the administrator that the service gives you.
CREATE EXTENSION IF NOT EXISTS vector;

-- One row for each source document. The ingest (lab 12) reads here what is indexed already; lab 06 writes no row to
-- it.
-- The first five columns are the key; a column of a key is never NULL, so a document without a branch has ''.
-- `id`: one short name for the row. It is chosen at random when the row is inserted, and stays when the text changes.
-- `parser`, `settings`, `model`: what made its chunks and vectors. Before it indexes a document, the ingest compares
-- the hash of its content, and the parser, settings and model in use now, with this row (indexing/update.py). If one
-- differs, it indexes the document again.
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

-- A row goes to the table whose list has the value of its column `partition`; a row with any other value goes to the
-- last one. The three for code hold the repositories kubeflow/manifests, kubeflow/pipelines and kubeflow/notebooks.
CREATE TABLE documents_documentation  PARTITION OF documents FOR VALUES IN ('documentation');
CREATE TABLE documents_issues         PARTITION OF documents FOR VALUES IN ('issues');
CREATE TABLE documents_code_manifests PARTITION OF documents FOR VALUES IN ('code_manifests');
CREATE TABLE documents_code_pipelines PARTITION OF documents FOR VALUES IN ('code_pipelines');
CREATE TABLE documents_code_notebooks PARTITION OF documents FOR VALUES IN ('code_notebooks');
CREATE TABLE documents_default        PARTITION OF documents DEFAULT;

-- The pieces of the documents, with their vectors. What is filtered on is a column: PostgreSQL keeps statistics about
-- columns, and about the insides of a JSON value only where it is told to. There is no foreign key to `documents`: a
-- chunk may be stored without its document, as in lab 06.
-- `id`: search results name a chunk by it, as one value is shorter than the six of the key.
-- `kind` and `name`: what the piece is, such as a section of a document or a function, and how it is called.
-- `namespace`: the part of a Kubernetes cluster that a resource of a manifest belongs to (lab 02).
-- `embedding`: the dimension of the model's vectors is a part of the type. A vector of up to 7,000 bytes stays in its
-- row (STORAGE PLAIN). A longer one is moved to a side table (EXTERNAL; TOAST), and each comparison needs a look-up
-- there.
-- The CHECK on `visibility` allows only its two words. The last CHECK refuses a vector of zeros: it has no direction,
-- so its cosine distance is NaN, and it would pass every threshold.
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

-- B-trees for the filters of a search (lab 07). An index on the whole table makes one index in each partition. The
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
