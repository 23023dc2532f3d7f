"""Citations of results: each leads to its lines in the commit that its document is in now.

A file that did not change since an earlier commit keeps its chunks, and with them their addresses.
Only its document says the newer commit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, LiteralString

from course_lib.records import SearchResult

COMMITS: LiteralString = """
SELECT partition, tenant_id, repo_slug, branch, document_name, commit_sha
FROM documents JOIN unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::text[])
    AS found (partition, tenant_id, repo_slug, branch, document_name)
    USING (partition, tenant_id, repo_slug, branch, document_name)
WHERE commit_sha ~ '^[0-9a-f]{40}$'
"""
"""The commits of documents, for the lists of `documents_in_commits`.

`unnest` of five lists is a table of five columns, with a row for each document. `~` matches a
regular expression: a commit's name is 40 hexadecimal digits.
"""

_COMMIT = re.compile(r"(?<=/blob/)[0-9a-f]{40}(?=/)")


def documents_in_commits(results: Iterable[SearchResult]) -> list[list[str]]:
    """Return the documents of results whose addresses name a commit, one list a column of the key.

    Where there is none, the list is empty.
    """
    found = {_key(one) for one in results if _COMMIT.search(one.citation_url or "")}
    return [list(column) for column in zip(*sorted(found), strict=True)]


def in_commits(
    results: Sequence[SearchResult], rows: Iterable[Sequence[Any]]
) -> list[SearchResult]:
    """Return results with the commits that the rows of `COMMITS` name in their addresses."""
    commits = {tuple(row[:-1]): row[-1] for row in rows}
    return [
        replace(one, citation_url=_COMMIT.sub(commits[_key(one)], one.citation_url, count=1))
        if one.citation_url and _key(one) in commits
        else one
        for one in results
    ]


def _key(one: SearchResult) -> tuple[str, ...]:
    return one.partition, one.tenant_id, one.repo_slug, one.branch, one.document_name
