"""Lab 05, a table for vectors: identity, upsert, whole documents, partitions.

What the learner's SQL does in an empty schema is judged, never how it is written. A failed call of
5.2 and 5.3 is shown with the rows it met, in a table that goes away, so that it can be pasted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import psycopg

from course_lib.teaching.checks.probe import Case, Probe, exercise
from course_lib.teaching.checks.scratch import Scratch
from course_lib.teaching.checks.values import written

# The first check of a session also makes its database, and starts the server where none runs.
TIME_LIMIT = 20
CHUNKS = (
    "TABLE chunks (document_name text, chunk_index int, content text, embedding vector(3), "
    "PRIMARY KEY (document_name, chunk_index))"
)
INSERT = "INSERT INTO chunks (document_name, chunk_index, content, embedding) VALUES "
ALL = "SELECT document_name, chunk_index, content, embedding::text FROM chunks ORDER BY 1, 2"
ONE = ("a.md", 0, "one", "[1,2,3]")
PLACES = "SELECT document_name, chunk_index, content FROM chunks ORDER BY 1, 2"
PARTITIONS = ["documentation", "issues"]
INTO_PIECES = (
    "INSERT INTO pieces (partition, document_name, chunk_index, content, embedding) VALUES "
)


@exercise(
    "5.1",
    function="chunks_table_sql",
    points=2,
    time_limit=TIME_LIMIT,
    hints=(
        "Four columns and one table constraint: `PRIMARY KEY (…)` with the names of the columns "
        "that tell one row from all others.",
        "The document alone is not enough, since it has many chunks; the index alone is not "
        "enough, since every document has a chunk 0.",
        "pgvector's type takes its dimension in brackets, `vector(384)`. Put the argument there "
        'with an f-string: `f"… embedding vector({dimension}) NOT NULL, …"`.',
    ),
)
def check_chunks_table(call: Probe) -> None:
    """Insert what such a table has to take, and what it has to refuse."""
    statement = call(3).returns(str)
    with call.scratch() as db:
        db.runs(statement, because="it is what chunks_table_sql(3) returned")
        _has_table(call, db, statement, "chunks")
        db.runs(INSERT + "('a.md', 0, 'one', '[1,2,3]')", because="it is a chunk like any other")
        db.runs(
            INSERT + "('a.md', 1, 'two', '[1,2,3]')", because="a document has more than one chunk"
        )
        db.runs(INSERT + "('b.md', 0, 'one', '[1,2,3]')", because="every document has a chunk 0")
        db.rejects(INSERT + "('a.md', 0, 'other', '[3,2,1]')", because="a.md has a chunk 0 already")
        db.rejects(INSERT + "('a.md', 2, 'x', '[1,2]')", because="two numbers are not three")
        for values, name in (
            ("(NULL, 3, 'x', '[1,2,3]')", "document_name"),
            ("('a.md', NULL, 'x', '[1,2,3]')", "chunk_index"),
            ("('a.md', 3, NULL, '[1,2,3]')", "content"),
            ("('a.md', 3, 'x', NULL)", "embedding"),
        ):
            db.rejects(INSERT + values, because=f"{name} may not be NULL")
        for values, because in (
            ("('c.md', 40000, repeat('x', 9000), '[1,2,3]')", "integers and texts may be long"),
            ("(repeat('c', 300), 0, 'x', '[1,2,3]')", "a text may be long"),
        ):
            db.runs(INSERT + values, because=because)
        db.rejects(
            INSERT + "('a.md', 'first', 'x', '[1,2,3]')", because="chunk_index is an integer"
        )
        db.rows(PLACES + " LIMIT 1").give([("a.md", 0, "one")])
    with call.scratch() as db:
        db.runs(call().returns(str), because="it is what chunks_table_sql() returned")
        db.runs(
            INSERT + "('a.md', 0, 'one', array_fill(0.5, ARRAY[384])::vector)",
            because="without an argument a vector has 384 numbers",
        )


def _has_table(call: Probe, db: Scratch, statement: str, name: str) -> None:
    # Asked for with its schema: the lab has a table of this name in another one.
    row = db.execute("SELECT to_regclass(%s)", [f"{db.schema}.{name}"]).fetchone()
    if row == (None,):
        call.fail(
            db.called(statement), got="no table of that name", expected=f"a table named {name}"
        )


@exercise(
    "5.2",
    function="upsert_sql",
    points=3,
    time_limit=TIME_LIMIT,
    hints=(
        "Begin with a plain `INSERT INTO chunks (…) VALUES (%(document_name)s, …)`, and add "
        "`ON CONFLICT (…) DO UPDATE SET …` with the primary key's columns in the brackets.",
        "In the part after SET, `excluded` is the row that wanted to come in. Both the text and "
        "the vector have to be taken from it.",
        "A row that is equal already is kept out of the update by a `WHERE` at the very end. It "
        "compares `(chunks.content, chunks.embedding)` with the same two columns of `excluded`; "
        "`IS DISTINCT FROM` compares whole rows.",
    ),
)
def check_upsert(call: Probe) -> None:
    """Write a new row, the same again, and each change of text or vector alone."""
    statement = call().returns(str)
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
            ("one", "[2,4,6]", "the vector is twice as long, and a cosine does not see that"),
            ("one", "[1.001,2,3]", "the vector changed, if only by 0.001"),
            ("1", "[1,2,3]", "the text changed"),
            ("two", "[1,2,3]", "the text changed, though it is as long as before"),
            ("one ", "[1,2,3]", "the text changed: a blank is a character like any other"),
            ("ONE", "[1,2,3]", "the text changed: 'ONE' is not 'one'"),
            ("%", "[1,2,3]", "the text changed: a text is no pattern"),
        ):
            _upsert(db, statement, [ONE, more[0]], ("a.md", 0, text, vector), 1, because)


Row = tuple[str, int, str, str]
"""Document, index, text and vector of a chunk."""


def _upsert(
    db: Scratch, statement: str, there: list[Row], row: Row, touched: int, because: str
) -> None:
    """Run the learner's statement for one row and expect it to touch so many, and no other."""
    document_name, chunk_index, content, embedding = row
    values = {
        "document_name": document_name,
        "chunk_index": chunk_index,
        "content": content,
        "embedding": np.array(embedding.strip("[]").split(","), dtype=np.float32),
    }
    _fill(db, there)
    called = _pasted(there, f"print(db.execute(upsert_sql(), {_short(values)}).rowcount)")
    try:
        rowcount = db.connection.execute(statement.encode(), values).rowcount
    except psycopg.Error as error:
        if error.diag.sqlstate is None:  # psycopg's own, about placeholders: said for all labs
            raise
        db.probe.fail(called, got=str(error).split("\n")[0], expected=str(touched), because=because)
    if rowcount != touched:
        db.probe.fail(called, got=str(rowcount), expected=str(touched), because=because)
    others = [other for other in there if other[:2] != row[:2]]
    because = "the new version takes the place of the old one, and of no other row"
    _holds(db, called, sorted([row, *others]), because)


def _fill(db: Scratch, there: list[Row]) -> None:
    db.execute("DELETE FROM chunks")
    if there:
        db.execute(_inserted(there))


def _inserted(there: list[Row]) -> str:
    return f"INSERT INTO chunks VALUES {', '.join(map(str, there))}"


def _short(value: object) -> str:
    return written(value).replace(".0,", ",").replace(".0]", "]")


def _pasted(there: list[Row], *lines: str, more: Sequence[str] = ()) -> str:
    """Return lines that meet these rows in a lab's cell: in a table that goes away again."""
    made = "; ".join([f"CREATE TEMP {CHUNKS}", *([_inserted(there)] if there else []), *more])
    head = "with lab.connect(autocommit=True) as db:"
    return "\n    ".join([head, f'db.execute("{made}")', *lines])


def _holds(db: Scratch, called: str, rows: list[Row], because: str) -> None:
    """Expect the table to hold these rows after a call."""
    asked = f'{called}\n    print(db.execute("TABLE chunks ORDER BY 1, 2").fetchall())'
    db.runs(ALL, called=asked).give(rows, because=because)


@exercise(
    "5.3",
    function="replace_document",
    points=3,
    time_limit=TIME_LIMIT,
    hints=(
        "Open `with conn.transaction():` and do everything inside. It commits at the end of the "
        "block, and takes everything back where an exception leaves it.",
        "Inside: `conn.execute(upsert_sql(), {…})` for each piece with its index from `enumerate`, "
        "and the sum of the `rowcount`s is the first number.",
        "Then one DELETE for the rows of this document whose `chunk_index` is `>= len(contents)`; "
        "its `rowcount` is the second number. Pass values as parameters, `%s`.",
    ),
)
def check_replace_document(call: Probe) -> None:
    """Write a page that is new, the same, shorter or empty, and fail in the middle."""
    zero, one, two = (("a.md", i, text, "[1,2,3]") for i, text in enumerate(("zero", "one", "two")))
    with call.scratch() as db:
        db.execute(f"CREATE {CHUNKS}")
        _replaces(call, db, [], ["zero", "one"], (2, 0), [zero, one],
                  "both rows are new, and piece i of the contents is chunk_index i")  # fmt: skip
        others = [("b.md", 0, "zero", "[1,2,3]"), ("b.md", 5, "five", "[1,2,3]")]
        _replaces(call, db, others, ["zero"], (1, 0), [zero, *others],
                  "one new row, nothing to delete: other documents keep their rows")  # fmt: skip
        _replaces(call, db, [zero, one], ["zero", "one"], (0, 0), [zero, one],
                  "the same document once more changes nothing")  # fmt: skip
        _places_vectors(call, db)
        _fails_whole(call, db, [zero, one, two])
        _replaces(call, db, [zero, ("a.md", 1, "1", "[1,2,3]"), two], ["zero", "one"], (1, 1),
                  [zero, one], "chunk 1 has another text, and chunk 2 is stale")  # fmt: skip
        _fails_at_the_end(call, db, [zero, one])
        _obeys_its_caller(call, db, [zero, one])
        _replaces(call, db, [zero, one], [], (0, 2), [], "an empty document has no chunks")
        quoted = "it's 100 %"
        _replaces(call, db, [], [quoted], (1, 0), [(quoted, 0, quoted, "[1,2,3]")],
                  "quotes and % are characters like any other: values are parameters",
                  name=quoted)  # fmt: skip
        others = [("A_C.md", 0, "zero", "[1,2,3]"), ("abc.md", 0, "zero", "[1,2,3]")]
        _replaces(call, db, others, [], (0, 0), others,
                  "'abc.md' and 'A_C.md' are other documents: a name is no pattern, and case "
                  "counts", name="a_c.md")  # fmt: skip


def _called(call: Probe, db: Scratch, name: str, contents: list[str], vectors: Any) -> Case:
    """Return the call, with `db` for its connection, as `_pasted` calls it."""
    case = call(db.connection, name, contents, vectors)
    case.label = f"replace_document(db, {name!r}, {contents}, {_short(vectors)})"
    return case


def _alike(contents: list[str]) -> Any:
    return np.array([[1, 2, 3]] * len(contents), dtype=np.float32)


def _replaces(
    call: Probe, db: Scratch, there: list[Row], contents: list[str], expected: tuple[int, int],
    left: list[Row], because: str, *, name: str = "a.md", vectors: Any = None,
) -> None:  # fmt: skip
    """Expect these counts, and these rows, of a call that met those `there`."""
    _fill(db, there)
    case = _called(call, db, name, contents, _alike(contents) if vectors is None else vectors)
    case.label = _pasted(there, f"print({case.label})")
    case.gives(expected, because=because)
    _has_ended(case, db)
    _holds(db, case.label, left, because)


def _places_vectors(call: Probe, db: Scratch) -> None:
    vectors = np.eye(3, dtype=np.float32)[:2]
    left = [("a.md", 0, "zero", "[1,0,0]"), ("a.md", 1, "one", "[0,1,0]")]
    because = "piece i of the contents has vectors[i]"
    _replaces(call, db, [], ["zero", "one"], (2, 0), left, because, vectors=vectors)


def _has_ended(case: Case, db: Scratch) -> None:
    status = db.connection.info.transaction_status.name
    if status != "IDLE":
        case.probe.fail(
            f"{case.label}\n    print(db.info.transaction_status.name)",
            got=f"a connection in state {status}",
            expected="a connection that can be used again",
            because="a transaction that was begun has to end, also where it fails",
        )


def _fails(
    call: Probe, db: Scratch, there: list[Row], contents: list[str], vectors: Any, because: str,
    more: Sequence[str] = (),
) -> None:  # fmt: skip
    """Expect an exception, and of what was done before it nothing to be left."""
    case = _called(call, db, "a.md", contents, vectors)
    tried = f"try: print({case.label})", "except Exception as e: print(e)"
    case.label = _pasted(there, *tried, more=more)
    case.raises(Exception, because=f"{because}, and whoever called it has to hear of the failure")
    _has_ended(case, db)
    _holds(db, case.label, there, f"{because}: what was done before it is taken back")


def _fails_whole(call: Probe, db: Scratch, there: list[Row]) -> None:
    """Fail at the second piece: of the first nothing must be left, and nothing deleted."""
    _fill(db, there)
    vectors = [np.array(row, dtype=np.float32) for row in ([3, 2, 1], [3, 2])]
    because = "the second vector was refused, as it has two numbers"
    _fails(call, db, there, ["new", "bad"], vectors, because)


def _fails_at_the_end(call: Probe, db: Scratch, there: list[Row]) -> None:
    """Refuse the DELETE of the stale chunk, by a bookmark that refers to it."""
    _fill(db, there)
    marks = "TABLE marks (n text, i int, FOREIGN KEY (n, i) REFERENCES chunks)"
    mark = "INSERT INTO marks VALUES ('a.md', 1)"
    db.execute(f"CREATE {marks}; {mark}")
    more = f"CREATE TEMP {marks}", mark
    because = "another table refers to chunk 1, so PostgreSQL refuses the DELETE"
    _fails(call, db, there, ["x"], _alike(["x"]), because, more)
    db.execute("DROP TABLE marks")


def _obeys_its_caller(call: Probe, db: Scratch, there: list[Row]) -> None:
    """Inside a transaction of the caller's, whose rollback takes everything back."""
    _fill(db, there)
    try:
        with db.connection.transaction(force_rollback=True):
            case = _called(call, db, "a.md", ["x"], _alike(["x"]))
            inside = f"with db.transaction(force_rollback=True): print({case.label})"
            case.label = _pasted(there, inside)
            case.gives((1, 1), because="inside its caller's transaction it works all the same")
    except psycopg.Error as error:  # its transaction was ended for it
        call.fail(
            case.label,
            got=str(error).split("\n")[0],
            expected="a transaction that its caller can still end",
            because="only whoever began a transaction may commit it",
        )
    _holds(db, case.label, there, "its caller rolled back, so nothing of it may be left")


@exercise(
    "5.4",
    function="partitioned_table_sql",
    points=2,
    time_limit=TIME_LIMIT,
    hints=(
        "Several statements in one string, with a semicolon after each: first the table itself, "
        "with `PARTITION BY LIST (…)` after its closing bracket, then one for each name.",
        "A primary key of a partitioned table must hold the column it is partitioned by: there is "
        "an index in each partition and none across them.",
        "`CREATE TABLE pieces_issues PARTITION OF pieces FOR VALUES IN ('issues');` in a loop "
        "over the names, and at the end one more, `pieces_default`, with `DEFAULT` in the place "
        "of `FOR VALUES IN (…)`.",
    ),
)
def check_partitioned_table(call: Probe) -> None:
    """Look for each row in its partition, and for a plan that reads one partition only."""
    statements = call(PARTITIONS, 3).returns(str)
    with call.scratch() as db:
        db.runs(statements, because="it is what partitioned_table_sql(…) returned")
        _has_table(call, db, statements, "pieces")
        for name in (*PARTITIONS, "something else"):
            piece = f"('{name}', 'a.md', 0, 'text', '[1,2,3]')"
            db.runs(INTO_PIECES + piece, because=f"it is a piece of partition {name!r}")
        db.rows("SELECT partition, tableoid::regclass::text FROM pieces ORDER BY 2").give(
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
            db.runs(INTO_PIECES + piece, because=because)
        for name in ("issues", "something else"):
            again = f"('{name}', 'a.md', 0, 'other', '[3,2,1]')"
            db.rejects(INTO_PIECES + again, because=f"{name!r} has a chunk 0 of a.md already")
        for values, name in (
            ("(NULL, 'c.md', 0, 'x', '[1,2,3]')", "partition"),
            ("('issues', NULL, 0, 'x', '[1,2,3]')", "document_name"),
            ("('issues', 'c.md', NULL, 'x', '[1,2,3]')", "chunk_index"),
            ("('issues', 'c.md', 0, NULL, '[1,2,3]')", "content"),
            ("('issues', 'c.md', 0, 'x', NULL)", "embedding"),
        ):
            db.rejects(INTO_PIECES + values, because=f"{name} may not be NULL")
        db.rejects(
            INTO_PIECES + "('issues', 'c.md', 0, 'x', '[1,2]')",
            because="two numbers are not three",
        )
        where = "SELECT content FROM pieces WHERE partition = 'issues'"
        _reads(call, db, where, ["pieces_issues"])
    with call.scratch() as db:
        db.runs(call(["one", "two", "three"]).returns(str))
        children = db.rows(
            "SELECT inhrelid::regclass::text FROM pg_inherits "
            "WHERE inhparent = 'pieces'::regclass ORDER BY 1"
        )
        children.give(
            [("pieces_default",), ("pieces_one",), ("pieces_three",), ("pieces_two",)],
            because="the names are the caller's",
        )
        db.runs(
            INTO_PIECES + "('one', 'a.md', 0, 'text', array_fill(0.5, ARRAY[384])::vector)",
            because="without an argument a vector has 384 numbers",
        )


def _reads(call: Probe, db: Scratch, statement: str, tables: list[str]) -> None:
    """Expect a query's plan to read these tables and no others."""
    row = db.execute(f"EXPLAIN (FORMAT JSON) {statement}").fetchone()
    assert row is not None
    found = sorted(_relations(row[0][0]["Plan"]))
    if found != tables:
        call.fail(
            db.called(f"EXPLAIN {statement}"),
            got=f"a plan that reads {', '.join(found)}",
            expected=f"a plan that reads {', '.join(tables)} only",
            because="a search of one partition has no business in the others",
        )


def _relations(plan: dict[str, Any]) -> set[str]:
    names = {plan["Relation Name"]} if "Relation Name" in plan else set()
    return names.union(*map(_relations, plan.get("Plans", ())))
