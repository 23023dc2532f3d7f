"""Lab 06: documents that are replaced.

6.1 and 6.2 are texts of SQL, which their checks alone judge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from course_lib.teaching.audits import Call, audit, call
from course_lib.teaching.audits.draws import Draws, some
from course_lib.teaching.checks.lab06 import KEY, LONG_AGO, insert_of, make_table, row

Rows = Sequence[Mapping[str, Any]]


def _replaced(
    function: Callable[..., Any], connection: Any, document: Any, rows: Rows, *rest: Any
) -> Any:
    """Replace a document, at times in a transaction that is rolled back; say how it ended."""
    rolled_back = (
        connection.transaction(force_rollback=True) if rest[-1] == "back" else nullcontext()
    )
    try:
        with rolled_back:
            found = function(connection, document, rows)
    except Exception:
        found = "an exception"
    return [found, connection.info.transaction_status.name]


def _pages(connection: Any, document: Mapping[str, Any], _: Rows, there: Rows, ending: str) -> None:
    make_table(connection)
    for one in there:
        connection.execute(insert_of(dict(one)).encode())
    if ending == "kept":
        connection.execute(
            "CREATE TABLE marks (LIKE document_chunks, "
            f"FOREIGN KEY ({', '.join(KEY)}) REFERENCES document_chunks);"
            "INSERT INTO marks SELECT * FROM document_chunks"
        )


def _left(connection: Any, value: Any, *_: Any) -> Any:
    """Return what the call returned, all rows as texts, and which of them were updated."""
    rows = connection.execute(
        "SELECT (to_jsonb(t) - 'updated_at' - 'id') #>> '{}' || embedding::text, "
        f"updated_at <> '{LONG_AGO}' FROM document_chunks AS t "
        "ORDER BY 1"
    ).fetchall()
    return [value, rows]


@audit(
    "6.3", count=16, needs="database", takes_connection=True,
    apply=_replaced, prepare=_pages, look=_left,
)  # fmt: skip
def replace_document(random: Draws) -> Call:
    """Draw rows that are there, of this document and of others, and rows that take their place."""
    columns = KEY[:5]
    values = ("a_c", "abc", "A_C", "it's 100 %")
    documents = [dict(zip(columns, random.choices(values, k=5), strict=True)) for _ in range(3)]
    documents.append({**documents[0], random.choice(columns): "other"})
    documents += [{**documents[0], "document_name": name} for name in values]
    documents = list({str(one): one for one in documents}.values())
    notes = ("one", "One", "100 %s")

    def rows(document: Mapping[str, str]) -> list[dict[str, Any]]:
        return [
            row(**document, chunk_index=place, content=random.choice(notes))
            for place in some(random, range(4))
        ]

    there = [row for document in documents for row in rows(document)]
    own = [row for row in there if documents[0].items() <= row.items()]
    given = random.choice((rows(documents[0]), [*own], own[1:]))
    ending = ("", "", "back", "kept", "null")[random.turn(5)]
    if ending == "kept":
        given = [{**one, "content": "changed"} for one in own[:1]]
    if ending == "null":
        given = [*given, row(**documents[0], chunk_index=9, content=None)]
    return call(documents[0], given, there, ending)
