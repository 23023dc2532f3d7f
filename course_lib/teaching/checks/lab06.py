"""Lab 06, a table for vectors: identity, upsert, whole documents, partitions.

What the learner's SQL does in an empty schema is judged, never how it is written; `pages` has the
rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import psycopg

from course_lib.teaching.checks import pages
from course_lib.teaching.checks.drawn import Call, Draws, drawn, given
from course_lib.teaching.checks.probe import Case, Probe, exercise
from course_lib.teaching.checks.scratch import TIME_LIMIT, Scratch

ONE = ("a.md", 0, "one", "[1,2,3]")
PLACES = "SELECT document_name, chunk_index, content FROM chunks ORDER BY 1, 2"
PARTITIONS = ["documentation", "issues"]


NAMES = ("page", "line", "note", "author", "shelf", "content")


TYPES = ("text NOT NULL", "text", "integer DEFAULT 7", "integer CHECK ({} > 0)", "vector(3)")


HAS_COLUMNS = """
    SELECT attname, format_type(atttypid, atttypmod), attnotnull, pg_get_expr(adbin, adrelid)
    FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE attrelid = %(table)s::regclass AND attnum > 0 ORDER BY attnum
"""


RULES = """
    SELECT pg_get_constraintdef(oid) FROM pg_constraint
    WHERE conrelid = %(table)s::regclass AND contype IN ('p', 'c', 'f', 'u') ORDER BY 1
"""


HAS_PARTITIONS = """
    SELECT relname, pg_get_expr(relpartbound, pg_class.oid) FROM pg_inherits
    JOIN pg_class ON inhrelid = pg_class.oid WHERE inhparent = %(table)s::regclass ORDER BY 1
"""


def _table(connection: Any, value: Any, table: str, *_: Any) -> Any:
    """Run the SQL and return what table it made."""
    connection.execute(value.encode())
    asked = (HAS_COLUMNS, RULES, HAS_PARTITIONS)
    return [connection.execute(one, {"table": table}).fetchall() for one in asked]


def _columns(random: Draws) -> tuple[str, dict[str, str], list[str]]:
    """Return a table's name, its columns, and its key."""
    names = random.sample(NAMES, random.randint(2, 6))
    columns = {name: random.choice(TYPES).format(name) for name in names}
    return random.choice(("chunks", "notes", "pieces")), columns, random.some(names, 1)[:3]


@drawn(12, look=_table)
def any_table(random: Draws) -> Call:
    """Draw columns with and without rules, and a key of one to three of them in any order."""
    return given(*_columns(random))


@exercise("6.1", "store.schema:create_table_sql", 2, time_limit=TIME_LIMIT, draws=any_table)
def check_create_table(call: Probe) -> None:
    """Insert what such a table has to take, and what it has to refuse."""
    statement = call("chunks", pages.COLUMNS, pages.KEY).returns(str)
    insert = "INSERT INTO chunks (document_name, chunk_index, content, embedding) VALUES "
    with call.scratch() as db:
        db.runs(statement, because="it is what create_table_sql returned")
        _has_table(db, statement, "chunks")
        _makes_it_once(db, statement)
        for values, because in (
            ("('a.md', 0, 'one', '[1,2,3]')", "it is a chunk like any other"),
            ("('a.md', 1, 'two', '[1,2,3]')", "a document has more than one chunk"),
            ("('b.md', 0, 'one', '[1,2,3]')", "every document has a chunk 0"),
        ):
            db.runs(insert + values, because=because)
        for values, because in (
            ("('a.md', 0, 'other', '[3,2,1]')", "a.md has a chunk 0 already"),
            ("('a.md', 2, 'x', '[1,2]')", "two numbers are not three"),
            ("('a.md', 'first', 'x', '[1,2,3]')", "chunk_index is an integer"),
            ("('a.md', 3, NULL, '[1,2,3]')", "content may not be NULL"),
        ):
            db.rejects(insert + values, because=because)
        db.runs(PLACES + " LIMIT 1").gives([("a.md", 0, "one")])
        constraints = (
            "SELECT contype::text FROM pg_constraint "
            "WHERE conrelid = 'chunks'::regclass AND contype IN ('p', 'u')"
        )
        db.runs(constraints).gives(
            [("p",)], because="the key is the table's PRIMARY KEY, and not merely UNIQUE"
        )
    with call.scratch() as db:
        _is_general(call, db)


def _is_general(call: Probe, db: Scratch) -> None:
    """Make another table: another name, other columns in their order, a key in its own order."""
    columns = {
        "note": "varchar(9)",
        "page": "text NOT NULL",
        "line": "integer NOT NULL DEFAULT 7",
        "shelf": "text NOT NULL DEFAULT 'top'",
    }
    statement = call("notes", columns, ["shelf", "line", "page"]).returns(str)
    db.runs(statement, because="it is what create_table_sql returned")
    _has_table(db, statement, "notes")
    for values, because in (
        ("('Hi', 'a')", "the columns have the order of the dict, and their rules: line is 7"),
        ("('Hi', 'b')", "shelf, line and page together are the key"),
        ("('Hi', 'a', 7, 'low')", "shelf, line and page together are the key"),
        ("(NULL, 'a', 8)", "nothing says that note may not be NULL"),
    ):
        db.runs(f"INSERT INTO notes VALUES {values}", because=because)
    again = "INSERT INTO notes (page, line) VALUES ('a', 7)"
    db.rejects(again, because="there is a row with this shelf, this line and this page")
    constraints = "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'p' "
    db.runs(constraints + "AND conrelid = 'notes'::regclass").gives(
        [("PRIMARY KEY (shelf, line, page)",)], because="the key has the order that was given"
    )


def _makes_it_once(db: Scratch, statement: str) -> None:
    try:
        db.execute(statement)
    except psycopg.errors.DuplicateTable:
        return
    db.probe.fail(
        db.called(statement),
        got="it was accepted a second time",
        expected="an error, because the table is there already",
        because="CREATE TABLE, as in the example, neither drops a table nor passes over it",
    )


def _has_table(db: Scratch, statement: str, name: str) -> None:
    # Asked for with its schema: the lab has a table of this name in another one.
    row = db.execute("SELECT to_regclass(%s)", [f"{db.schema}.{name}"]).fetchone()
    Case(db.probe, db.called(statement)).holds(
        row != (None,), f"a table named {name}", got="no table of that name"
    )


def _statement(function: Callable[..., Any], *args: Any) -> Any:
    """Call the function without the rows, which are for its statement."""
    return function(*args[:3])


def _notes(connection: Any, table: str, columns: Sequence[str], key: Sequence[str], _: Any) -> None:
    names = ", ".join(f"{name} text" for name in [*columns][::-1])
    own = f"own text DEFAULT 'mine', {pages.UPDATED_AT}"
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
        f"SELECT (t.*)::text, '' FROM {table} AS t WHERE updated_at = '{pages.LONG_AGO}' UNION ALL "
        f"SELECT to_jsonb(t) - 'updated_at' #>> '{{}}', 'updated' FROM {table} AS t "
        f"WHERE updated_at <> '{pages.LONG_AGO}' ORDER BY 1"
    ).fetchall()


@drawn(8, apply=_statement, prepare=_notes, look=_written)
def any_rows(random: Draws) -> Call:
    """Draw rows of few keys and few values: new, equal, changed, and with NULL."""
    columns = random.sample(("page", "line", "note", "author", "content"), random.randint(2, 5))
    key = columns[: random.randint(1, min(2, len(columns) - 1))]
    values = ("one", "ONE", "one ", "%", None, "it's")
    drawn = {name: "ab" if name in key else values for name in columns}
    rows = [{name: random.choice(drawn[name]) for name in columns} for _ in range(14)]
    rows = [row for row in rows for _ in range(random.choice((1, 1, 2)))]
    random.shuffle(columns)
    return given(random.choice(("chunks", "notes")), columns, key[::-1], rows)


@exercise("6.2", "store.writer:upsert_sql", 3, time_limit=TIME_LIMIT, draws=any_rows)
def check_upsert(call: Probe) -> None:
    """Write a new row, the same again, and each change of text or vector alone."""
    statement = call("chunks", list(pages.COLUMNS), pages.KEY).returns(str)
    more = ("a.md", 1, "two", "[4,5,6]"), ("b.md", 0, "one", "[1,2,3]")
    with call.scratch() as db:
        db.execute(f"CREATE {pages.CHUNKS}")
        _upsert(db, statement, [], ONE, 1, "the row is new")
        _upsert(db, statement, [ONE], more[0], 1, "a.md has no chunk 1 yet")
        _upsert(db, statement, [ONE], more[1], 1, "b.md has no chunk yet")
        _upsert(db, statement, [ONE, *more], ONE, 0, "the same row is there already")
        for text, vector, because in (
            ("ONE", "[7,8,9]", "text and vector changed"),
            ("one", "[3,2,1]", "the vector changed"),
            ("one", "[2,4,6]", "the vector is twice as long, which the cosine does not show"),
            ("one", "[1.001,2,3]", "the vector changed, if only by 0.001"),
            ("1", "[1,2,3]", "the text changed"),
            ("two", "[1,2,3]", "the text changed, though it is as long as before"),
            ("one ", "[1,2,3]", "the text changed: a blank is a character like any other"),
            ("ONE", "[1,2,3]", "the text changed: 'ONE' is not 'one'"),
            ("%", "[1,2,3]", "the text changed: a text is not a pattern"),
        ):
            _upsert(db, statement, [ONE, more[0]], ("a.md", 0, text, vector), 1, because)
    with call.scratch() as db:
        _upserts_any(call, db)


NOTES = (
    "TABLE notes (line int, note text, page text, author text, own text DEFAULT 'mine', "
    f"{pages.UPDATED_AT}, PRIMARY KEY (page, line))"
)


def _upserts_any(call: Probe, db: Scratch) -> None:
    """Upsert into another table, whose values may be NULL; a column that is not named stays."""
    statement = call("notes", ["line", "note", "page", "author"], ["page", "line"]).returns(str)
    db.execute(f"CREATE {NOTES}")
    made = f"CREATE TEMP {NOTES}"
    arguments = 'upsert_sql("notes", ["line", "note", "page", "author"], ["page", "line"])'
    before: dict[str, object] | None = None
    for note, author, touched, because in (
        (None, "Ann", 1, "the row is new"),
        (None, "Ann", 0, "nothing changed: NULL is what was there already"),
        ("Hi", "Ann", 1, "the note was NULL, and is a text now"),
        ("Hi", None, 1, "the author was a text, and is NULL now"),
        ("Hi", "", 1, "the author was NULL, and is an empty text now, which is another value"),
    ):
        row: dict[str, object] = {"page": "a", "line": 7, "note": note, "author": author}
        steps = [f"db.execute({arguments}, {each})" for each in (before, row) if each is not None]
        steps[-1] = f"print({steps[-1]}.rowcount)"
        lines = [f'db.execute("{made}")', *steps]
        called = pages.cell(*lines)
        pages.touches(db, called, statement, row, touched, because)
        before = row
    last = [("Hi", "", "mine")]
    db.runs("SELECT note, author, own FROM notes").gives(
        last, because="an update sets the columns that it was given, and no others"
    )


def _upsert(
    db: Scratch, statement: str, there: list[pages.Row], row: pages.Row, touched: int, because: str
) -> None:
    """Run the learner's statement for one row and expect it to touch so many, and no other."""
    values = pages.named(row)
    pages.fill(db, there)
    arguments = f'upsert_sql("chunks", {list(pages.COLUMNS)}, {pages.KEY})'
    called = pages.pasted(there, f"print(db.execute({arguments}, {values}).rowcount)")
    pages.touches(db, called, statement, values, touched, because)
    others = [other for other in there if other[:2] != row[:2]]
    because = "the new version replaces the old one, and no other row"
    pages.holds(db, called, sorted([row, *others]), because)
    is_there = any(other[:2] == row[:2] for other in there)
    asked = "SELECT now() - updated_at < interval '1 minute' FROM chunks WHERE "
    asked += f"(document_name, chunk_index) = ('{row[0]}', {row[1]})"
    db.runs(asked, called=f'{called}\n    print(db.execute("{asked}").fetchall())').gives(
        [(bool(is_there and touched),)],
        because="an update sets updated_at to now(), and a row that is not updated keeps it",
    )


Rows = Sequence[Mapping[str, Any]]


def _replaced(
    function: Callable[..., Any], connection: Any, table: str, document: Any, rows: Rows, *rest: Any
) -> Any:
    """Replace a document, at times in a transaction that is rolled back; say how it ended."""
    ends = {"back": connection.transaction(force_rollback=True)}
    try:
        with ends.get(rest[-1], nullcontext()):
            found = function(connection, table, document, rows)
    except Exception:
        found = "an exception"
    return [found, connection.info.transaction_status.name]


def _pages(
    connection: Any, table: str, document: Mapping[str, Any], rows: Rows, there: Rows, ending: str
) -> None:
    names = ", ".join(f"{name} text" for name in document)
    columns = f"chunk_index int, note text NOT NULL, {names}, {pages.UPDATED_AT}"
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


@drawn(16, takes_connection=True, apply=_replaced, prepare=_pages, look=_left)
def any_document(random: Draws) -> Call:
    """Draw rows that are there, of this document and of others, and rows that take their place."""
    names = random.choice((["document_name"], ["shelf", "page"]))
    values = ("a_c", "abc", "A_C", "it's 100 %")
    documents = [dict(zip(names, random.choices(values, k=2), strict=False)) for _ in range(3)]
    documents = list({str(one): one for one in documents}.values())
    notes = ("one", "One", "100 %s")

    def rows(document: Mapping[str, str]) -> list[dict[str, Any]]:
        return [
            {**document, "chunk_index": place, "note": random.choice(notes)}
            for place in random.some(range(4))
        ]

    there = [row for document in documents for row in rows(document)]
    own = [row for row in there if documents[0].items() <= row.items()]
    taking = random.choice((rows(documents[0]), [*own], own[1:]))
    ending = ("", "", "back", "kept", "null")[random.turn(5)]
    if ending == "null":
        taking = [*taking, {**documents[0], "chunk_index": 9, "note": None}]
    table = random.choice(("chunks", "pages"))
    return given(table, documents[0], taking, there, ending)


@exercise("6.3", "store.writer:replace_document", 3, time_limit=TIME_LIMIT, draws=any_document)
def check_replace_document(call: Probe) -> None:
    """Write a page that is new, the same, shorter or empty, and fail in the middle."""
    with call.scratch() as db:
        pages.replaces_documents(call, db)
    with call.scratch() as db:
        pages.replaces_of_a_shelf(call, db)


@drawn(10, look=_table)
def any_partitions(random: Draws) -> Call:
    """Draw a table as for 6.1, with the column `partition`, and none to three partitions."""
    table, columns, key = _columns(random)
    pairs = [*columns.items(), ("partition", "text NOT NULL")]
    names = random.some(("issues", "code_notebooks", "a"))
    return given(table, dict(random.sample(pairs, len(pairs))), ["partition", *key], names)


@exercise(
    "6.4", "store.schema:partitioned_table_sql", 2, time_limit=TIME_LIMIT, draws=any_partitions
)
def check_partitioned_table(call: Probe) -> None:
    """Look for each row in its partition, and for a plan that reads one partition only."""
    columns, key = {"partition": "text NOT NULL", **pages.COLUMNS}, ["partition", *pages.KEY]
    statements = call("pieces", columns, key, PARTITIONS).returns(str)
    with call.scratch() as db:
        db.runs(statements, because="it is what partitioned_table_sql(…) returned")
        _has_table(db, statements, "pieces")
        into = "INSERT INTO pieces VALUES "
        for name in (*PARTITIONS, "something else"):
            piece = f"('{name}', 'a.md', 0, 'text', '[1,2,3]')"
            db.runs(into + piece, because=f"it is a piece of partition {name!r}")
        db.runs("SELECT partition, tableoid::regclass::text FROM pieces ORDER BY 2").gives(
            [
                ("something else", "pieces_default"),
                ("documentation", "pieces_documentation"),
                ("issues", "pieces_issues"),
            ],
            because="each row is in the table of its partition, any other in pieces_default",
        )
        for piece, because in (
            ("('issues', 'a.md', 1, 'text', '[1,2,3]')", "a document has more than one chunk"),
            ("('issues', 'b.md', 0, 'text', '[1,2,3]')", "every document has a chunk 0"),
        ):
            db.runs(into + piece, because=because)
        for name in ("issues", "something else"):
            again = f"('{name}', 'a.md', 0, 'other', '[3,2,1]')"
            db.rejects(into + again, because=f"{name!r} has a chunk 0 of a.md already")
        nothing = "('issues', 'c.md', 0, NULL, '[1,2,3]')"
        db.rejects(into + nothing, because="content may not be NULL")
        where = "SELECT content FROM pieces WHERE partition = 'issues'"
        _reads(db, where, "pieces_issues")
    with call.scratch() as db:
        columns = {"note": "text NOT NULL", "partition": "text NOT NULL"}
        db.runs(call("notes", columns, ["note", "partition"], ["one", "two"]).returns(str))
        children = [("notes_default",), ("notes_one",), ("notes_two",)]
        db.runs(
            "SELECT inhrelid::regclass::text FROM pg_inherits "
            "WHERE inhparent = 'notes'::regclass ORDER BY 1"
        ).gives(children, because="the names are the caller's")
        db.runs("INSERT INTO notes VALUES ('two', 'one')")
        db.runs("SELECT tableoid::regclass::text FROM notes").gives(
            [("notes_one",)],
            because="the column `partition` says where a row belongs, first in the key or not",
        )
        db.runs(call("pages", columns, ["note", "partition"], []).returns(str))
        db.runs(
            "INSERT INTO pages VALUES ('a', 'one')",
            because="without names, the default partition takes all rows",
        )


def _reads(db: Scratch, statement: str, table: str) -> None:
    """Expect a query's plan to read this table and no other."""
    row = db.execute(f"EXPLAIN (FORMAT JSON) {statement}").fetchone()
    assert row is not None
    found = sorted(_relations(row[0][0]["Plan"]))
    Case(db.probe, db.called(f"EXPLAIN {statement}")).holds(
        found == [table],
        f"a plan that reads {table} only",
        got=f"a plan that reads {', '.join(found)}",
        because="a search of one partition must not read the others",
    )


def _relations(plan: dict[str, Any]) -> set[str]:
    names = {plan["Relation Name"]} if "Relation Name" in plan else set()
    return names.union(*map(_relations, plan.get("Plans", ())))
