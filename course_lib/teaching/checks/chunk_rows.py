"""Rows of `document_chunks` for lab 06: what its checks write, and what is drawn for its exercises.

`fill` and `row` are shown where a call fails, so that it can be pasted into a cell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from course_lib.records import Chunk
from course_lib.teaching.checks.drawn import Call, Draws, drawn, given
from course_lib.teaching.checks.probe import Case
from course_lib.teaching.checks.scratch import Scratch

LONG_AGO = "2020-01-01"

COLUMNS = {
    "partition": "text NOT NULL",
    "tenant_id": "text NOT NULL",
    "repo_slug": "text NOT NULL",
    "branch": "text NOT NULL",
    "document_name": "text NOT NULL",
    "chunk_index": "integer NOT NULL",
    "id": "uuid NOT NULL",
    "commit_sha": "text",
    "kind": "text NOT NULL",
    "name": "text NOT NULL",
    "namespace": "text",
    "citation_url": "text",
    "content": "text NOT NULL",
    "content_hash": "text NOT NULL",
    "metadata": "jsonb NOT NULL",
    "visibility": "text NOT NULL",
    "created_at": "timestamp with time zone NOT NULL",
    "updated_at": "timestamp with time zone NOT NULL",
    "embedding": "vector(3) NOT NULL",
}
"""The columns that the exercise gives."""

DEFAULTS = {
    "id": "DEFAULT gen_random_uuid()",
    "created_at": "DEFAULT now()",
    "updated_at": "DEFAULT now()",
}
STORED_THEN = {"created_at": LONG_AGO, "updated_at": LONG_AGO}
"""What rows that are there already have in these columns."""

ROW: dict[str, Any] = {
    "partition": "issues",
    "tenant_id": "local",
    "repo_slug": "docs",
    "branch": "main",
    "document_name": "a.md",
    "chunk_index": 0,
    "commit_sha": None,
    "kind": "doc-section",
    "name": "Heading",
    "namespace": None,
    "citation_url": None,
    "content": "one",
    "content_hash": "hash",
    "metadata": "{}",
    "visibility": "private",
    "embedding": "[1,2,3]",
}
KEY = tuple(ROW)[:6]
ABOUT_ROW = (
    "# row() has "
    + ", ".join(f"{name}={value!r}" for name, value in ROW.items() if value is not None)
    + "; all else is None"
)
"""What a pasted call says of `row`."""
Rows = Sequence[Mapping[str, Any]]
PARTITIONS = ("documentation", "issues", "code_manifests", "code_pipelines", "code_notebooks")


def row(**changes: Any) -> dict[str, Any]:
    """Return a row of `document_chunks`: chunk 0 of a.md, but for these columns.

    Examples
    --------
    >>> row(chunk_index=1)["document_name"], row(chunk_index=1)["chunk_index"]
    ('a.md', 1)
    """
    return {**ROW, **changes}


def document(**changes: Any) -> dict[str, Any]:
    """Return the five columns that say which document `row` is of, but for these changes."""
    return {name: value for name, value in row(**changes).items() if name in KEY[:5]}


def chunks_of(*texts: str) -> list[Chunk]:
    """Return chunks of one document, as a parser makes them."""
    fields = {"tenantId": "local", "repoSlug": "docs", "rootKind": "external-source"}
    fields |= {"sourcePath": "a.md", "parserId": "test", "parserVersion": "1.0.0"}
    fields |= {"kind": "doc-section", "name": "Heading"}
    return [
        Chunk.model_validate({**fields, "content": one, "hashInputs": ["content"]}) for one in texts
    ]


def fill(db: psycopg.Connection[Any], *rows: dict[str, Any]) -> None:
    """Make a temporary table `document_chunks` for vectors of three numbers, with these rows."""
    # A zone that no place has: here a moment that has lost its zone is another moment.
    db.execute("SET TIME ZONE INTERVAL '-7:17' HOUR TO MINUTE")
    db.execute("DROP TABLE IF EXISTS pg_temp.document_chunks CASCADE")
    make_table(db, "TEMP TABLE")
    for one in rows:
        db.execute(insert_of({**one, **STORED_THEN}).encode())


def make_table(db: psycopg.Connection[Any], kind: str = "TABLE") -> None:
    """Make a table `document_chunks` without partitions, for vectors of three numbers."""
    columns = [f"{name} {rules} {DEFAULTS.get(name, '')}" for name, rules in COLUMNS.items()]
    columns.append(f"PRIMARY KEY ({', '.join(KEY)})")
    db.execute(f"CREATE {kind} document_chunks ({', '.join(columns)})".encode())


def insert_of(one: Mapping[str, Any]) -> str:
    """Return the statement that inserts a row."""
    values = ", ".join(sql.Literal(value).as_string() for value in one.values())
    return f"INSERT INTO document_chunks ({', '.join(one)}) VALUES ({values})"


BESIDE = {
    "partition": "documentation",
    "tenant_id": "acme",
    "repo_slug": "wiki",
    "branch": "v2",
    "document_name": "b.md",
    "chunk_index": 1,
}
"""A change of one of these makes another row."""


def _places_of(connection: Any, text: str, rows: Rows) -> Any:
    """Make the table, insert the rows, and return in which table each is, or what refused it."""
    from course_lib.store.schema import filled

    connection.execute(filled(text, 3).encode())
    found = []
    for one in rows:
        try:
            insert = f"{insert_of(one)} RETURNING tableoid::regclass::text"
            found.append(connection.execute(insert.encode()).fetchone()[0])
        except psycopg.Error as error:
            found.append(type(error).__name__)
    return found


@drawn(6, look=_places_of)
def any_places(random: Draws) -> Call:
    """Draw rows of few keys, some of them wrong."""
    values = {
        "partition": (*PARTITIONS, "Issues", "else"),
        "tenant_id": "ab",
        "repo_slug": "ab",
        "branch": ("", "b"),
        "document_name": "ab",
        "chunk_index": (0, 1),
        "content": ("one", "two", "one", "two", None),
        "visibility": ("private", "public", "private", "public", "open"),
        "embedding": ("[1,2,3]", "[0,-1,0]", "[-1,0,0]", "[0,0,0]", "[1,2]"),
    }
    rows = [row(**{name: random.choice(some) for name, some in values.items()}) for _ in range(30)]
    for one in random.sample(rows, 8):
        name = random.choice(list(values))
        rows.append({**one, name: random.choice(values[name])})
    return given(rows)


def _table_of(connection: Any, rows: Rows) -> None:
    make_table(connection)


def _written(connection: Any, text: str, rows: Rows) -> Any:
    """Run the statement for one row after the other; return how many it touched, and the table."""
    touched = [connection.execute(text.encode(), one).rowcount for one in rows]
    return [touched, _rows(connection)]


def _rows(connection: Any) -> Any:
    """Return all rows as texts, and which of them are new and which were updated."""
    return connection.execute(
        "SELECT (to_jsonb(t) - '{id,created_at,updated_at}'::text[]) #>> '{}' || embedding::text, "
        f"created_at <> '{LONG_AGO}', updated_at <> '{LONG_AGO}' FROM document_chunks AS t "
        "ORDER BY 1"
    ).fetchall()


@drawn(6, prepare=_table_of, look=_written)
def any_rows(random: Draws) -> Call:
    """Draw rows of few keys and few values: new, equal, changed, and with NULL."""
    values = {
        **{name: (ROW[name], other) for name, other in BESIDE.items() if random.chance(0.4)},
        "content": ("one", "ONE", "one ", "%", "it's"),
        "content_hash": "ab",
        "metadata": ("{}", '{"a": 1}'),
        "embedding": ("[1,2,3]", "[2,4,6]"),
        **dict.fromkeys(("commit_sha", "namespace", "citation_url"), ("x", "", None)),
        **dict.fromkeys(("kind", "name"), "xy"),
        "visibility": ("private", "public"),
    }
    rows = []
    for _ in range(12):
        changed = random.some(list(values))
        one = row(**{name: random.choice(values[name]) for name in changed})
        rows += [one] * random.choice((1, 1, 2))
        name = random.choice(list(values))
        rows.append({**one, name: random.choice(values[name])})
    return given(rows)


def _replaced(
    function: Callable[..., Any], connection: Any, of: Any, rows: Rows, *rest: Any
) -> Any:
    """Replace a document, at times in a transaction that is rolled back; say how it ended."""
    rolled_back = (
        connection.transaction(force_rollback=True) if rest[-1] == "back" else nullcontext()
    )
    try:
        with rolled_back:
            found = function(connection, of, rows)
    except Exception:
        found = "an exception"
    return [found, connection.info.transaction_status.name]


def _pages(connection: Any, of: Any, _: Rows, there: Rows, ending: str) -> None:
    make_table(connection)
    for one in there:
        connection.execute(insert_of({**one, **STORED_THEN}).encode())
    if ending == "kept":
        connection.execute(
            "CREATE TABLE marks (LIKE document_chunks, "
            f"FOREIGN KEY ({', '.join(KEY)}) REFERENCES document_chunks);"
            "INSERT INTO marks SELECT * FROM document_chunks"
        )


def _left(connection: Any, value: Any, *_: Any) -> Any:
    """Return what the call returned, and the table."""
    return [value, _rows(connection)]


@drawn(16, takes_connection=True, apply=_replaced, prepare=_pages, look=_left)
def any_document(random: Draws) -> Call:
    """Draw rows that are there, of this document and of others, and rows that take their place."""
    columns = KEY[:5]
    values = ("a_c", "abc", "A_C", "it's 100 %")
    first = dict(zip(columns, random.choices(values, k=5), strict=True))
    documents = [first, {**first, random.choice(columns): "other"}]
    documents += [{**first, "document_name": name} for name in values]
    documents = list({str(one): one for one in documents}.values())

    def rows(of: dict[str, str]) -> list[dict[str, Any]]:
        return [
            row(**of, chunk_index=place, content=random.choice(("one", "One", "100 %s")))
            for place in random.some(range(4))
        ]

    there = [one for each in documents for one in rows(each)]
    own = [one for one in there if first.items() <= one.items()]
    new = random.choice((rows(first), [*own], own[1:]))
    ending = ("", "", "back", "kept", "null")[random.turn(5)]
    if ending == "kept":
        new = [{**one, "content": "changed"} for one in own[:1]]
    if ending == "null":
        new = [*new, row(**first, chunk_index=9, content=None)]
    return given(first, new, there, ending)


def key_of(one: dict[str, Any]) -> tuple[Any, ...]:
    """Return the values of a row's key."""
    return tuple(one[name] for name in KEY)


def places_of(keys: Any) -> str:
    """Return documents and chunks of keys, as a person would name them."""
    named = sorted(f"{'/'.join(map(str, key[:5]))} chunk {key[5]}" for key in keys)
    return ", ".join(named) or "no chunk"


Updates = tuple[tuple[dict[str, Any], dict[str, Any], str], ...]
"""A row that is there, what changes, and what that is."""

UPDATES: Updates = (
    ({}, {"content": "ONE", "embedding": "[7,8,9]"}, "text and vector changed"),
    ({}, {"embedding": "[3,2,1]"}, "the vector changed"),
    ({}, {"embedding": "[2,4,6]"}, "the vector is twice as long, which the cosine does not show"),
    ({}, {"embedding": "[1.001,2,3]"}, "the vector changed, if only by 0.001"),
    ({}, {"content": "1"}, "the text changed"),
    ({}, {"content": "two"}, "the text changed, though it is as long as before"),
    ({}, {"content": "one "}, "the text changed: a blank is a character like any other"),
    ({}, {"content": "ONE"}, "the text changed: 'ONE' is not 'one'"),
    ({}, {"content": "%"}, "the text changed: a text is not a pattern"),
    ({}, {"content_hash": "other"}, "the hash changed"),
    ({}, {"kind": "table"}, "the kind changed"),
    ({}, {"name": "Title"}, "the name changed"),
    ({}, {"metadata": '{"page": 7}'}, "the metadata changed"),
    ({}, {"visibility": "public"}, "the visibility changed"),
)
UPDATES_OF_NULL: Updates = (
    ({}, {"commit_sha": "abc"}, "the commit was NULL, and is a text now"),
    ({}, {"citation_url": "https://a"}, "the address was NULL, and is a text now"),
    ({}, {"namespace": ""}, "the namespace was NULL, and is an empty text now: another value"),
    ({"namespace": "x"}, {"namespace": None}, "the namespace was a text, and is NULL now"),
    ({"citation_url": "x"}, {"citation_url": None}, "the address was a text, and is NULL now"),
)


def met(*lines: str, there: list[dict[str, Any]]) -> str:
    """Return lines that meet these rows in a lab's cell: in a table that goes away again."""
    return "\n    ".join(
        [
            "from course_lib.teaching.checks.chunk_rows import document, fill, row\n"
            f"{ABOUT_ROW}; fill() makes a temporary table of such rows\n"
            "with lab.connect(autocommit=True) as db:",
            f"fill({', '.join(['db', *map(short, there)])})",
            *lines,
        ]
    )


def short(one: dict[str, Any]) -> str:
    """Return a row as a call of `row`."""
    changes = [f"{name}={value!r}" for name, value in one.items() if value != ROW[name]]
    return f"row({', '.join(changes)})"


def stored(db: Scratch) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return the rows of the table by their keys."""
    columns = [*ROW, "id", "created_at", "updated_at", "metadata::text AS metadata"]
    columns.append("embedding::text AS embedding")
    columns.append("updated_at BETWEEN now() - interval '1 minute' AND now() AS is_now")
    asked = f"SELECT {', '.join(columns)} FROM document_chunks"
    with db.connection.cursor(row_factory=dict_row) as cursor:
        return {key_of(one): one for one in cursor.execute(asked.encode()).fetchall()}


def holds(db: Scratch, called: str, rows: list[dict[str, Any]], because: str) -> None:
    """Expect the table to hold these rows, and show those that are not as they should be."""
    found = {key: {name: one[name] for name in ROW} for key, one in stored(db).items()}
    wanted = {key_of(one): one | {"embedding": one["embedding"].replace(" ", "")} for one in rows}
    asked = "SELECT * FROM document_chunks ORDER BY document_name, chunk_index"
    called = f'{called}\n    print(db.execute("{asked}").fetchall())'
    case = Case(db.probe, called)
    missing = sorted(wanted.keys() - found.keys())
    surplus = sorted(found.keys() - wanted.keys())
    case.holds(
        not missing and not surplus,
        f"rows of {places_of(wanted)}", got=f"rows of {places_of(found)}", because=because,
    )  # fmt: skip
    for key, one in wanted.items():
        wrong = [name for name in ROW if found[key][name] != one[name]]
        case.holds(
            not wrong,
            f"{places_of([key])}: {', '.join(f'{name} = {one[name]!r}' for name in wrong)}",
            got=", ".join(f"{name} = {found[key][name]!r}" for name in wrong),
            because=because,
        )
