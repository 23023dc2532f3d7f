"""Tenants: whose rows a connection may see and change, decided by the database itself.

Queries name their tenant, and may forget to. Row-level security does not: a role that owns nothing
reads its tenant's rows and the public ones, and writes its tenant's only. The tenant holds for one
transaction, so that a pooled connection carries nothing over to whoever uses it next. The policies
are in `words_and_tenants.sql`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, LiteralString

import psycopg
from psycopg.pq import TransactionStatus

from course_lib.errors import InputError
from course_lib.records import Visibility

PARENTS = ("documents", "document_chunks")

_SET: LiteralString = "SELECT set_config('course.tenant', %s, true)"
_SET_VISIBILITY: LiteralString = (
    "UPDATE {table} SET visibility = %(visibility)s WHERE tenant_id = %(tenant)s "
    "AND repo_slug = %(repo)s AND visibility <> %(visibility)s"
)


@contextmanager
def as_tenant(conn: psycopg.Connection[Any], tenant: str) -> Iterator[None]:
    """Run a transaction (a savepoint in one that is open) as one tenant.

    Parameters
    ----------
    conn
        A connection; for the policies to hold, as a role that owns nothing (`service_url`).
    tenant
        The authenticated tenant, never a record's claim.

    Raises
    ------
    InputError
        If the tenant is empty.

    Examples
    --------
    >>> with as_tenant(conn, "acme"):  # doctest: +SKIP
    ...     conn.execute("SELECT count(*) FROM document_chunks").fetchone()
    (12,)
    """
    if not tenant:
        raise InputError("the tenant is empty", hint="Pass the one that the key belongs to.")
    is_nested = conn.info.transaction_status != TransactionStatus.IDLE
    with conn.transaction():
        row = conn.execute("SELECT current_setting('course.tenant', true)").fetchone()
        conn.execute(_SET, [tenant])
        yield
        if is_nested:
            # The end of a savepoint does not take the setting back; a roll-back does.
            conn.execute(_SET, [(row[0] if row else None) or ""])


def set_visibility(
    conn: psycopg.Connection[Any], tenant: str, repo: str, visibility: Visibility
) -> None:
    """Make all that is stored of a tenant's repository private or public."""
    values = {"visibility": visibility, "tenant": tenant, "repo": repo}
    if conn.execute(_SET_VISIBILITY.format(table="documents"), values).rowcount:
        conn.execute(_SET_VISIBILITY.format(table="document_chunks"), values)
