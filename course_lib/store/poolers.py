"""Poolers, such as PgBouncer, between us and the server: which of them the course can use.

In session mode a client has a session of the server for itself. In the other modes a pooler may
give each transaction another session: what is set for a session would be gone in the next
transaction, and would hold for other clients.
"""

from __future__ import annotations

from typing import Any

import psycopg

ROUNDS = 5
"""How often two clients ask for their sessions: others may be served in between."""


def is_pooled(conn: psycopg.Connection[Any]) -> bool:
    """Return whether something is between us and the server.

    A pooler tells each client a number of its own, not that of the server's process.
    """
    return _session(conn) != conn.info.backend_pid


def shares_sessions(conn: psycopg.Connection[Any], login: str) -> bool:
    """Return whether a pooler gives our session to other clients while we wait.

    Parameters
    ----------
    conn
        A connection through the pooler, without an open transaction.
    login
        The connection string of one more.
    """
    with psycopg.connect(login, autocommit=True) as other:
        rounds = [(_session(conn), _session(other)) for _ in range(ROUNDS)]
    ours, theirs = map(set, zip(*rounds, strict=True))
    return len(ours) > 1 or not ours.isdisjoint(theirs)


def _session(conn: psycopg.Connection[Any]) -> int:
    """Return the number of the server's process that a statement runs in."""
    row = conn.execute("SELECT pg_backend_pid()", prepare=False).fetchone()
    return int(row[0]) if row else 0
