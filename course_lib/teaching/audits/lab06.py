"""Lab 06: SQL that makes tables, SQL that writes rows, and documents that are replaced."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from course_lib.teaching.audits import Call, audit, call
from course_lib.teaching.audits.draws import Draws, some
from course_lib.teaching.checks.lab06 import LONG_AGO, UPDATED_AT

NAMES = ("page", "line", "note", "author", "shelf", "content")
TYPES = ("text NOT NULL", "text", "integer DEFAULT 7", "integer CHECK ({} > 0)", "vector(3)")
COLUMNS = """
    SELECT attname, format_type(atttypid, atttypmod), attnotnull, pg_get_expr(adbin, adrelid)
    FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE attrelid = %(table)s::regclass AND attnum > 0 ORDER BY attnum
"""
RULES = """
    SELECT pg_get_constraintdef(oid) FROM pg_constraint
    WHERE conrelid = %(table)s::regclass AND contype IN ('p', 'c', 'f', 'u') ORDER BY 1
"""
PARTITIONS = """
    SELECT relname, pg_get_expr(relpartbound, pg_class.oid) FROM pg_inherits
    JOIN pg_class ON inhrelid = pg_class.oid WHERE inhparent = %(table)s::regclass ORDER BY 1
"""


def _table(connection: Any, value: Any, table: str, *_: Any) -> Any:
    """Run the SQL and return what table it made."""
    connection.execute(value.encode())
    asked = (COLUMNS, RULES, PARTITIONS)
    return [connection.execute(one, {"table": table}).fetchall() for one in asked]


def _columns(random: Draws) -> tuple[str, dict[str, str], list[str]]:
    """Return a table's name, its columns, and its key."""
    names = random.sample(NAMES, random.randint(2, 6))
    columns = {name: random.choice(TYPES).format(name) for name in names}
    return random.choice(("chunks", "notes", "pieces")), columns, some(random, names, 1)[:3]


@audit("6.1", count=12, needs="database", look=_table)
def create_table_sql(random: Draws) -> Call:
    """Draw columns with and without rules, and a key of one to three of them in any order."""
    return call(*_columns(random))


@audit("6.4", count=10, needs="database", look=_table)
def partitioned_table_sql(random: Draws) -> Call:
    """Draw a table as for 6.1, with the column `partition`, and none to three partitions."""
    table, columns, key = _columns(random)
    pairs = [*columns.items(), ("partition", "text NOT NULL")]
    names = some(random, ("issues", "code_notebooks", "a"))
    return call(table, dict(random.sample(pairs, len(pairs))), ["partition", *key], names)


def _statement(function: Callable[..., Any], *args: Any) -> Any:
    """Call the function without the rows, which are for its statement."""
    return function(*args[:3])


def _notes(connection: Any, table: str, columns: Sequence[str], key: Sequence[str], _: Any) -> None:
    names = ", ".join(f"{name} text" for name in [*columns][::-1])
    own = f"own text DEFAULT 'mine', {UPDATED_AT}"
    connection.execute(f"CREATE TABLE {table} ({names}, {own}, PRIMARY KEY ({', '.join(key)}))")


def _written(
    connection: Any, value: Any, table: str, _columns: Any, key: Sequence[str], rows: Any
) -> Any:
    """Run the SQL for one row after the other; return how many it touched, and the table."""
    touched = [connection.execute(value.encode(), row).rowcount for row in rows]
    return [touched, _rows(connection, table, key)]


def _rows(connection: Any, table: str, key: Sequence[str]) -> Any:
    """Return all rows of a table as texts, and which of them were updated."""
    return connection.execute(
        f"SELECT (t.*)::text, '' FROM {table} AS t WHERE updated_at = '{LONG_AGO}' UNION ALL "
        f"SELECT to_jsonb(t) - 'updated_at' #>> '{{}}', 'updated' FROM {table} AS t "
        f"WHERE updated_at <> '{LONG_AGO}' ORDER BY 1"
    ).fetchall()


@audit("6.2", count=8, needs="database", apply=_statement, prepare=_notes, look=_written)
def upsert_sql(random: Draws) -> Call:
    """Draw rows of few keys and few values: new, equal, changed, and with NULL."""
    columns = random.sample(("page", "line", "note", "author", "content"), random.randint(2, 5))
    key = columns[: random.randint(1, min(2, len(columns) - 1))]
    values = ("one", "ONE", "one ", "%", None, "it's")
    drawn = {name: "ab" if name in key else values for name in columns}
    rows = [{name: random.choice(drawn[name]) for name in columns} for _ in range(14)]
    rows = [row for row in rows for _ in range(random.choice((1, 1, 2)))]
    random.shuffle(columns)
    return call(random.choice(("chunks", "notes")), columns, key[::-1], rows)


Rows = Sequence[Mapping[str, Any]]


def _replaced(
    function: Callable[..., Any], connection: Any, table: str, document: Any, rows: Rows, *rest: Any
) -> Any:
    """Replace a document, at times in a transaction that is rolled back; say how it ended."""
    rolled_back = (
        connection.transaction(force_rollback=True) if rest[-1] == "back" else nullcontext()
    )
    try:
        with rolled_back:
            found = function(connection, table, document, rows)
    except Exception:
        found = "an exception"
    return [found, connection.info.transaction_status.name]


def _pages(
    connection: Any, table: str, document: Mapping[str, Any], rows: Rows, there: Rows, ending: str
) -> None:
    names = ", ".join(f"{name} text" for name in document)
    columns = f"chunk_index int, note text NOT NULL, {names}, {UPDATED_AT}"
    key = ", ".join([*document, "chunk_index"])
    connection.execute(f"CREATE TABLE {table} ({columns}, PRIMARY KEY ({key}))")
    for row in there:
        connection.execute(
            f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join(['%s'] * len(row))})",
            list(row.values()),
        )
    if ending == "kept":
        connection.execute(
            f"CREATE TABLE marks (LIKE {table}, FOREIGN KEY ({key}) REFERENCES {table});"
            f"INSERT INTO marks SELECT * FROM {table}"
        )


def _left(connection: Any, value: Any, table: str, document: Any, *_: Any) -> Any:
    """Return what the call returned, and the table."""
    return [value, _rows(connection, table, [*document, "chunk_index"])]


@audit(
    "6.3", count=16, needs="database", takes_connection=True,
    apply=_replaced, prepare=_pages, look=_left,
)  # fmt: skip
def replace_document(random: Draws) -> Call:
    """Draw rows that are there, of this document and of others, and rows that take their place."""
    names = random.choice((["document_name"], ["shelf", "page"]))
    values = ("a_c", "abc", "A_C", "it's 100 %")
    documents = [dict(zip(names, random.choices(values, k=2), strict=False)) for _ in range(3)]
    documents = list({str(one): one for one in documents}.values())
    notes = ("one", "One", "100 %s")

    def rows(document: Mapping[str, str]) -> list[dict[str, Any]]:
        return [
            {**document, "chunk_index": place, "note": random.choice(notes)}
            for place in some(random, range(4))
        ]

    there = [row for document in documents for row in rows(document)]
    own = [row for row in there if documents[0].items() <= row.items()]
    given = random.choice((rows(documents[0]), [*own], own[1:]))
    ending = ("", "", "back", "kept", "null")[random.turn(5)]
    if ending == "null":
        given = [*given, {**documents[0], "chunk_index": 9, "note": None}]
    table = random.choice(("chunks", "pages"))
    return call(table, documents[0], given, there, ending)
