"""Citations of what did not change: rows that are as they were get the commit that is indexed now.

A file that is the same in two commits is neither split nor encoded again. It is part of the newer
revision all the same, and its rows have to say so: "this revision" is one commit, not many.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import LiteralString

import psycopg

from course_lib.errors import DatabaseError
from course_lib.loader.github.names import citation_url
from course_lib.records import Scope, SourceDocument
from course_lib.store.tenancy import as_tenant
from course_lib.store.vector_indexes import vector_index_rebuilt

BATCH_DOCUMENTS = 200
"""Documents whose rows are renewed in one transaction."""

_COUNT: LiteralString = """
SELECT count(*) FROM document_chunks
WHERE (partition, tenant_id, repo_slug, branch) = (%(partition)s, %(tenant)s, %(repo)s, %(branch)s)
AND commit_sha IS DISTINCT FROM %(commit)s
"""

_KEY: LiteralString = """
(old.partition, old.tenant_id, old.repo_slug, old.branch) =
    (%(partition)s, %(tenant)s, %(repo)s, %(branch)s)
AND old.document_name = new.name AND old.commit_sha IS DISTINCT FROM %(commit)s
"""

_NEW: LiteralString = """
unnest(%(names)s::text[], %(hashes)s::text[], %(urls)s::text[], %(line_urls)s::text[])
    AS new (name, hash, url, line_url)
"""

# Only of a text that is the one we mean: another run may have stored another version by now.
_CHUNKS: LiteralString = f"""
UPDATE document_chunks AS old
SET commit_sha = %(commit)s,
    citation_url = CASE
        WHEN old.metadata->>'lineStart' IS NULL THEN new.url
        WHEN (old.metadata->>'lineEnd')::int > (old.metadata->>'lineStart')::int
            THEN new.line_url || (old.metadata->>'lineStart') || '-L'
                || (old.metadata->>'lineEnd')
        ELSE new.line_url || (old.metadata->>'lineStart') END
FROM {_NEW} JOIN documents ON documents.document_name = new.name
    AND documents.content_hash = new.hash
    AND (documents.partition, documents.tenant_id, documents.repo_slug, documents.branch) =
        (%(partition)s, %(tenant)s, %(repo)s, %(branch)s)
WHERE {_KEY}
"""

_DOCUMENTS: LiteralString = f"""
UPDATE documents AS old SET commit_sha = %(commit)s, citation_url = new.url
FROM {_NEW}
WHERE {_KEY} AND old.content_hash = new.hash
"""


def renew_citations(
    conn: psycopg.Connection,
    scope: Scope,
    documents: Sequence[SourceDocument],
    web: str,
    commit: str,
) -> int:
    """Let the rows of documents say the commit that they are part of; return how many chunks.

    Parameters
    ----------
    conn
        A connection from `connect`.
    scope
        Where the documents belong.
    documents
        What is in the index and in the commit.
    web, commit
        The repository's page, and the hash.

    Raises
    ------
    DatabaseError
        If the database went away; some rows may still say an earlier commit then.
    """
    renewed = 0
    partition, tenant, repo, branch = scope.key
    where = {
        "partition": partition,
        "tenant": tenant,
        "repo": repo,
        "branch": branch,
        "commit": commit,
    }
    try:
        with as_tenant(conn, tenant):
            row = conn.execute(_COUNT, where).fetchone()
        # All rows of a revision are written again, which a vector index is slow to follow.
        with vector_index_rebuilt(conn, partition, row[0] if row else 0):
            for start in range(0, len(documents), BATCH_DOCUMENTS):
                batch = documents[start : start + BATCH_DOCUMENTS]
                values = where | _values(batch, web, commit)
                with as_tenant(conn, tenant):
                    renewed += conn.execute(_CHUNKS, values).rowcount
                    conn.execute(_DOCUMENTS, values)
    except psycopg.Error as error:
        raise DatabaseError(
            f"the citations could not be renewed: {str(error).strip()}",
            hint="Run the same command again to complete them.",
        ) from error
    return renewed


def _values(documents: Sequence[SourceDocument], web: str, commit: str) -> dict[str, list[str]]:
    names = [document.name for document in documents]
    return {
        "names": names,
        "hashes": [document.content_hash for document in documents],
        "urls": [citation_url(web, commit, name) for name in names],
        # Without the number, which each chunk puts after it.
        "line_urls": [citation_url(web, commit, name, 1).removesuffix("1") for name in names],
    }
