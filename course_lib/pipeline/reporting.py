"""The last word of a run: its outcome and what the index holds now, as text.

It is written whether the run succeeded or not, and says what it could not find out.
"""

from __future__ import annotations

from collections.abc import Sequence

import psycopg

from course_lib.store import as_tenant
from course_lib.store.schema import stored_dimension


def holdings(conn: psycopg.Connection, tenant: str, repos: Sequence[str]) -> list[str]:
    """Return what the index holds of some repositories, a line for each source.

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
    return [
        f"{repo} {branch}, {partition}: documents {documents}, chunks {chunks}, "
        f"changed {changed} {commits}".rstrip()
        for partition, repo, branch, documents, chunks, commits, changed in rows
    ]


def report_text(state: str, message: str, found: Sequence[str], problem: str = "") -> str:
    """Return the report.

    Parameters
    ----------
    state, message
        How the run ended: Kubeflow's word for it, and why it failed.
    found
        What the index holds now, a line for each source.
    problem
        Why that is not known; empty where it is.

    Examples
    --------
    >>> print(report_text("FAILED", "no space left", []), end="")
    The run ended as FAILED: no space left
    What was written stays. Run the same pipeline again to complete it.
    The index holds nothing of it.
    """
    lines = ["The index is up to date."]
    if state != "SUCCEEDED":
        lines = [f"The run ended as {state}" + (f": {message}" if message else "")]
        lines.append("What was written stays. Run the same pipeline again to complete it.")
    if problem:
        lines.append(f"What the index holds is not known: {problem}")
    elif not found:
        lines.append("The index holds nothing of it.")
    return "\n".join([*lines, *found]) + "\n"
