"""Lab 06, a table for vectors: the schema, the upsert, and documents that are replaced.

What the learner's SQL does to rows is judged, never how it is written. A pasted call makes the rows
that it meets in a table that goes away.
"""

from __future__ import annotations

import re
from contextlib import nullcontext
from typing import Any

import psycopg

from course_lib.records import PARTITIONS
from course_lib.store.schema import filled
from course_lib.teaching.checks import chunk_rows
from course_lib.teaching.checks.chunk_rows import BESIDE, KEY, ROW, Row, different, row, short
from course_lib.teaching.checks.definition import Parts, case, exercise, part
from course_lib.teaching.checks.drawn import Call, Draws, drawn, given
from course_lib.teaching.checks.encoded import Json, error_value
from course_lib.teaching.checks.origin import stub_in, where_in_given
from course_lib.teaching.checks.statements import SAYS, TIME_LIMIT, refused, run
from course_lib.teaching.time_limit import stop_behind

# --- 6.1 ---

COURSE = "what `course ingest` and `course search` do"
OF_IT = "'document_chunks'::regclass"
COLUMNS = (
    "SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute "
    f"WHERE attnum > 0 AND attrelid = {OF_IT}"
)
KEYS = f"SELECT count(*) FROM pg_constraint WHERE contype = 'p' AND conrelid = {OF_IT}"
GRAPHS = (
    "SELECT indexrelid::regclass::text FROM pg_partition_tree('document_chunks') "
    "JOIN pg_index ON indrelid = relid WHERE pg_get_indexdef(indexrelid) ~ 'hnsw|ivfflat'"
)
PLAN = "EXPLAIN (FORMAT JSON) SELECT content FROM document_chunks WHERE partition = 'issues'"

SCHEMA_SAYS = {
    "is not partitioned": "a table that has partitions ends with PARTITION BY LIST (partition)",
    "hash partition": "PARTITION BY LIST names the values of each partition; by hash none is named",
    "must include all partitioning columns": "the primary key has to contain `partition`",
    "no partition of relation": "such rows need a DEFAULT partition",
    "dimensions, not": "the number of dimensions is the model's: write vector({dimension})",
    "violates check": "only zeros have no direction; a vector's length and signs do not count",
    "violates foreign key": "chunks are also stored alone, without a row in `documents`",
    "duplicate key value violates unique": "every column that tells them apart is in the key",
    'of relation "document_chunks"': "the library needs each column as it is given",
    'relation "document_chunks" ': "leave the name of a schema out: the search path has it",
    "only temporary relations": "a table that is UNLOGGED is empty after a crash",
}
"""What a learner may have forgotten in the schema, by what PostgreSQL says."""


def _place_of(connection: Any, text: str, asked: str | list[Row], dimension: int = 3) -> Any:
    """Return in which table the last of these rows is, or what is answered when this is asked."""
    # As temporary tables, those of the text stay for the next call: to make them takes longest.
    schema, path = "pg_temp", "pg_temp, public"
    if dimension != 3 or asked == COURSE:
        (schema,) = connection.execute("SELECT current_schema()").fetchone()
        path = f"{schema}, public, pg_temp"
    connection.execute(f"SET search_path TO {path}")
    there = f"SELECT to_regclass('{schema}.document_chunks')"
    if connection.execute(there).fetchone() == (None,):
        with connection.transaction():
            run(connection, filled(text, dimension, schema))
            if connection.execute(there).fetchone() == (None,):
                raise psycopg.errors.UndefinedTable('relation "document_chunks" does not exist')
    if asked == COURSE:
        return course_on(connection, schema)
    with connection.transaction(force_rollback=True):
        if isinstance(asked, list):
            inserts = (chunk_rows.insert_of(one).encode() for one in asked)
            return [connection.execute(insert).fetchone()[0] for insert in inserts][-1]
        rows = connection.execute(asked).fetchall()
    if asked == PLAN:
        return sorted(set(re.findall("'Relation Name': '(.+?)'", str(rows))))
    if asked == COLUMNS:  # more columns do no harm
        known = {*ROW, "id", "created_at", "updated_at"}
        return {name: f"{kind}{' NOT NULL' * fixed}" for name, kind, fixed in rows if name in known}
    return [one for (one,) in rows]


def course_on(db: psycopg.Connection[Any], schema: str = "public") -> list[str]:
    """Ingest a document in three nights, in the last one shorter, and search in it."""
    import numpy as np

    from course_lib.records import Query, Scope, SourceDocument
    from course_lib.retriever import search
    from course_lib.store import build_vector_indexes, write_chunks, write_documents
    from course_lib.store.schema import WORDS_AND_TENANTS

    db.execute(filled(WORDS_AND_TENANTS, 3, schema).encode())
    chunks = chunk_rows.chunks_of("one", "two", "three")
    vectors = np.eye(3, dtype=np.float32)
    for count in (3, 3, 2):
        state = SourceDocument("a.md", "text", "hash", "test 1.0.0", "", "model")
        write_documents(db, Scope(repo="docs"), [state])
        write_chunks(db, chunks[:count], vectors[:count])
        build_vector_indexes(db)
    return [one.content for one in search(db, [0.1, 1, 0], Query(threshold=-1))]


def _paste_schema(asked: str | list[Row], dimension: int = 3) -> str:
    """Return lines that make the learner's table, ask it or insert rows, and undo it all."""
    before, asks, source = [], f'db.execute("{asked}").fetchall()', ""
    if asked == COURSE:
        source, asks = "from course_lib.teaching.checks.lab06 import course_on\n", "course_on(db)"
    if isinstance(asked, list):
        source = "from course_lib.teaching.checks.chunk_rows import insert_of, row\n"
        source += f"{chunk_rows.ABOUT_ROW}\n"
        *before, asks = [f"db.execute(insert_of({short(one)}))" for one in asked]
        asks += ".fetchone()"
    return source + "\n    ".join([
        "with lab.connect() as db, db.transaction(force_rollback=True):",
        "drop_schema(db)", f"db.execute(filled(SCHEMA, {dimension}))", *before, f"print({asks})",
    ])  # fmt: skip


@drawn(40, look=_place_of, paste=_paste_schema, why=refused, says=SCHEMA_SAYS)
def any_places(random: Draws) -> Call:
    """Draw rows of few keys, of which the last may be wrong."""

    def one() -> Row:
        return row(**{name: random.choice((ROW[name], BESIDE[name])) for name in random.some(KEY)})

    others = {
        "partition": (*PARTITIONS, "Issues", "else", ""), "branch": ("",),
        "content": (None, "", "ONE"), "kind": (None, ""), "namespace": ("x", ""),
        "visibility": ("public", "open", "Public"),
        "embedding": ("[0,-1,0]", "[0,0,0]", "[1,2]", "[0,0,1e-6]", "[0,0,-9e9]"),
    }  # fmt: skip
    there = different(one() for _ in range(random.randrange(4)))
    changes = {name: random.choice(others[name]) for name in random.some(list(others))[:2]}
    return given([*there, {**random.choice((one(), *there)), **changes}])


@exercise("6.1", "store.schema:SCHEMA", time_limit=TIME_LIMIT, draws=any_places)
def check_schema() -> Parts:
    """Insert what the table has to take and to refuse, look where it is, and run the course."""
    return [
        part(1, "rows in their partitions",
            *(case([row(partition=name)], because=f"the partition is {name!r}: five names have a "
                   "table of their own, others share one") for name in (*PARTITIONS, "my own")),
            needed=False),
        part(1, "a key that tells rows apart",
            (([row()],), "the table is empty"),
            *(case([row(), row(**{name: value})], because=f"another {name}: it is another row")
              for name, value in BESIDE.items()),
            *(case([row(), row(**new)], because="a.md has a chunk 0 already: it is the same row")
              for new in ({"content": "2", "content_hash": "2"}, {"visibility": "public"})),
            ((KEYS,), "the columns that tell a row from all others are its key, not just UNIQUE")),
        part(1, "values that it has to refuse",
            (([row(embedding="[0,0,0]")],), "zeros have no direction, so they have no cosine"),
            (([row(embedding="[1,2]")],), "two numbers are not three"),
            (([row(content=None)],), "a chunk has a text: content may not be NULL"),
            (([row(visibility="secret")],), "visibility is 'private' or 'public'"),
            (([row(content="")],), "an empty text is a text, and its vector has a direction"),
            *(case([row(embedding=vector)], because="it has a direction")
              for vector in ("[0,0,1e-06]", "[-1,0,0]", "[0,-2,2]", "[30000,0,0]")),
            (([row(embedding="[0,0,0,0]")], 4), "another model has vectors of 4 numbers")),
        part(1, "columns and plan, and the course's commands on the table",
            ((COLUMNS,), "the library writes and reads the columns as they are given"),
            ((GRAPHS,), "a vector index is built later, when the rows are there"),
            ((PLAN,), "a search of one partition must not read the others"),
            ((COURSE,), "the course writes 3 chunks, the same again, 2 of them, and searches")),
    ]  # fmt: skip


# --- 6.2 ---

UPSERT_SAYS = SAYS | {
    "the ON CONFLICT specification": "ON CONFLICT has to name all columns of the primary key",
    "invalid reference to FROM-clause": "the row that is there is called `old`, the new `excluded`",
    "row(": "the new version replaces the old one, and no other row",
    "'new'": "an update keeps the row's id, which others may refer to, and created_at",
    "'20": "an update sets updated_at to now()",
    "'now()'": "a row that is not updated keeps its updated_at",
}


def _written(connection: Any, text: str, _: list[Row], new: Row) -> dict[str, Any]:
    """Run the statement for a row; return how many rows it touched, and the table."""
    return {"rowcount": run(connection, text, new).rowcount, **chunk_rows.stored(connection)}


def _paste_upsert(there: list[Row], new: Row) -> str:
    return chunk_rows.pasted(there, f"print(db.execute(UPSERT_CHUNK, {short(new)}).rowcount)")


@drawn(40, prepare=lambda db, there, new: chunk_rows.make_temporary_table(db, *there),
       look=_written, paste=_paste_upsert, why=refused, says=UPSERT_SAYS)  # fmt: skip
def any_upsert(random: Draws) -> Call:
    """Draw rows of few keys and values, and one that is new, equal, changed, or has NULL."""
    values: dict[str, Any] = {
        **{name: (ROW[name], other) for name, other in BESIDE.items()},
        "content": ("one", "ONE", "one ", "%", "it's"), "content_hash": ("hash", "h"),
        "metadata": ("{}", '{"a": 1}', "[]"), "embedding": ("[1,2,3]", "[2,4,6]", "[1,2,3.001]"),
        **dict.fromkeys(chunk_rows.OPTIONAL, ("x", "", None)),
        "visibility": ("private", "public"),
        "kind": ("doc-section", "y"), "name": ("Heading", "heading"),
    }  # fmt: skip

    def changed(one: Row, most: int) -> Row:
        names = random.some(list(values))[:most]
        return {**one, **{name: random.choice(values[name]) for name in names}}

    there = different(changed(row(), random.choice((1, 4, 16))) for _ in range(3))
    return given(there, changed(random.choice(there), random.randrange(4)))


@exercise("6.2", "store.writer:UPSERT_CHUNK", time_limit=TIME_LIMIT, draws=any_upsert)
def check_upsert() -> Parts:
    """Write a new row, the same again, each change alone, and rows of other documents."""
    same = "the same row is there already"
    others = [row(chunk_index=1), row(document_name="b.md")]
    there = [row(), *others]
    return [
        part(1, "rows that are new, or the same",
            (([], row()), "the row is new"),
            (([row()], row()), same),
            (([row(namespace="x")], row(namespace="x")), same),
            *(case([row()], row(**{name: value}), because=f"another {name}: it is another row")
              for name, value in BESIDE.items()),
            needed=False),
        part(1, "values that changed",
            ((there, row(content="ONE", embedding="[7,8,9]")), "text and vector changed"),
            ((there, row(embedding="[3,2,1]")), "the vector changed"),
            ((there, row(embedding="[2,4,6]")), "the vector is longer, of the same direction"),
            ((there, row(embedding="[1.001,2,3]")), "the vector changed, if only by 0.001"),
            ((there, row(content="1")), "the text changed"),
            *(case(there, row(content=text), because=f"the text changed: {text!r} is not 'one'")
              for text in ("two", "one ", "ONE", "%")),
            *(case(there, row(**{name: new}), because=f"the {name} changed") for name, new in (
                ("content_hash", "other"), ("kind", "table"), ("name", "Title"),
                ("metadata", '{"page": 7}'), ("visibility", "public")))),
        part(1, "values that were NULL, or become it",
            *(case(there, row(**{name: new}), because=f"the {name} was NULL, and is {new!r} now")
              for name in chunk_rows.OPTIONAL for new in ("a", "")),
            *(case([row(**{name: "x"}), *others], row(), because=f"the {name} is NULL now")
              for name in chunk_rows.OPTIONAL)),
    ]  # fmt: skip


# --- 6.3 ---

BEFORE = {
    "begun": "DELETE FROM document_chunks WHERE chunk_index = 1",
    "marked": f"CREATE TABLE marks (LIKE document_chunks, FOREIGN KEY ({', '.join(KEY)}) "
    "REFERENCES document_chunks); INSERT INTO marks SELECT * FROM document_chunks "
    "WHERE chunk_index = 1",
}
"""What the caller does before the call."""

ENDED = "a transaction that was begun has to be ended, whatever happens"
REPLACE_SAYS = {
    "'IDLE'": "only the code that began a transaction may end it",
    "'INTRANS'": ENDED, "'INERROR'": ENDED,
    "'UNKNOWN'": "`with conn:` closes the connection; `with conn.transaction():` leaves it open",
}  # fmt: skip


def _replaced(function: Any, db: Any, of: Row, rows: list[Row], _: list[Row], inside: str) -> Any:
    """Call it as its caller does; return what it gives, and the state of the connection then."""
    db.autocommit = inside != "begun"
    db.execute(BEFORE.get(inside, ""))
    with db.transaction(force_rollback=True) if inside == "rolled back" else nullcontext():
        try:
            found = function(db, of, rows)
        except Exception as error:
            if stub_in(error) or stop_behind(error):
                raise
            of_rows = isinstance(error, psycopg.DataError | psycopg.IntegrityError)
            found = Json(error_value(error, "" if of_rows else where_in_given(error, function)))
        state = db.info.transaction_status.name
    if state != "IDLE" and not db.closed:
        db.commit()
        db.autocommit = True
    return [found, state]


def _left(db: Any, value: Any, *_: Any) -> Any:
    """Return what the call gave, and what it left."""
    if not isinstance(value, list):
        return Json(value)
    found, state = value
    return {"it gives": Json(found), "the connection": state, **chunk_rows.stored(db)}


def _paste_replace(of: Row, rows: list[Row], there: list[Row], inside: str) -> str:
    call = f"replace_document(db, {short(of, 'document')}, [{', '.join(map(short, rows))}])"
    lines = ["try:", f"    print({call})", "except Exception as error: print(error)"]
    lines.append("print(db.info.transaction_status.name)")
    before = {"begun": ["db.autocommit = False"]}.get(inside, [])
    if inside == "rolled back":
        before, lines = ["with db.transaction(force_rollback=True):"], [f"    {_}" for _ in lines]
    before += [f'db.execute("{BEFORE[inside]}")'] if inside in BEFORE else []
    return chunk_rows.pasted(there, *before, *lines)


@drawn(40, takes_connection=True, apply=_replaced, look=_left, paste=_paste_replace,
       prepare=lambda db, of, rows, there, inside: chunk_rows.make_table(db, there),
       says=REPLACE_SAYS)  # fmt: skip
def any_document(random: Draws) -> Call:
    """Draw rows that are there, of this document and of others, and rows that take their place."""
    values = ("a_c", "abc", "A_C", "it's 100 %")
    first = {name: random.choice((ROW[name], *values)) for name in random.some(KEY[:5])}
    first = chunk_rows.document(**first)
    others = [{**first, name: each} for name in first for each in (*values, f"{first[name]}2")]

    def rows(of: Row) -> list[Row]:
        texts = random.choices(("one", "One", "100 %s"), k=3)
        return [row(**of, chunk_index=at, content=texts[at]) for at in random.some(range(3))]

    own = rows(first)
    beside = [one for of in random.sample(others, 2) if of != first for one in rows(of)]
    new = random.choice((rows(first), [*own], own[1:]))
    inside = ("", "", "rolled back", "begun", "marked", "null")[random.turn(6)]
    if inside == "null":
        new, inside = [*new, row(**first, chunk_index=9, content=None)], ""
    return given(first, new, different([*own, *beside]), inside)


@exercise("6.3", "store.writer:replace_document", waits_for=["6.2"], time_limit=TIME_LIMIT,
          draws=any_document)  # fmt: skip
def check_replace_document() -> Parts:
    """Write a page that is new, the same, shorter or empty, and fail in the middle."""
    zero, one, two = (row(chunk_index=at, content=text) for at, text in enumerate("abc"))
    new, a_md = row(content="x"), chunk_rows.document()
    others = [row(document_name="b.md"), row(document_name="b.md", chunk_index=5)]
    names = [row(document_name="A_C.md"), row(document_name="abc.md")]
    odd = dict.fromkeys(KEY[:5], "it's 100 %")
    exception = "what was done before it has to be undone, and the caller has to get the exception"
    return [
        part(1, "rows that are new, changed or stale",
            ((a_md, [zero, one], [], ""), "both rows are new, and none is stale"),
            ((a_md, [zero], others, ""), "one new row; other documents keep their rows"),
            ((a_md, [one, zero], [zero, one], ""), "the same document once more changes nothing"),
            ((a_md, [zero, one], [zero, {**one, "content": "1"}, two], ""),
             "chunk 1 has another text, and chunk 2 is stale"),
            ((a_md, [zero, two], [zero, one, two], ""), "chunk 1 is stale: 0 and 2 are given"),
            ((a_md, [], [zero, one], ""), "an empty document has no chunks"),
            needed=False),
        part(1, "all or nothing, also for its caller",
            ((a_md, [new, {**one, "embedding": "[3,2]"}], [zero, one, two], ""),
             f"the second vector was refused, as it has two numbers: {exception}"),
            ((a_md, [new], [zero, one], "marked"),
             f"another table refers to chunk 1, so PostgreSQL refuses the DELETE: {exception}"),
            ((a_md, [new], [zero, one], "rolled back"),
             "its caller rolls its own transaction back, so nothing may be left"),
            ((a_md, [new, row(embedding="[3,2]", chunk_index=2)], [zero, one], "begun"),
             "the second vector has two numbers; what the caller did before, its DELETE, stays"),
            ((a_md, [new], [zero, one], "begun"), "chunk 0 changed, and chunk 1 was deleted")),
        part(1, "other documents, whatever their names are",
            *(case(a_md, [zero], [zero, one, row(**beside), row(**beside, chunk_index=1)], "",
                   because=f"another {name}: it is another document, which keeps its rows")
              for name in KEY[:5] for beside in ({name: BESIDE[name]},)),
            ((odd, [row(**odd, content="it's 100 %")], [], ""),
             "quotes and % are characters like any other: values are parameters"),
            ((chunk_rows.document(document_name="a_c.md"), [], names, ""),
             "'abc.md' and 'A_C.md' are other documents: a name is not a pattern")),
    ]  # fmt: skip
