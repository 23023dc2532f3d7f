"""Who owns a fresh database: the register, and the sweep of those whose owner is gone.

The register is the comment on the database's role, written in the transaction that creates the
role, so that no half-made database escapes the sweep. A database is swept when its owner's process
is gone and nothing is connected to it.
"""

from __future__ import annotations

import contextlib
import json
import re
import secrets
import socket
import time
from dataclasses import asdict, dataclass
from typing import Any

import psycopg
from psycopg import sql

PREFIX = "lab_"
MARK = "course-fresh "
# An owner on another machine cannot be looked at: its database is kept this long.
FAR_OWNER_GRACE = 24 * 3600.0
MOST_REMOVALS = 20


@dataclass(frozen=True)
class Owner:
    """A register entry: what a database was asked for as, when, and by which process.

    Attributes
    ----------
    label
        Such as `05`.
    created
        Seconds since 1970.
    host, pid, started
        The owning process, and when it started (numbers are used again).
    """

    label: str
    created: float
    host: str
    pid: int
    started: float

    @classmethod
    def ourselves(cls, label: str) -> Owner:
        """Return the entry of this process."""
        # Whoever only connects owns no fresh database.
        import psutil

        process = psutil.Process()
        return cls(label, time.time(), socket.gethostname(), process.pid, process.create_time())

    @classmethod
    def parse(cls, comment: str) -> Owner:
        """Return the entry in a comment; one that cannot be read is old and has no owner."""
        try:
            return cls(**json.loads(comment.removeprefix(MARK)))
        except (ValueError, TypeError):
            return cls("", 0.0, socket.gethostname(), -1, 0.0)

    def comment(self) -> str:
        """Return the entry as a comment."""
        return MARK + json.dumps(asdict(self))

    def may_live(self) -> bool:
        """Return whether the owner may live."""
        import psutil

        if self.host != socket.gethostname():
            return time.time() - self.created < FAR_OWNER_GRACE
        try:
            process = psutil.Process(self.pid)
            gone = process.status() in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}
            return not gone and abs(process.create_time() - self.started) < 2
        except (psutil.Error, ValueError, TypeError):
            return False


@dataclass(frozen=True)
class DatabaseInfo:
    """A fresh database, seen from outside.

    Attributes
    ----------
    name
        Its name on the server, such as `lab_06_9f2c31ab`.
    label
        What it was asked for, such as `05`.
    created
        When, in seconds since 1970.
    alive
        Whether its owner lives, or something is connected to it.
    """

    name: str
    label: str
    created: float
    alive: bool


def new_name(label: str) -> str:
    """Return a name for a database that no other one has."""
    readable = re.sub(r"[^a-z0-9]+", "_", label.lower()).strip("_")[:40]
    return PREFIX + "_".join(filter(None, [readable, secrets.token_hex(4)]))


def fresh_databases(conn: psycopg.Connection[Any]) -> list[DatabaseInfo]:
    """Return the fresh databases on a server, newest first."""
    rows = conn.execute(
        "SELECT rolname, shobj_description(oid, 'pg_authid'),"
        " EXISTS (SELECT FROM pg_stat_activity WHERE datname = rolname) FROM pg_roles"
        " WHERE starts_with(shobj_description(oid, 'pg_authid'), %s)",
        (MARK,),
    ).fetchall()
    found = []
    for name, comment, is_used in rows:
        owner = Owner.parse(comment)
        alive = is_used or owner.may_live()
        found.append(DatabaseInfo(name, owner.label, owner.created, alive))
    return sorted(found, key=lambda info: info.created, reverse=True)


def sweep(conn: psycopg.Connection[Any]) -> None:
    """Drop databases whose owner is gone; what cannot be dropped now is left to the next call."""
    with contextlib.suppress(psycopg.Error):
        dead = [info.name for info in fresh_databases(conn) if not info.alive]
        for name in dead[:MOST_REMOVALS]:
            with contextlib.suppress(psycopg.Error):  # another sweep may have been here first
                drop(conn, name)


def drop(conn: psycopg.Connection[Any], name: str) -> None:
    """Drop a fresh database with what is connected to it, and its role; nobody else's."""
    owned = conn.execute(
        "SELECT 1 FROM pg_database JOIN pg_roles ON pg_roles.oid = datdba"
        " WHERE datname = %s AND rolname = %s",
        (name, name),
    ).fetchone()
    if owned:
        conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
    conn.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(name)))
