"""Lab 06, a table for vectors: the schema, the upsert, and documents that are replaced.

What the learner's SQL does in an empty schema is judged, never how it is written. A failed call is
shown with `fill` and `row`, which make the rows that it met in a table that goes away, so that it
can be pasted.
"""

from __future__ import annotations

import re
from typing import Any

import psycopg

from course_lib.teaching.checks.chunk_rows import (
    ABOUT_ROW,
    BESIDE,
    COLUMNS,
    LONG_AGO,
    PARTITIONS,
    UPDATES,
    UPDATES_OF_NULL,
    Updates,
    any_places,
    any_rows,
    chunks_of,
    fill,
    holds,
    insert_of,
    key_of,
    met,
    row,
    short,
    stored,
)
from course_lib.teaching.checks.outcomes import explained
from course_lib.teaching.checks.probe import Case, Probe, exercise
from course_lib.teaching.checks.replaced import check_replace_document as check_replace_document
from course_lib.teaching.checks.scratch import TIME_LIMIT, Scratch

SAYS = {
    "is not partitioned": "a table that has partitions ends with PARTITION BY LIST (partition)",
    "hash partition": "PARTITION BY LIST names the values of each partition; by hash none is named",
    "must include all partitioning columns": "the primary key has to contain `partition`, by which "
    "the table is partitioned",
    "no partition of relation": "such rows need a DEFAULT partition",
    "dimensions, not": "the number of dimensions is the model's: write vector({dimension})",
    "violates check constraint": "only a vector of zeros has no direction; its length and the "
    "signs of its numbers do not count",
    "duplicate key value violates unique": "every column that tells them apart is in the key",
}
"""What a learner may have forgotten in the schema, by what PostgreSQL says."""

UPSERT_SAYS = {
    "the ON CONFLICT specification": "ON CONFLICT has to name all columns of the primary key",
    "invalid reference to FROM-clause": "the row that is there is called `old`, the new `excluded`",
}
"""The same, of an upsert."""

# --- 6.1 ---


@exercise("6.1", "store.schema:SCHEMA", 4, time_limit=TIME_LIMIT, draws=any_places)
def check_schema(call: Probe) -> None:
    """Insert what the table has to take and to refuse, look where it is, and run the course."""
    text = call.sql
    plan = [_has_the_columns, _has_no_graph, _reads_one_partition]
    for about, judges, last in (
        ("rows in their partitions", [_sorts_rows], None),
        ("a key that tells rows apart", [_knows_its_rows, _has_a_key], None),
        ("values that it has to refuse", [_refuses], _takes_any_dimension),
        ("columns and plan, and the course's commands on the table", plan, _runs_the_course),
    ):
        with call.part(1, about, needed=False), call.scratch() as db, call.scratch() as empty:
            _create(db, text)
            for judge in judges:
                judge(db)
            if last:
                last(empty, text)


def _pasted(*statements: str | dict[str, Any]) -> str:
    """Return lines that make the learner's table, run statements, insert rows, and undo it all."""
    lines = [
        "with lab.connect() as db, db.transaction(force_rollback=True):",
        "drop_schema(db)",
        "db.execute(filled(SCHEMA, 3))",
    ]
    for one in statements:
        if isinstance(one, str):
            lines.append(f"print(db.execute({one!r}).fetchall())")
        else:
            lines.append(f"db.execute(insert_of({short(one)}))")
    if len(lines) > 3 and "insert_of" in "".join(lines):
        source = "from course_lib.teaching.checks.chunk_rows import insert_of, row"
        lines[0] = f"{source}\n{ABOUT_ROW}\n{lines[0]}"
    return "\n    ".join(lines)


def _create(db: Scratch, text: str) -> None:
    from course_lib.store.schema import filled

    with explained(SAYS):
        db.runs(filled(text, 3, db.schema), called=_pasted())
    row = db.execute("SELECT to_regclass(%s)", [f"{db.schema}.document_chunks"]).fetchone()
    named = re.search(r"\bTABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?\"?(\w+)\"?\s*\.", text, re.I)
    Case(db.probe, _pasted()).holds(
        row != (None,), "a table named document_chunks", got="no table of that name",
        because=f"it is made where the connection's search path begins, not in {named[1]}: "
        "leave the name of the schema out" if named else "",
    )  # fmt: skip
    empty = db.execute("SELECT * FROM document_chunks LIMIT 0")
    columns = {one.name for one in empty.description or ()}
    for name in COLUMNS:
        Case(db.probe, _pasted()).holds(
            name in columns, f"a column {name}, as it is given", got=f"no column {name}"
        )


def _takes(db: Scratch, because: str, *rows: dict[str, Any]) -> None:
    """Expect the last row to be taken, after the others."""
    with explained(SAYS):
        db.runs(insert_of(rows[-1]), called=_pasted(*rows), because=because)


def _rejects(db: Scratch, because: str, *rows: dict[str, Any]) -> None:
    """Expect the last row to be refused, after the others."""
    db.rejects(insert_of(rows[-1]), called=_pasted(*rows), because=because)


def _sorts_rows(db: Scratch) -> None:
    for name in (*PARTITIONS, "my own", "ISSUES"):
        _takes(db, f"it is a chunk of partition {name!r}", row(partition=name))
    where = "SELECT tableoid::regclass::text FROM document_chunks WHERE partition = "
    for name in (*PARTITIONS, "my own", "ISSUES"):
        table = f"document_chunks_{name if name in PARTITIONS else 'default'}"
        asked = f"{where}'{name}'"
        db.runs(asked, called=_pasted(row(partition=name), asked)).gives(
            [(table,)],
            because=f"rows of partition {name!r} are in {table}: five names have a table of their "
            "own, all others share the default",
        )
    db.execute("DELETE FROM document_chunks")


def _knows_its_rows(db: Scratch) -> None:
    _takes(db, "the table is empty", row())
    for changes, because in (
        ({"chunk_index": 1}, "a document has more than one chunk"),
        ({"document_name": "b.md"}, "every document has a chunk 0"),
        ({"branch": "v2"}, "another branch has an a.md of its own"),
        ({"repo_slug": "wiki"}, "another repository has an a.md of its own"),
        ({"tenant_id": "acme"}, "another tenant has an a.md of its own"),
        ({"partition": "code_notebooks"}, "another partition has an a.md of its own"),
    ):
        _takes(db, because, row(), row(**changes))
    for changes in (
        {"content": "other", "content_hash": "other"},
        {"embedding": "[3,2,1]", "name": "Other", "kind": "table"},
        {"visibility": "public", "metadata": '{"a": 1}', "commit_sha": "abc"},
    ):
        because = "a.md has a chunk 0 already: a new edition of it is the same row"
        _rejects(db, because, row(), row(**changes))
    other = row(partition="code_notebooks")
    because = "'code_notebooks' has a chunk 0 of a.md already"
    _rejects(db, because, other, other | {"content": "other"})


def _refuses(db: Scratch) -> None:
    for changes, because in (
        ({"embedding": "[0,0,0]"}, "a vector of zeros has no direction, so it has no cosine"),
        ({"embedding": "[1,2]"}, "two numbers are not three"),
        ({"content": None}, "a chunk has a text: content may not be NULL"),
        ({"visibility": "secret"}, "visibility is 'private' or 'public'"),
    ):
        _rejects(db, because, row(chunk_index=7, **changes))
    for vector in ("[0,0,0.001]", "[-1,0,0]", "[0,-2,2]", "[30000,0,0]"):
        _takes(db, "it has a direction", row(document_name=vector, embedding=vector))


def _has_the_columns(db: Scratch) -> None:
    found = db.execute(
        "SELECT attname, format_type(atttypid, atttypmod) || CASE WHEN attnotnull THEN ' NOT NULL' "
        "ELSE '' END FROM pg_attribute WHERE attrelid = 'document_chunks'::regclass "
        "AND attnum > 0 AND NOT attisdropped"
    ).fetchall()
    given = {name: rules for name, rules in found if name in COLUMNS}  # more columns do no harm
    Case(db.probe, _pasted(), value=given).gives(
        COLUMNS, because="the library writes and reads the columns as they are given"
    )


def _has_a_key(db: Scratch) -> None:
    key = db.execute(
        "SELECT FROM pg_constraint WHERE conrelid = 'document_chunks'::regclass AND contype = 'p'"
    )
    Case(db.probe, _pasted()).holds(
        key.fetchone() is not None, "a table with a primary key",
        got="a table without a primary key",
        because="the columns that tell a row from all others are its key, not merely UNIQUE",
    )  # fmt: skip


def _has_no_graph(db: Scratch) -> None:
    graphs = db.execute(
        "SELECT relname FROM pg_class JOIN pg_am ON pg_am.oid = relam "
        "WHERE amname IN ('hnsw', 'ivfflat') AND relnamespace = current_schema()::regnamespace"
    ).fetchall()
    Case(db.probe, _pasted()).holds(
        not graphs, "no vector index yet", got=", ".join(name for (name,) in graphs),
        because="a vector index is built when the rows are there, by a statement of its own",
    )  # fmt: skip


def _reads_one_partition(db: Scratch) -> None:
    asked = "SELECT content FROM document_chunks WHERE partition = 'issues'"
    row = db.execute(f"EXPLAIN (FORMAT JSON) {asked}").fetchone()
    assert row is not None
    found = sorted(_relations(row[0][0]["Plan"]))
    Case(db.probe, _pasted(f"EXPLAIN {asked}")).holds(
        found == ["document_chunks_issues"],
        "a plan that reads document_chunks_issues only",
        got=f"a plan that reads {', '.join(found)}",
        because="a search of one partition must not read the others",
    )


def _relations(plan: dict[str, Any]) -> set[str]:
    names = {plan["Relation Name"]} if "Relation Name" in plan else set()
    return names.union(*map(_relations, plan.get("Plans", ())))


def _runs_the_course(db: Scratch, text: str) -> None:
    """Do what `course ingest` and `course search` do, on the learner's table."""
    import numpy as np

    from course_lib.errors import CourseError
    from course_lib.records import Query, Scope, SourceDocument
    from course_lib.retriever import search
    from course_lib.store import build_vector_indexes, write_chunks, write_documents
    from course_lib.store.schema import WORDS_AND_TENANTS, filled

    around = filled(f"{text}\n;{WORDS_AND_TENANTS}", 3, db.schema)
    called = "course ingest data/documents"
    db.runs(around, called=called, because="the rest of the course's schema is made around it")
    chunks = chunks_of("one", "two", "three")
    state = SourceDocument("a.md", "text", "hash", "test 1.0.0", "", "model")
    vectors = np.eye(3, dtype=np.float32)
    try:
        for night in (chunks, chunks, chunks[:2]):
            write_documents(db.connection, Scope(repo="docs"), [state])
            write_chunks(db.connection, night, vectors[: len(night)])
            build_vector_indexes(db.connection)
        called = "course search two"
        found = search(db.connection, [0.1, 1, 0], Query(threshold=-1))
    except (psycopg.Error, CourseError) as error:
        got = str(error).split("\n")[0]
        db.probe.fail(called, got=got, expected="documents that are stored and found")
    Case(db.probe, called, value=[one.content for one in found]).gives(["two", "one"])


def _takes_any_dimension(db: Scratch, text: str) -> None:
    from course_lib.store.schema import filled

    db.runs(filled(text, 4, db.schema), called="db.execute(filled(SCHEMA, 4))")
    because = "another model has vectors of another length, here 4, and zeros are refused there too"
    zeros = row(embedding="[0,0,0,0]")
    called = _pasted(zeros).replace("SCHEMA, 3", "SCHEMA, 4")
    db.rejects(insert_of(zeros), called=called, because=because)


# --- 6.2 ---


@exercise("6.2", "store.writer:UPSERT_CHUNK", 3, time_limit=TIME_LIMIT, draws=any_rows)
def check_upsert(call: Probe) -> None:
    """Write a new row, the same again, each change alone, and rows of other documents."""
    statement = call.sql
    with call.part(1, "rows that are new, or the same", needed=False), call.scratch() as db:
        _upsert(db, statement, [], row(), 1, "the row is new")
        _upsert(db, statement, [row()], row(), 0, "the same row is there already")
        _upsert(db, statement, [row(namespace="x")], row(namespace="x"), 0,
                "the same row is there already")  # fmt: skip
        for name, value in BESIDE.items():
            because = f"another {name}: it is another row"
            _upsert(db, statement, [row()], row(**{name: value}), 1, because)
    with call.part(1, "values that changed"), call.scratch() as db:
        _updates(db, statement, UPDATES)
    with call.part(1, "values that were NULL, or become it"), call.scratch() as db:
        _updates(db, statement, UPDATES_OF_NULL)


def _updates(db: Scratch, statement: str, updates: Updates) -> None:
    for there, changes, because in updates:
        others = [row(chunk_index=1), row(document_name="b.md")]
        before = row(**there)
        _upsert(db, statement, [before, *others], before | changes, 1, because)


def _upsert(
    db: Scratch, statement: str, there: list[dict[str, Any]], given: dict[str, Any], touched: int,
    because: str,
) -> None:  # fmt: skip
    """Run the learner's statement for one row and expect it to touch so many, and no other."""
    fill(db.connection, *there)
    before = stored(db)
    run = f"db.execute(UPSERT_CHUNK, {short(given)})"
    called = met(f"print({run}.rowcount)", there=there)
    with explained(UPSERT_SAYS):
        rowcount = db.cursor(statement, given, because=because, called=called).rowcount
    Case(db.probe, called, value=rowcount).gives(touched, because=because)
    holds(db, met(run, there=there), [*(o for o in there if key_of(o) != key_of(given)), given],
           "the new version replaces the old one, and no other row")  # fmt: skip
    after = {key: one for key, one in stored(db).items() if key in before}
    asked = "SELECT id, created_at, updated_at FROM document_chunks"
    called = met(run, f'print(db.execute("{asked}").fetchall())', there=there)
    for key, one in after.items():
        is_updated = key == key_of(given) and touched > 0
        Case(db.probe, called).holds(
            one["is_now"] == is_updated,
            "an updated_at of now()" if is_updated else f"an updated_at of {LONG_AGO}, as before",
            got=str(one["updated_at"]),
            because="an update sets updated_at to now(), and a row that is not updated keeps it",
        )
        others = [name for name in ("id", "created_at") if one[name] != before[key][name]]
        Case(db.probe, called).holds(
            not others,
            ", ".join(f"the {name} of before, {before[key][name]}" for name in others),
            got=", ".join(f"another {name}, {one[name]}" for name in others),
            because="an update keeps the row's id, which others may refer to",
        )  # fmt: skip
