"""Exercise 6.3: a document that is replaced, whole or not at all."""

from __future__ import annotations

from typing import Any

import psycopg

from course_lib.teaching.checks.chunk_rows import (
    BESIDE,
    COLUMNS,
    KEY,
    any_document,
    document,
    fill,
    holds,
    met,
    row,
    short,
)
from course_lib.teaching.checks.probe import Case, Probe, exercise
from course_lib.teaching.checks.scratch import TIME_LIMIT, Scratch


@exercise(
    "6.3", "store.writer:replace_document", 3,
    waits_for=["6.2"], time_limit=TIME_LIMIT, draws=any_document,
)  # fmt: skip
def check_replace_document(call: Probe) -> None:
    """Write a page that is new, the same, shorter or empty, and fail in the middle."""
    zero, one, two = (row(chunk_index=at, content=text) for at, text in enumerate("abc"))
    others = [row(document_name="b.md"), row(document_name="b.md", chunk_index=5)]
    with call.part(1, "rows that are new, changed or stale", needed=False), call.scratch() as db:
        _replaces(call, db, [], [zero, one], (2, 0), [zero, one],
                  "both rows are new, and none is stale")  # fmt: skip
        _replaces(call, db, others, [zero], (1, 0), [zero, *others],
                  "one new row, nothing to delete: other documents keep their rows")  # fmt: skip
        _replaces(call, db, [zero, one], [one, zero], (0, 0), [zero, one],
                  "the same document once more changes nothing")  # fmt: skip
        changed = one | {"content": "1"}
        _replaces(call, db, [zero, changed, two], [zero, one], (1, 1), [zero, one],
                  "chunk 1 has another text, and chunk 2 is stale")  # fmt: skip
        _replaces(call, db, [zero, one, two], [zero, two], (0, 1), [zero, two],
                  "chunk 1 is stale: only 0 and 2 of this document are given")  # fmt: skip
        _replaces(call, db, [zero, one], [], (0, 2), [], "an empty document has no chunks")
    with call.part(1, "all or nothing, also for its caller"), call.scratch() as db:
        _fails(call, db, [zero, one, two],
               [zero | {"content": "new"}, one | {"embedding": "[3,2]"}],
               "the second vector was refused, as it has two numbers")  # fmt: skip
        _fails_at_the_end(call, db, [zero, one])
        _obeys_its_caller(call, db, [zero, one])
        _leaves_what_its_caller_did(call, db, [zero, one])
    with call.part(1, "other documents, whatever their names are"), call.scratch() as db:
        for name, value in BESIDE.items():
            if name != "chunk_index":
                same = [row(**{name: value}), row(**{name: value}, chunk_index=1)]
                because = f"another {name}: it is another document, which keeps its rows"
                _replaces(call, db, [zero, one, *same], [zero], (0, 1), [zero, *same], because)
        quoted = {"document_name": "it's 100 %", "content": "it's 100 %"}
        _replaces(call, db, [], [row(**quoted)], (1, 0), [row(**quoted)],
                  "quotes and % are characters like any other: values are parameters",
                  document_name="it's 100 %")  # fmt: skip
        others = [row(document_name="A_C.md"), row(document_name="abc.md")]
        _replaces(call, db, others, [], (0, 0), others,
                  "'abc.md' and 'A_C.md' are other documents: a name is not a pattern, and case "
                  "counts", document_name="a_c.md")  # fmt: skip


def _called(
    call: Probe, db: Scratch, rows: list[dict[str, Any]], of: dict[str, Any] | None = None
) -> Case:
    """Return the call, with `db` for its connection, as `met` shows it."""
    of = of or {}
    case = call(db.connection, document(**of), rows)
    changes = ", ".join(f"{name}={value!r}" for name, value in of.items())
    given = ", ".join(map(short, rows))
    case.label = f"replace_document(db, document({changes}), [{given}])"
    if isinstance(case.error, psycopg.ProgrammingError) and case.error.sqlstate:
        _blames_the_upsert(call, case, case.error)
    return case


def _blames_the_upsert(call: Probe, case: Case, found: psycopg.Error) -> None:
    """Fail the check if the `UPSERT_CHUNK` that the function runs fails without it in this way."""
    statement = getattr(call.given, "__globals__", {}).get("UPSERT_CHUNK")
    if not isinstance(statement, str):
        return
    with call.scratch() as alone:
        fill(alone.connection)
        try:
            alone.execute(statement, row())
        except psycopg.Error as error:
            if error.sqlstate == found.sqlstate:
                call.fail(
                    case.label,
                    got=f"PostgreSQL: {error.diag.message_primary}, in `UPSERT_CHUNK`",
                    expected="a statement that PostgreSQL accepts",
                )


def _replaces(
    call: Probe, db: Scratch, there: list[dict[str, Any]], rows: list[dict[str, Any]],
    expected: tuple[int, int], left: list[dict[str, Any]], because: str, **of: Any,
) -> None:  # fmt: skip
    """Expect these counts, and these rows, of a call that met those `there`."""
    fill(db.connection, *there)
    case = _called(call, db, rows, of)
    run = case.label
    case.label = met(f"print({run})", there=there)
    case.gives(expected, because=because)
    _has_ended(case, db)
    holds(db, met(run, there=there), left, because)


def _has_ended(case: Case, db: Scratch) -> None:
    case.holds(
        not db.connection.closed,
        "a connection that can be used again",
        got="a connection that was closed",
        because="`with conn:` closes the connection; `with conn.transaction():` leaves it open",
    )
    _is_in(case, db, "IDLE", "a connection that can be used again",
           "a transaction that was begun has to be ended, whatever happens")  # fmt: skip


def _fails(
    call: Probe, db: Scratch, there: list[dict[str, Any]], rows: list[dict[str, Any]],
    because: str, *more: str,
) -> None:  # fmt: skip
    """Expect an exception of a call, and of what was done before it nothing to be left."""
    fill(db.connection, *there)
    for statement in more:
        db.execute(statement)
    case = _called(call, db, rows)
    made = [f"db.execute({statement!r})" for statement in more]
    run = f"try: {case.label}", "except Exception as error: print(error)"
    case.label = met(*made, *run, there=there)
    case.raises(
        psycopg.DatabaseError, because=f"{because}, and the caller has to get the exception"
    )
    _has_ended(case, db)
    holds(db, case.label, there, f"{because}: what was done before it has to be undone")


def _fails_at_the_end(call: Probe, db: Scratch, there: list[dict[str, Any]]) -> None:
    """Refuse the DELETE of the stale chunk, by a bookmark that refers to it."""
    names = ", ".join(KEY)
    columns = ", ".join(f"{name} {COLUMNS[name]}" for name in KEY)
    marks = f"CREATE TEMP TABLE marks ({columns}, FOREIGN KEY ({names}) REFERENCES document_chunks)"
    mark = f"INSERT INTO marks SELECT {names} FROM document_chunks WHERE chunk_index = 1"
    because = "another table refers to chunk 1, so PostgreSQL refuses the DELETE"
    _fails(call, db, there, [row(content="x")], because, marks, mark)
    db.execute("DROP TABLE marks")


def _obeys_its_caller(call: Probe, db: Scratch, there: list[dict[str, Any]]) -> None:
    """Inside a transaction of the caller's, whose rollback takes everything back."""
    fill(db.connection, *there)
    try:
        with db.connection.transaction(force_rollback=True):
            case = _called(call, db, [row(content="x")])
            inside = f"with db.transaction(force_rollback=True): print({case.label})"
            case.label = met(inside, there=there)
            case.gives((1, 1), because="it also has to work inside a transaction of its caller")
    except psycopg.Error as error:  # its transaction was ended for it
        call.fail(
            case.label,
            got=str(error).split("\n")[0],
            expected="a transaction that its caller can still end",
            because="only the code that began a transaction may commit it",
        )
    holds(db, case.label, there, "its caller rolled back, so nothing may be left")


def _leaves_what_its_caller_did(call: Probe, db: Scratch, there: list[dict[str, Any]]) -> None:
    """Fail, and then succeed, in a transaction that its caller began before, and rolls back."""
    fill(db.connection, *there)
    done = "DELETE FROM document_chunks WHERE chunk_index = 1"
    begun = "db.autocommit = False", f"db.execute({done!r})"
    db.connection.autocommit = False
    try:
        db.execute(done)
        case = _called(call, db, [row(content="x"), row(embedding="[3,2]", chunk_index=2)])
        run = f"try: {case.label}", "except Exception as error: print(error)"
        case.label = met(*begun, *run, there=there)
        case.raises(psycopg.DatabaseError, because="the second vector has two numbers")
        _is_open(case, db)
        because = "only what the call itself did is undone: its caller's DELETE stays"
        holds(db, case.label, there[:1], because)
        case = _called(call, db, [row(content="x")])
        case.label = met(*begun, f"print({case.label})", there=there)
        case.gives((1, 0), because="chunk 0 has another text, and its caller deleted chunk 1")
        _is_open(case, db)
    finally:
        if not db.connection.closed:
            db.connection.rollback()
            db.connection.autocommit = True


def _is_open(case: Case, db: Scratch) -> None:
    _is_in(case, db, "INTRANS", "a transaction that its caller can still commit or roll back",
           "only the code that began a transaction may end it")  # fmt: skip


def _is_in(case: Case, db: Scratch, wanted: str, says: str, because: str) -> None:
    state = db.connection.info.transaction_status.name
    case.holds(state == wanted, says, got=f"a connection in the state {state}", because=because)
