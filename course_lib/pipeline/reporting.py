"""The last word of a run: its outcome and what the index holds now, as a page of HTML.

It is written whether the run succeeded or not, and says what it could not find out.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import psycopg

from course_lib.store import as_tenant
from course_lib.store.schema import stored_dimension


class Holding(NamedTuple):
    """What the index holds of one source."""

    partition: str
    repository: str
    version: str
    documents: int
    chunks: int
    commits: str
    changed: str


def holdings(conn: psycopg.Connection, tenant: str, repos: Sequence[str]) -> list[Holding]:
    """Return what the index holds of some repositories, by partition.

    Parameters
    ----------
    conn
        A connection from `connect`.
    tenant, repos
        Whose, and which; no repository means all of the tenant's.
    """
    with as_tenant(conn, tenant):
        if stored_dimension(conn) is None:
            return []
        rows = conn.execute(
            """
            SELECT partition, repo_slug, branch, count(*), coalesce(sum(pieces), 0)::bigint,
                   coalesce(string_agg(DISTINCT left(nullif(commit_sha, ''), 12), ', '), ''),
                   to_char(max(updated_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI "UTC"')
            FROM documents LEFT JOIN (
                SELECT partition, tenant_id, repo_slug, branch, document_name, count(*) AS pieces
                FROM document_chunks GROUP BY 1, 2, 3, 4, 5
            ) AS counted USING (partition, tenant_id, repo_slug, branch, document_name)
            WHERE tenant_id = %(tenant)s
              AND (cardinality(%(repos)s::text[]) = 0 OR repo_slug = ANY(%(repos)s))
            GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
            """,
            {"tenant": tenant, "repos": list(repos)},
        ).fetchall()
    return [Holding(*row) for row in rows]


def page(state: str, message: str, found: Sequence[Holding], problem: str = "") -> str:
    """Return the report.

    Parameters
    ----------
    state, message
        How the run ended: Kubeflow's word for it, and why it failed.
    found
        What the index holds now.
    problem
        Why that is not known; empty where it is.

    Examples
    --------
    >>> "<h1>Index is up to date</h1>" in page("SUCCEEDED", "", [])
    True
    >>> "3 of 5 &lt;lost&gt;" in page("FAILED", "3 of 5 <lost>", [])
    True
    """
    succeeded = state == "SUCCEEDED"
    title = "Index is up to date" if succeeded else f"The run ended as {state}"
    parts = [f"<h1>{escape(title)}</h1>"]
    if message:
        parts.append(f"<p>{escape(message)}</p>")
    if not succeeded:
        parts.append("<p>What was written stays. Run the same pipeline again to complete it.</p>")
    if problem:
        parts.append(f"<p>What the index holds is not known: {escape(problem)}</p>")
    else:
        parts.append(_table(found))
    style = "<style>body{font-family:sans-serif}td,th{padding:.2em .8em;text-align:left}</style>"
    body = "\n".join(parts)
    return f'<!doctype html>\n<html lang="en"><meta charset="utf-8">{style}\n{body}\n</html>\n'


def _table(found: Sequence[Holding]) -> str:
    if not found:
        return "<p>The index holds nothing of it.</p>"
    head = "".join(f"<th>{name}</th>" for name in Holding._fields)
    lines = [f"<table><tr>{head}</tr>"]
    for one in found:
        lines.append("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in one) + "</tr>")
    return "\n".join([*lines, "</table>"])
