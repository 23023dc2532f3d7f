"""Citations of what did not change: its documents say the commit that is indexed now.

A file that is the same in two commits is neither split nor encoded again, and it is part of the
newer revision all the same. Its chunks keep the commit that they were made from; their addresses
are computed from the document's when they are read (`course_lib.retriever.citing`, and the view).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import LiteralString

import psycopg

from course_lib.records import Scope, SourceDocument
from course_lib.store.tenancy import as_tenant

# Only of a text that is the one we mean: another run may have stored another version by now.
_RENEW: LiteralString = """
UPDATE documents SET citation_url = replace(citation_url, commit_sha, %s), commit_sha = %s
FROM unnest(%s::text[], %s::text[]) AS new (name, hash)
WHERE (partition, tenant_id, repo_slug, branch) = (%s, %s, %s, %s)
    AND document_name = new.name AND content_hash = new.hash AND commit_sha <> %s
"""


def renew_citations(
    conn: psycopg.Connection, scope: Scope, documents: Sequence[SourceDocument], commit: str
) -> int:
    """Let documents that are in the index and in a commit say this commit; return how many change.

    Raises
    ------
    psycopg.Error
        If the database went away; the documents say an earlier commit then.
    """
    names = [document.name for document in documents]
    hashes = [document.content_hash for document in documents]
    with as_tenant(conn, scope.tenant):
        values = (commit, commit, names, hashes, *scope.key, commit)
        return conn.execute(_RENEW, values).rowcount
