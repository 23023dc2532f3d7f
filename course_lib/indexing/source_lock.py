"""One at a time: whoever updates a source holds its lock, and whoever comes second waits.

The lock belongs to the session, because an update is many transactions; the server gives it back by
itself when the connection is gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import LiteralString

import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus

from course_lib.loader.options import Say
from course_lib.records import Scope


@contextmanager
def alone(conn: psycopg.Connection, scope: Scope, part: str, say: Say) -> Iterator[None]:
    """Hold a lock on the source: who comes second waits, and then finds the work done.

    Who updates a part shares the source with those of the other parts.
    """
    key = " ".join(("course ingest", *scope.key))
    locks = [(key, "_shared"), (f"{key} {part}", "")] if part else [(key, "")]
    with ExitStack() as held:
        for name, mode in locks:
            held.enter_context(_locked(conn, name, mode, say))
        yield


@contextmanager
def _locked(conn: psycopg.Connection, key: str, mode: str, say: Say) -> Iterator[None]:
    """Hold an advisory lock of the session; the mode is how the functions' names end."""

    def call(function: LiteralString) -> bool:
        statement = sql.SQL("SELECT {}(hashtextextended(%s, 0))")
        with conn.transaction():
            row = conn.execute(statement.format(sql.Identifier(function + mode)), [key]).fetchone()
        return bool(row and row[0])

    if not call("pg_try_advisory_lock"):
        say("another ingest of the same source is running: waiting for it to end")
        call("pg_advisory_lock")
    try:
        yield
    finally:
        # Ctrl-C can come between a statement and its answer: that connection takes no other one.
        if conn.info.transaction_status == TransactionStatus.ACTIVE:
            conn.close()
        # The server gives the lock back by itself when the connection is gone.
        if not conn.closed and not conn.broken:
            call("pg_advisory_unlock")
