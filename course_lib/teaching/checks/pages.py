"""What the checks of 6.2 and 6.3 write: rows of chunks, and documents that are replaced.

A failed call is shown with the rows it met, in a table that goes away, so that it can be pasted.
"""

from __future__ import annotations

from collections.abc import Sequence

import psycopg

from course_lib.teaching.checks.probe import Case, Probe
from course_lib.teaching.checks.scratch import Scratch

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

Row = tuple[str, int, str, str]
"""Document, index, text and vector of a chunk."""


def named(row: Row) -> dict[str, object]:
    """Return a row by the names of its columns."""
    return dict(zip(COLUMNS, row, strict=True))


def touches(
    db: Scratch, called: str, statement: str, values: dict[str, object], touched: int, because: str
) -> None:
    """Run the learner's statement and expect it to touch so many rows."""
    rowcount = db.cursor(statement, values, because=because, called=called).rowcount
    Case(db.probe, called, value=rowcount).gives(touched, because=because)


def fill(db: Scratch, there: list[Row]) -> None:
    """Put these rows, and no others, into the table."""
    db.execute("DELETE FROM chunks")
    if there:
        db.execute(_inserted(there))


def _inserted(there: list[Row]) -> str:
    return f"INSERT INTO chunks VALUES {', '.join(map(str, there))}"


def pasted(there: list[Row], *lines: str, more: Sequence[str] = ()) -> str:
    """Return lines that meet these rows in a lab's cell: in a table that goes away again."""
    made = "; ".join([f"CREATE TEMP {CHUNKS}", *([_inserted(there)] if there else []), *more])
    return cell(f'db.execute("{made}")', *lines)


def cell(*lines: str) -> str:
    """Return these lines as a cell that calls a connection `db`."""
    return "\n    ".join(["with lab.connect(autocommit=True) as db:", *lines])


def holds(db: Scratch, called: str, rows: list[Row], because: str) -> None:
    """Expect the table to hold these rows after a call."""
    asked = f'{called}\n    print(db.execute("TABLE chunks ORDER BY 1, 2").fetchall())'
    db.runs(ALL, called=asked).gives(rows, because=because)


def replaces_documents(call: Probe, db: Scratch) -> None:
    """Write a page that is new, the same, shorter or empty, and fail in the middle."""
    zero, one, two = (("a.md", i, text, "[1,2,3]") for i, text in enumerate(("zero", "one", "two")))
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


PAGES = (
    "TABLE pages (chunk_index int, page int, note text, shelf text, "
    f"{UPDATED_AT}, PRIMARY KEY (shelf, page, chunk_index))"
)


def replaces_of_a_shelf(call: Probe, db: Scratch) -> None:
    """Replace a document of another table, which two columns name together."""
    db.execute(f"CREATE {PAGES}")
    there = (
        "INSERT INTO pages VALUES "
        "(0, 1, 'x', 'a'), (1, 1, 'x', 'a'), (1, 1, 'x', 'b'), (1, 2, 'x', 'a')"
    )
    db.execute(there)
    rows = [{"chunk_index": 0, "page": 1, "note": "y", "shelf": "a"}]
    case = call(db.connection, "pages", {"shelf": "a", "page": 1}, rows)
    called = f"print(replace_document(db, 'pages', {{'shelf': 'a', 'page': 1}}, {rows}))"
    case.label = cell(f'db.execute("CREATE TEMP {PAGES}; {there}")', called)
    case.gives((1, 1), because="shelf and page together say which document it is")
    db.runs(
        "SELECT chunk_index, page, note, shelf FROM pages ORDER BY 4, 2, 1", called=case.label
    ).gives(
        [(0, 1, "y", "a"), (1, 2, "x", "a"), (1, 1, "x", "b")],
        because="page 1 of shelf b and page 2 of shelf a are other documents",
    )


def _called(call: Probe, db: Scratch, name: str, rows: list[Row]) -> Case:
    """Return the call, with `db` for its connection, as `pasted` calls it."""
    document, given = {"document_name": name}, [named(row) for row in rows]
    case = call(db.connection, "chunks", document, given)
    case.label = f"replace_document(db, 'chunks', {document}, {given})"
    return case


def _replaces(
    call: Probe, db: Scratch, there: list[Row], rows: list[Row], expected: tuple[int, int],
    left: list[Row], because: str, *, name: str = "a.md",
) -> None:  # fmt: skip
    """Expect these counts, and these rows, of a call that met those `there`."""
    fill(db, there)
    case = _called(call, db, name, rows)
    case.label = pasted(there, f"print({case.label})")
    case.gives(expected, because=because)
    _has_ended(case, db)
    holds(db, case.label, left, because)


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
    case.label = pasted(there, *tried, more=more)
    case.raises(Exception, because=f"{because}, and the caller has to get the exception")
    _has_ended(case, db)
    holds(db, case.label, there, f"{because}: what was done before it has to be undone")


def _fails_whole(call: Probe, db: Scratch, there: list[Row]) -> None:
    """Fail at the second piece: of the first nothing must be left, and nothing deleted."""
    fill(db, there)
    rows = [("a.md", 0, "new", "[3,2,1]"), ("a.md", 1, "bad", "[3,2]")]
    _fails(call, db, there, rows, "the second vector was refused, as it has two numbers")


def _fails_at_the_end(call: Probe, db: Scratch, there: list[Row]) -> None:
    """Refuse the DELETE of the stale chunk, by a bookmark that refers to it."""
    fill(db, there)
    marks = "TABLE marks (n text, i int, FOREIGN KEY (n, i) REFERENCES chunks)"
    mark = "INSERT INTO marks VALUES ('a.md', 1)"
    db.execute(f"CREATE {marks}; {mark}")
    more = f"CREATE TEMP {marks}", mark
    because = "another table refers to chunk 1, so PostgreSQL refuses the DELETE"
    _fails(call, db, there, [("a.md", 0, "x", "[1,2,3]")], because, more)
    db.execute("DROP TABLE marks")


def _obeys_its_caller(call: Probe, db: Scratch, there: list[Row]) -> None:
    """Inside a transaction of the caller's, whose rollback takes everything back."""
    fill(db, there)
    try:
        with db.connection.transaction(force_rollback=True):
            case = _called(call, db, "a.md", [("a.md", 0, "x", "[1,2,3]")])
            inside = f"with db.transaction(force_rollback=True): print({case.label})"
            case.label = pasted(there, inside)
            case.gives((1, 1), because="it also has to work inside a transaction of its caller")
    except psycopg.Error as error:  # its transaction was ended for it
        call.fail(
            case.label,
            got=str(error).split("\n")[0],
            expected="a transaction that its caller can still end",
            because="only the code that began a transaction may commit it",
        )
    holds(db, case.label, there, "its caller rolled back, so nothing may be left")
