"""Lab 05, a table for vectors: identity, upsert, whole documents, partitions.

What the learner's SQL does in an empty schema is judged, never how it is written.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import psycopg

from course_lib.teaching.checks.probe import Probe, exercise
from course_lib.teaching.checks.scratch import Scratch
from course_lib.teaching.checks.values import written

# The first check of a session also makes its database, and starts the server where none runs.
TIME_LIMIT = 20
CHUNKS = """
CREATE TABLE chunks (
    document_name text NOT NULL,
    chunk_index   integer NOT NULL,
    content       text NOT NULL,
    embedding     vector(3) NOT NULL,
    PRIMARY KEY (document_name, chunk_index)
)
"""
INSERT = "INSERT INTO chunks (document_name, chunk_index, content, embedding) VALUES "
ALL = "SELECT document_name, chunk_index, content, embedding::text FROM chunks ORDER BY 1, 2"
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
    """Write a new row, the same again, another text, another vector."""
    statement = call().returns(str)
    with call.scratch() as db:
        db.execute(CHUNKS)
        _upsert(db, statement, ("a.md", 0, "one", [1, 2, 3]), 1, "the row is new")
        _upsert(db, statement, ("a.md", 1, "two", [4, 5, 6]), 1, "a.md has no chunk 1 yet")
        _upsert(db, statement, ("b.md", 0, "one", [1, 2, 3]), 1, "b.md has no chunk yet")
        _upsert(db, statement, ("a.md", 0, "one", [1, 2, 3]), 0, "the same row is there already")
        db.rows(ALL).give(
            [("a.md", 0, "one", "[1,2,3]"), ("a.md", 1, "two", "[4,5,6]"),
             ("b.md", 0, "one", "[1,2,3]")],
            because="an ingest that is repeated changes nothing",
        )  # fmt: skip
        _upsert(db, statement, ("a.md", 0, "ONE", [7, 8, 9]), 1, "text and vector changed")
        _upsert(db, statement, ("a.md", 1, "two", [6, 5, 4]), 1, "the vector changed")
        _upsert(db, statement, ("b.md", 0, "1", [1, 2, 3]), 1, "the text changed")
        far = "the vector changed: it is twice as long, and a cosine does not see that"
        _upsert(db, statement, ("b.md", 0, "1", [2, 4, 6]), 1, far)
        db.rows(ALL).give(
            [("a.md", 0, "ONE", "[7,8,9]"), ("a.md", 1, "two", "[6,5,4]"),
             ("b.md", 0, "1", "[2,4,6]")],
            because="the new version takes the place of the old one, and of no other row",
        )  # fmt: skip


def _upsert(db: Scratch, statement: str, row: tuple[Any, ...], touched: int, because: str) -> None:
    """Run the learner's statement for one row and expect it to touch so many."""
    document_name, chunk_index, content, embedding = row
    values = {
        "document_name": document_name,
        "chunk_index": chunk_index,
        "content": content,
        "embedding": np.array(embedding, dtype=np.float32),
    }
    called = f"conn.execute(upsert_sql(), {written(values)}).rowcount"
    try:
        rowcount = db.connection.execute(statement.encode(), values).rowcount
    except psycopg.Error as error:
        if error.diag.sqlstate is None:  # psycopg's own, about placeholders: said for all labs
            raise
        db.probe.fail(called, got=str(error).split("\n")[0], expected=str(touched), because=because)
    if rowcount != touched:
        db.probe.fail(called, got=str(rowcount), expected=str(touched), because=because)


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
    """Write a page twice, then shorter, then empty, and fail in the middle."""
    good = np.eye(3, dtype=np.float32)
    with call.scratch() as db:
        db.execute(CHUNKS)
        db.execute(INSERT + "('b.md', 0, 'of another', '[1,1,1]'), ('b.md', 5, 'page', '[1,1,1]')")
        page = db.connection
        call(page, "a.md", ["one", "two", "three"], good).gives(
            (3, 0), because="three new rows, nothing to delete"
        )
        other = [("b.md", 0, "of another"), ("b.md", 5, "page")]
        whole = [("a.md", 0, "one"), ("a.md", 1, "two"), ("a.md", 2, "three"), *other]
        db.rows(PLACES).give(whole, because="piece i of the contents is chunk_index i")
        db.rows("SELECT embedding::text FROM chunks WHERE content = 'two'").give(
            [("[0,1,0]",)], because="piece i of the contents has vectors[i]"
        )
        call(page, "a.md", ["one", "two", "three"], good).gives(
            (0, 0), because="the same document once more changes nothing"
        )
        db.rows(PLACES).give(whole, because="the same document once more changes nothing")
        _fails_whole(call, db, good, whole)
        call(page, "a.md", ["one", "2"], good[:2]).gives(
            (1, 1), because="chunk 1 has another text, and chunk 2 is stale"
        )
        shorter = [("a.md", 0, "one"), ("a.md", 1, "2"), *other]
        db.rows(PLACES).give(shorter, because="other documents keep their rows")
        _fails_at_the_end(call, db, good, shorter)
        _obeys_its_caller(call, db, good, shorter)
        call(page, "a.md", [], good[:0]).gives((0, 2), because="an empty document has no chunks")
        db.rows(PLACES).give(other, because="other documents keep their rows")
        _takes_odd_names(call, db, good)


def _fails_whole(call: Probe, db: Scratch, good: Any, before: list[Any]) -> None:
    """Fail at the second piece: of the first nothing must be left, and nothing deleted."""
    vectors = [good[0], good[1][:2]]  # two numbers, where the table wants three
    failed = call(db.connection, "a.md", ["new", "bad"], vectors)
    failed.raises(Exception, because="whoever called it has to hear of the failure")
    status = db.connection.info.transaction_status.name
    if status != "IDLE":
        call.fail(
            failed.label,
            got=f"a connection in state {status}",
            expected="a connection that can be used again",
            because="a transaction that was begun has to end, also where it fails",
        )
    db.rows(PLACES).give(
        before, because="the second vector was refused, so nothing at all may have changed"
    )


def _fails_at_the_end(call: Probe, db: Scratch, good: Any, before: list[Any]) -> None:
    """Refuse the DELETE of the stale chunk, by a bookmark that refers to it."""
    db.execute(
        "CREATE TABLE bookmarks (document_name text, chunk_index integer, "
        "FOREIGN KEY (document_name, chunk_index) REFERENCES chunks)"
    )
    db.execute("INSERT INTO bookmarks VALUES ('a.md', 1)")
    because = "another table refers to chunk 1, so PostgreSQL refuses the DELETE"
    call(db.connection, "a.md", ["new"], good[:1]).raises(psycopg.Error, because=because)
    db.rows(PLACES).give(
        before, because=f"{because}, and what was written before it has to be taken back, too"
    )
    db.execute("DROP TABLE bookmarks")


def _takes_odd_names(call: Probe, db: Scratch, good: Any) -> None:
    """Write texts and names that hold what is special in SQL."""
    db.execute("TRUNCATE chunks")
    quoted = "it's 100 %"
    call(db.connection, quoted, [quoted], good[:1]).gives(
        (1, 0), because="quotes and % are characters like any other: values are parameters"
    )
    db.rows(PLACES).give([(quoted, 0, quoted)], because="a text is stored as it is")
    db.execute("TRUNCATE chunks")
    db.execute(INSERT + "('abc.md', 0, 'other', '[1,1,1]'), ('A_C.md', 0, 'other', '[1,1,1]')")
    call(db.connection, "a_c.md", [], good[:0]).gives(
        (0, 0),
        because="'abc.md' and 'A_C.md' are other documents: a name is no pattern, and case counts",
    )


def _obeys_its_caller(call: Probe, db: Scratch, good: Any, before: list[Any]) -> None:
    """Inside a transaction of the caller's, whose rollback takes everything back."""
    try:
        with db.connection.transaction(force_rollback=True):
            case = call(db.connection, "a.md", ["x"], good[:1])
            case.gives((1, 1), because="inside its caller's transaction it works all the same")
    except psycopg.Error as error:  # its transaction was ended for it
        call.fail(
            case.label,
            got=str(error).split("\n")[0],
            expected="a transaction that its caller can still end",
            because="only whoever began a transaction may commit it",
        )
    db.rows(PLACES).give(before, because="its caller rolled back, so nothing of it may be left")


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
