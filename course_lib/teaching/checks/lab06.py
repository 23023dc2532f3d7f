"""Lab 06, a table for vectors: identity, upsert, whole documents, partitions.

What the learner's SQL does in an empty schema is judged, never how it is written. A failed call of
6.2 and 6.3 is shown with the rows it met, in a table that goes away, so that it can be pasted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import psycopg

from course_lib.teaching.checks.drawn import Call, Draws, drawn, given
from course_lib.teaching.checks.probe import Case, Probe, exercise
from course_lib.teaching.checks.scratch import TIME_LIMIT, Scratch

COLUMNS = {
    "document_name": "text NOT NULL",
    "chunk_index": "integer NOT NULL",
    "content": "text NOT NULL",
    "embedding": "vector(3) NOT NULL",
}
KEY = ["document_name", "chunk_index"]
LONG_AGO = "2020-01-01"
UPDATED_AT = f"updated_at timestamptz NOT NULL DEFAULT '{LONG_AGO}'"
CHUNKS = (
    "TABLE chunks (document_name text, chunk_index int, content text, embedding vector(3), "
    f"{UPDATED_AT}, PRIMARY KEY (document_name, chunk_index))"
)
ALL = "SELECT document_name, chunk_index, content, embedding::text FROM chunks ORDER BY 1, 2"
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
    statement = call("chunks", COLUMNS, KEY).returns(str)
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
    statement = call("chunks", list(COLUMNS), KEY).returns(str)
    more = ("a.md", 1, "two", "[4,5,6]"), ("b.md", 0, "one", "[1,2,3]")
    with call.scratch() as db:
        db.execute(f"CREATE {CHUNKS}")
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
    f"{UPDATED_AT}, PRIMARY KEY (page, line))"
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
        called = "\n    ".join(["with lab.connect(autocommit=True) as db:", *lines])
        _touches(db, called, statement, row, touched, because)
        before = row
    last = [("Hi", "", "mine")]
    db.runs("SELECT note, author, own FROM notes").gives(
        last, because="an update sets the columns that it was given, and no others"
    )


Row = tuple[str, int, str, str]
"""Document, index, text and vector of a chunk."""


def _upsert(
    db: Scratch, statement: str, there: list[Row], row: Row, touched: int, because: str
) -> None:
    """Run the learner's statement for one row and expect it to touch so many, and no other."""
    values = _named(row)
    _fill(db, there)
    arguments = f'upsert_sql("chunks", {list(COLUMNS)}, {KEY})'
    called = _pasted(there, f"print(db.execute({arguments}, {values}).rowcount)")
    _touches(db, called, statement, values, touched, because)
    others = [other for other in there if other[:2] != row[:2]]
    because = "the new version replaces the old one, and no other row"
    _holds(db, called, sorted([row, *others]), because)
    is_there = any(other[:2] == row[:2] for other in there)
    asked = "SELECT now() - updated_at < interval '1 minute' FROM chunks WHERE "
    asked += "(document_name, chunk_index) = "
    asked += f"('{row[0]}', {row[1]})"
    db.runs(asked, called=f'{called}\n    print(db.execute("{asked}").fetchall())').gives(
        [(bool(is_there and touched),)],
        because="an update sets updated_at to now(), and a row that is not updated keeps it",
    )


def _named(row: Row) -> dict[str, object]:
    return dict(zip(COLUMNS, row, strict=True))


def _touches(
    db: Scratch, called: str, statement: str, values: dict[str, object], touched: int, because: str
) -> None:
    """Run the learner's statement and expect it to touch so many rows."""
    rowcount = db.cursor(statement, values, because=because, called=called).rowcount
    Case(db.probe, called, value=rowcount).gives(touched, because=because)


def _fill(db: Scratch, there: list[Row]) -> None:
    db.execute("DELETE FROM chunks")
    if there:
        db.execute(_inserted(there))


def _inserted(there: list[Row]) -> str:
    return f"INSERT INTO chunks VALUES {', '.join(map(str, there))}"


def _pasted(there: list[Row], *lines: str, more: Sequence[str] = ()) -> str:
    """Return lines that meet these rows in a lab's cell: in a table that goes away again."""
    made = "; ".join([f"CREATE TEMP {CHUNKS}", *([_inserted(there)] if there else []), *more])
    head = "with lab.connect(autocommit=True) as db:"
    return "\n    ".join([head, f'db.execute("{made}")', *lines])


def _holds(db: Scratch, called: str, rows: list[Row], because: str) -> None:
    """Expect the table to hold these rows after a call."""
    asked = f'{called}\n    print(db.execute("TABLE chunks ORDER BY 1, 2").fetchall())'
    db.runs(ALL, called=asked).gives(rows, because=because)


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
    zero, one, two = (("a.md", i, text, "[1,2,3]") for i, text in enumerate(("zero", "one", "two")))
    with call.scratch() as db:
        db.execute(f"CREATE {CHUNKS}")
        _replaces(call, db, [], [zero, one], (2, 0), [zero, one],
                  "both rows are new, and none is stale")  # fmt: skip
        others = [("b.md", 0, "zero", "[1,2,3]"), ("b.md", 5, "five", "[1,2,3]")]
        _replaces(call, db, others, [zero], (1, 0), [zero, *others],
                  "one new row, nothing to delete: other documents keep their rows")  # fmt: skip
        _replaces(call, db, [zero, one], [zero, one], (0, 0), [zero, one],
                  "the same document once more changes nothing")  # fmt: skip
        _fails_whole(call, db, [zero, one, two])
        changed = ("a.md", 1, "1", "[1,2,3]")
        _replaces(call, db, [zero, changed, two], [zero, one], (1, 1), [zero, one],
                  "chunk 1 has another text, and chunk 2 is stale")  # fmt: skip
        _replaces(call, db, [zero, one, two], [zero, two], (0, 1), [zero, two],
                  "chunk 1 is stale: only 0 and 2 of this document are given")  # fmt: skip
        _fails_at_the_end(call, db, [zero, one])
        _obeys_its_caller(call, db, [zero, one])
        _replaces(call, db, [zero, one], [], (0, 2), [], "an empty document has no chunks")
        quoted = ("it's 100 %", 0, "it's 100 %", "[1,2,3]")
        _replaces(call, db, [], [quoted], (1, 0), [quoted],
                  "quotes and % are characters like any other: values are parameters",
                  name=quoted[0])  # fmt: skip
        others = [("A_C.md", 0, "zero", "[1,2,3]"), ("abc.md", 0, "zero", "[1,2,3]")]
        _replaces(call, db, others, [], (0, 0), others,
                  "'abc.md' and 'A_C.md' are other documents: a name is not a pattern, and case "
                  "counts", name="a_c.md")  # fmt: skip
    with call.scratch() as db:
        _replaces_of_a_shelf(call, db)


PAGES = (
    "TABLE pages (chunk_index int, page int, note text, shelf text, "
    f"{UPDATED_AT}, PRIMARY KEY (shelf, page, chunk_index))"
)


def _replaces_of_a_shelf(call: Probe, db: Scratch) -> None:
    """Replace a document of another table, which two columns name together."""
    db.execute(f"CREATE {PAGES}")
    there = (
        "INSERT INTO pages VALUES "
        "(0, 1, 'x', 'a'), (1, 1, 'x', 'a'), (1, 1, 'x', 'b'), (1, 2, 'x', 'a')"
    )
    db.execute(there)
    rows = [{"chunk_index": 0, "page": 1, "note": "y", "shelf": "a"}]
    case = call(db.connection, "pages", {"shelf": "a", "page": 1}, rows)
    case.label = (
        "with lab.connect(autocommit=True) as db:\n"
        f'    db.execute("CREATE TEMP {PAGES}; {there}")\n'
        f"    print(replace_document(db, 'pages', {{'shelf': 'a', 'page': 1}}, {rows}))"
    )
    case.gives((1, 1), because="shelf and page together say which document it is")
    db.runs(
        "SELECT chunk_index, page, note, shelf FROM pages ORDER BY 4, 2, 1", called=case.label
    ).gives(
        [(0, 1, "y", "a"), (1, 2, "x", "a"), (1, 1, "x", "b")],
        because="page 1 of shelf b and page 2 of shelf a are other documents",
    )


def _called(call: Probe, db: Scratch, name: str, rows: list[Row]) -> Case:
    """Return the call, with `db` for its connection, as `_pasted` calls it."""
    document, given = {"document_name": name}, [_named(row) for row in rows]
    case = call(db.connection, "chunks", document, given)
    case.label = f"replace_document(db, 'chunks', {document}, {given})"
    return case


def _replaces(
    call: Probe, db: Scratch, there: list[Row], rows: list[Row], expected: tuple[int, int],
    left: list[Row], because: str, *, name: str = "a.md",
) -> None:  # fmt: skip
    """Expect these counts, and these rows, of a call that met those `there`."""
    _fill(db, there)
    case = _called(call, db, name, rows)
    case.label = _pasted(there, f"print({case.label})")
    case.gives(expected, because=because)
    _has_ended(case, db)
    _holds(db, case.label, left, because)


def _has_ended(case: Case, db: Scratch) -> None:
    status = db.connection.info.transaction_status.name
    Case(db.probe, f"{case.label}\n    print(db.info.transaction_status.name)").holds(
        status == "IDLE",
        "a connection that can be used again",
        got=f"a connection in state {status}",
        because="a transaction that was begun has to end, also if it fails",
    )


def _fails(
    call: Probe, db: Scratch, there: list[Row], rows: list[Row], because: str,
    more: Sequence[str] = (),
) -> None:  # fmt: skip
    """Expect an exception, and of what was done before it nothing to be left."""
    case = _called(call, db, "a.md", rows)
    tried = f"try: print({case.label})", "except Exception as e: print(e)"
    case.label = _pasted(there, *tried, more=more)
    case.raises(Exception, because=f"{because}, and the caller has to get the exception")
    _has_ended(case, db)
    _holds(db, case.label, there, f"{because}: what was done before it has to be undone")


def _fails_whole(call: Probe, db: Scratch, there: list[Row]) -> None:
    """Fail at the second piece: of the first nothing must be left, and nothing deleted."""
    _fill(db, there)
    rows = [("a.md", 0, "new", "[3,2,1]"), ("a.md", 1, "bad", "[3,2]")]
    _fails(call, db, there, rows, "the second vector was refused, as it has two numbers")


def _fails_at_the_end(call: Probe, db: Scratch, there: list[Row]) -> None:
    """Refuse the DELETE of the stale chunk, by a bookmark that refers to it."""
    _fill(db, there)
    marks = "TABLE marks (n text, i int, FOREIGN KEY (n, i) REFERENCES chunks)"
    mark = "INSERT INTO marks VALUES ('a.md', 1)"
    db.execute(f"CREATE {marks}; {mark}")
    more = f"CREATE TEMP {marks}", mark
    because = "another table refers to chunk 1, so PostgreSQL refuses the DELETE"
    _fails(call, db, there, [("a.md", 0, "x", "[1,2,3]")], because, more)
    db.execute("DROP TABLE marks")


def _obeys_its_caller(call: Probe, db: Scratch, there: list[Row]) -> None:
    """Inside a transaction of the caller's, whose rollback takes everything back."""
    _fill(db, there)
    try:
        with db.connection.transaction(force_rollback=True):
            case = _called(call, db, "a.md", [("a.md", 0, "x", "[1,2,3]")])
            inside = f"with db.transaction(force_rollback=True): print({case.label})"
            case.label = _pasted(there, inside)
            case.gives((1, 1), because="it also has to work inside a transaction of its caller")
    except psycopg.Error as error:  # its transaction was ended for it
        call.fail(
            case.label,
            got=str(error).split("\n")[0],
            expected="a transaction that its caller can still end",
            because="only the code that began a transaction may commit it",
        )
    _holds(db, case.label, there, "its caller rolled back, so nothing may be left")


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
    columns, key = {"partition": "text NOT NULL", **COLUMNS}, ["partition", *KEY]
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
