"""Running SQL that a learner wrote, for a `look`: what PostgreSQL says is told with its line."""

from __future__ import annotations

import re
from typing import Any

import psycopg

TIME_LIMIT = 10
"""Seconds: the first check of a session also makes its database, and may start the server."""

PLACEHOLDER = re.compile(r"%\((\w+)\)s")
SAYS = {"placeholder": "values are passed by name: write %(name)s, not %s"}
"""What psycopg's own messages are about."""


def run(
    connection: psycopg.Connection[Any], statement: str, params: Any = None
) -> psycopg.Cursor[Any]:
    """Run one or more statements (several only without parameters), and return the cursor.

    Raises
    ------
    psycopg.Error
        As PostgreSQL raised it; its message ends with the line that PostgreSQL points at, if any.
    """
    try:
        return connection.execute(statement.encode(), params)
    except psycopg.Error as error:
        if error.diag.sqlstate is None:
            raise
        said = error.diag.message_primary or str(error)
        place = _place(error, statement) or ("" if params else ", in the text of SQL")
        raise type(error)(f"{said}{place}") from error


def refused(value: Any, *_: Any) -> str:
    """Return, as a `why`, what comes before all cases of a text that PostgreSQL does not accept."""
    says = value.get("says", "") if isinstance(value, dict) else ""
    is_whole = ", in line " in says or ", in the text of SQL" in says
    return "a statement that PostgreSQL accepts comes first" if is_whole else ""


def _place(error: psycopg.Error, statement: str) -> str:
    position = error.diag.statement_position
    if position is None or not position.isdigit():
        return ""
    # PostgreSQL counts in what psycopg sends: `$1` in place of the first name, and so on.
    names = list(dict.fromkeys(PLACEHOLDER.findall(statement)))
    sent = PLACEHOLDER.sub(lambda found: f"${names.index(found[1]) + 1}", statement)
    at = min(int(position), len(sent.rstrip())) - 1  # "at end of input" is after the last line end
    line = sent.count("\n", 0, at)
    text = statement.split("\n")[line].strip()
    if len(text) > 160:
        before, after = sent[:at].rpartition("\n")[2][-60:], sent[at:].partition("\n")[0][:60]
        text = f"…{before}{after}…"
    return f", in line {line + 1}: {text}"
