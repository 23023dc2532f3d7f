"""Running SQL that a learner wrote, in an empty schema that goes away again.

The checks of labs 06 and 07 use it so::

with call.scratch() as db:
    db.runs(call(384).returns(str))                     # the learner's DDL
    db.execute("INSERT INTO chunks …")                  # the check's own statements
    db.runs("SELECT count(*) FROM chunks").gives([(3,)], because="…")
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql

from course_lib.teaching.checks.probe import Case, Probe

TIME_LIMIT = 20
"""Seconds: the first check of a session also makes its database, and may start the server."""


class Scratch:
    """A connection (in autocommit) that looks at an empty schema first.

    Attributes
    ----------
    connection
        For whatever the methods do not cover, such as passing it to the learner's function.
    schema
        The schema's name.
    """

    def __init__(self, probe: Probe, connection: psycopg.Connection[Any], schema: str) -> None:
        self.probe = probe
        self.connection = connection
        self.schema = schema

    def execute(self, statement: str, params: Any = None) -> psycopg.Cursor[Any]:
        """Run a statement of the check's own; its errors are the check's."""
        return self.connection.execute(statement.encode(), params)

    def runs(
        self, statement: str, params: Any = None, *, because: str = "", called: str = ""
    ) -> Case:
        """Run statements, such as a learner's; what PostgreSQL says against them fails the check.

        Parameters
        ----------
        statement
            One or more statements; several only without parameters.
        params
            Values for its placeholders.
        because
            Why it ought to run.
        called
            The call, as a learner would write it; the statement itself without it.

        Returns
        -------
        Case
            The rows that the last statement returned, to be judged.
        """
        cursor = self.cursor(statement, params, because=because, called=called)
        rows = cursor.fetchall() if cursor.description is not None else []
        return Case(self.probe, called or self.called(statement), value=rows)

    def cursor(
        self, statement: str, params: Any = None, *, because: str = "", called: str = ""
    ) -> psycopg.Cursor[Any]:
        """Run statements as `runs` does, and return what the last one left."""
        try:
            cursor = self.connection.execute(statement.encode(), params)
            while cursor.nextset():
                pass
            return cursor
        except psycopg.Error as error:
            if error.diag.sqlstate is None:  # psycopg's own, about placeholders: said for all labs
                raise
            self.probe.fail(
                called or self.called(statement),
                got=f"{_place(error, statement)}{_message(error)}",
                expected="a statement that PostgreSQL accepts",
                because=because,
            )

    def rejects(self, statement: str, *, because: str = "", called: str = "") -> None:
        """Run a statement that the learner's tables have to refuse (a constraint, a dimension)."""
        try:
            self.connection.execute(statement.encode())
        except (psycopg.IntegrityError, psycopg.DataError):
            return
        self.probe.fail(
            called or self.called(statement),
            got="it was accepted",
            expected="an error",
            because=because,
        )

    def called(self, statement: str) -> str:
        """Return the learner's last call and a statement after it, for a message."""
        lines = [line.rstrip() for line in statement.strip().splitlines()]
        ran = "\n".join(lines) if len(lines) > 1 else f"conn.execute({lines[0]!r})"
        return f"{self.probe.called}\n{ran}".strip()


@contextmanager
def scratch_schema(probe: Probe, connection: psycopg.Connection[Any]) -> Iterator[Scratch]:
    """Make an empty schema, put it first in the search path, and drop it at the end.

    Parameters
    ----------
    probe
        Whose failures the learner's errors become.
    connection
        To the lab's database; it is switched to autocommit.
    """
    schema = f"check_{secrets.token_hex(6)}"
    name = sql.Identifier(schema)
    connection.autocommit = True
    connection.execute(sql.SQL("CREATE SCHEMA {}").format(name))
    connection.execute(sql.SQL("SET search_path TO {}, public").format(name))
    limit = sql.Literal(f"{probe.exercise.time_limit:g}s")
    connection.execute(sql.SQL("SET statement_timeout TO {}").format(limit))
    try:
        yield Scratch(probe, connection, schema)
    finally:
        if not connection.closed:
            connection.rollback()
            connection.execute("SET statement_timeout TO 0")
            connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(name))


_PLACEHOLDER = re.compile(r"%\((\w+)\)s")


def _message(error: psycopg.Error) -> str:
    return error.diag.message_primary or str(error).split("\n")[0]


def _place(error: psycopg.Error, statement: str) -> str:
    """Return the line of the statement that PostgreSQL points at, as a prefix; nothing if none."""
    position = error.diag.statement_position
    if position is None or not position.isdigit():
        return ""
    # PostgreSQL counts in what psycopg sends: `$1` in place of the first name, and so on.
    names = list(dict.fromkeys(_PLACEHOLDER.findall(statement)))
    sent = _PLACEHOLDER.sub(lambda found: f"${names.index(found[1]) + 1}", statement)
    at = min(int(position), len(sent.rstrip())) - 1  # "at end of input" is after the last line end
    line = sent.count("\n", 0, at)
    text = statement.split("\n")[line].strip()
    if len(text) > 160:
        before, after = sent[:at].rpartition("\n")[2][-60:], sent[at:].partition("\n")[0][:60]
        text = f"…{before}{after}…"
    return f"line {line + 1}: {text}\n"
