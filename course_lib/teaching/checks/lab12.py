"""Lab 12, a fresh index: the plan, what has to be embedded, orphans, and the lock.

What the learner's statement does to the X-Ray's own tables, in an empty schema, is judged. A failed
call is shown with the rows it met, in a transaction that is rolled back, so that it can be pasted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import psycopg

from course_lib.indexing.plan import Plan
from course_lib.teaching.checks.drawn import Call, Draws, drawn, given
from course_lib.teaching.checks.package_rows import (
    Stored,
    Use,
    Vectors,
    any_stored,
    catalogue,
)
from course_lib.teaching.checks.probe import Case, Probe, exercise
from course_lib.teaching.checks.scratch import TIME_LIMIT, Scratch
from course_lib.xray.tables import TABLES

LISTS = ("skip", "add", "change", "remove")
CATALOGUE = "SELECT language, name FROM xray_packages ORDER BY 1, 2"


def _plan(function: Callable[..., Any], *args: Any) -> Any:
    """Return the lists of a plan, each in one order."""
    plan = function(*args)
    lists = {name: getattr(plan, name) for name in LISTS}
    return [type(plan).__name__, {name: sorted(keys, key=repr) for name, keys in lists.items()}]


@drawn(150, apply=_plan)
def any_states(random: Draws) -> Call:
    """Draw keys that are on one side or on both, and states of all kinds."""
    near: tuple[Any, ...] = (
        (1, 2, "1"),
        (1, 1.0, None),
        ("", None, "A"),
        ("A", "a", "5f2c"),
        ([1], [2], [1]),
    ) + (({"x": 1, "y": 2}, {"y": 2, "x": 1}, {"x": 1}), (0, 0.0, ""))
    few = near[random.turn(len(near))]
    keys = ("a", "b", "c", "", ("docs", "a.md"), ("docs", "b.md"))
    return given(*({key: random.choice(few) for key in random.some(keys)} for _ in range(2)))


@exercise("12.1", "indexing.plan:make_plan", 3, draws=any_states)
def check_make_plan(call: Probe) -> None:
    """Test one key for each list, other orders, no keys, and many kinds of states."""
    for about, rows in (
        ("a list for each key", LISTED),
        ("states that are equal, and states that are not", STATES),
        ("states that are empty or None, and keys of any type", EMPTY),
    ):
        with call.part(1, about):
            for current, stored, wanted, because in rows:
                _plans(call, current, stored, wanted, because)


Planned = tuple[tuple[Mapping[Any, Any], Mapping[Any, Any], Plan[Any], str], ...]
"""What is there, what was stored, the plan, and why."""

LISTED: Planned = (
    ({"a": 1}, {"a": 1}, Plan(skip=["a"]), "nothing has changed"),
    ({"a": 2}, {"a": 1}, Plan(change=["a"]), "the same key has another state"),
    ({"a": 1}, {"a": 2}, Plan(change=["a"]), "a smaller state is another state, too"),
    ({"a": 1}, {}, Plan(add=["a"]), "it was not stored"),
    ({}, {"a": 1}, Plan(remove=["a"]), "it is not there any more"),
    ({}, {}, Plan(), "nothing was stored, and nothing is there now"),
    ({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 0, "d": 4}, Plan(["a"], ["c"], ["b"], ["d"]),
     "it is the exercise's example, in which b was stored, with 0 for its state"),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}, Plan(skip=["a", "b"]),
     "both have their stored states; only the order is different"),
    ({"a": 1}, {"b": 1}, Plan(add=["a"], remove=["b"]),
     "a and b are two keys, although their states are equal"),
)  # fmt: skip
STATES: Planned = (
    ({"a": "5f2c"}, {"a": "".join(("5f", "2c"))}, Plan(skip=["a"]),
     "the states are equal, although they are two objects"),
    ({"a": 1}, {"a": "1"}, Plan(change=["a"]), "1 and '1' are not equal"),
    ({"a": "A"}, {"a": "a"}, Plan(change=["a"]), "'A' and 'a' are not equal"),
    ({"a": "A "}, {"a": "A"}, Plan(change=["a"]), "'A ' and 'A' are not equal"),
    ({"a": "5f2c1d9a0b"}, {"a": "5f2c1d9a7e"}, Plan(change=["a"]),
     "the states are not equal, although they begin alike"),
    ({"a": [1]}, {"a": [1]}, Plan(skip=["a"]), "a state may be a list, which cannot be in a set"),
    ({"a": [1, 2]}, {"a": [2, 1]}, Plan(change=["a"]),
     "the order of a list counts: the states are not equal"),
    ({"a": {"x": 1, "y": 2}}, {"a": {"y": 2, "x": 1}}, Plan(skip=["a"]),
     "two dictionaries are equal in any order of their keys"),
    ({"a": 1}, {"a": 1.0}, Plan(skip=["a"]), "1 and 1.0 are equal, although their types differ"),
)  # fmt: skip
EMPTY: Planned = (
    ({"rich": ""}, {"rich": ""}, Plan(skip=["rich"]),
     "an empty text is a state, too: a lock file may have no version"),
    ({"rich": "14.1.0"}, {"rich": ""}, Plan(change=["rich"]),
     "it was stored, and its state was an empty text"),
    ({"rich": None}, {}, Plan(add=["rich"]), "it was not stored, and its state is None now"),
    ({"rich": None}, {"rich": None}, Plan(skip=["rich"]), "it was stored, and its state was None"),
    ({("docs", "a.md"): "5f2c"}, {("docs", "b.md"): "5f2c"},
     Plan(add=[("docs", "a.md")], remove=[("docs", "b.md")]),
     "a key may be a pair: all of it counts"),
    ({"a": 1, 7: 1}, {}, Plan(add=["a", 7]),
     "a key may be anything: 'a' and 7 are in no order"),
    ({0: "5f2c", "": "5f2c"}, {0: "5f2c", (): "5f2c"}, Plan([0], [""], [], [()]),
     "0, an empty text and an empty pair are keys, too"),
    ({"A": 1}, {"a": 1}, Plan(add=["A"], remove=["a"]), "A and a are two keys"),
    ({}, {"rich": None}, Plan(remove=["rich"]), "it is not there any more; its state was None"),
)  # fmt: skip


def _plans(
    call: Probe, current: Mapping[Any, Any], stored: Mapping[Any, Any], wanted: Plan[Any],
    because: str,
) -> None:  # fmt: skip
    case = call(current, stored)
    if case.error:
        case.gives(wanted, because=because)
    found = case.returns(Plan)
    for name in LISTS:
        got, expected = getattr(found, name), getattr(wanted, name)
        is_right = isinstance(got, list) and sorted(map(repr, got)) == sorted(map(repr, expected))
        case.holds(is_right, f"{name}={expected}", got=f"{name}={got}", because=because)


@drawn(80)
def any_names(random: Draws) -> Call:
    """Draw names with texts and models that are at times others than those of their vectors."""
    texts = ("Colours", "colours ", "Commands")
    files = ("rich", "typer", "httpx", "Rich")
    asked = {name: random.choice(texts) for name in random.some(files)}
    made_of = {
        name: (
            random.choice((asked.get(name, "Colours"), *texts)),
            random.choice(("mini", "mini-2")),
        )
        for name in random.some(files)
    }
    return given(asked, made_of, random.choice(("mini", "mini", "mini-2")))


@exercise("12.2", "xray.catalogue:names_to_embed", 2, draws=any_names)
def check_names_to_embed(call: Probe) -> None:
    """Test each reason for a new vector, both together, and names that need none."""
    for about, rows in (
        ("names without a vector, and with a vector of another text or model", NEW),
        ("names that need none, empty and equal texts, and the order", OTHERS),
    ):
        with call.part(1, about):
            call.cases(*rows)


Embedding = tuple[
    tuple[tuple[dict[str, str], dict[str, tuple[str, str]], str], list[str], str], ...
]
"""The texts, what made the vectors, and the model; the names, and why."""

TEXTS, ONE = {"rich": "Colours"}, ("Colours", "mini")
NEW: Embedding = (
    ((TEXTS, {"rich": ONE}, "mini"), [], "this text and this model made the vector"),
    ((TEXTS, {}, "mini"), ["rich"], "it has no vector yet"),
    ((TEXTS, {"rich": ("Pictures", "mini")}, "mini"), ["rich"], "another text made the vector"),
    ((TEXTS, {"rich": ("colours", "mini")}, "mini"), ["rich"],
     "a text with another capital or blank is another text"),
    ((TEXTS, {"rich": ("Colours ", "mini")}, "mini"), ["rich"],
     "a text with another capital or blank is another text"),
    ((TEXTS, {"rich": ("Colours", "mini-2")}, "mini"), ["rich"],
     "another model, mini-2, made the vector"),
    ((TEXTS, {"rich": ("Colours", "Mini")}, "mini"), ["rich"], "Mini is another model than mini"),
    ((TEXTS, {"rich": ("Colours", "my/mini")}, "mini"), ["rich"],
     "my/mini is another model than mini"),
    ((TEXTS, {"rich": ("Coluors", "mini")}, "mini"), ["rich"],
     "a text with the same letters in another order is another text"),
    (({"rich": "Colours, " * 12 + "a"}, {"rich": ("Colours, " * 12 + "b", "mini")}, "mini"),
     ["rich"], "another text made the vector, although both begin alike"),
    ((TEXTS, {"rich": ("Pictures", "mini-2")}, "mini"), ["rich"],
     "text and model are both different, but each name is returned once"),
    (({"mini": "mini"}, {"mini": ("mini", "mini-2")}, "mini"), ["mini"],
     "another model, mini-2, made the vector; the text is 'mini', too"),
    ((TEXTS, {"rich": ("Colour", "smini")}, "mini"), ["rich"],
     "text and model are both different, although the letters of both together are the same"),
)  # fmt: skip
OTHERS: Embedding = (
    ((TEXTS, {"typer": ONE}, "mini"), ["rich"],
     "typer has a vector of the same text, but rich has none"),
    (({}, {"rich": ONE}, "mini"), [], "rich is not in `texts`"),
    (({"typer": "Commands", **TEXTS}, {}, "mini"), ["typer", "rich"],
     "the names are in the order of `texts`"),
    (({"typer": "Commands", **TEXTS}, {"rich": ("Pictures", "mini")}, "mini"), ["typer", "rich"],
     "the order is that of `texts`, whatever has a vector already"),
    ((TEXTS, {"Rich": ONE}, "mini"), ["rich"], "Rich is another name, and rich has no vector"),
    (({"typer": "Colours", **TEXTS}, {}, "mini"), ["typer", "rich"],
     "both names need a vector, although their texts are equal"),
    (({"typer": "Commands", **TEXTS}, {"typer": ("Commands", "old"), "rich": ONE}, "mini"),
     ["typer"], "only typer's vector was made by another model"),
    (({"rich": ""}, {}, "mini"), ["rich"], "an empty text is a text, too"),
    (({"rich": ""}, {"rich": ("", "mini")}, "mini"), [], "an empty text made this vector"),
    (({**TEXTS, "typer": "Commands"}, {"typer": ("Commands", "mini"), "rich": ONE}, "mini"), [],
     "both vectors can be kept; the order of `made_of` does not matter"),
)  # fmt: skip


def _left(connection: Any, text: str, language: str, names: Any, _: Any) -> Any:
    """Return the names that a statement returned, and what it left of the catalogue."""
    values = {"language": language, "names": names}
    rows = sorted(connection.execute(text.encode(), values).fetchall())
    return [rows, connection.execute(CATALOGUE).fetchall()]


@drawn(10, prepare=catalogue, look=_left)
def any_orphans(random: Draws) -> Call:
    """Draw a catalogue, and names of which some are used, by others or in another language."""
    there = any_stored(random)
    names = random.some(sorted({name for _, name in there.packages} | {"never seen"}))
    return given(random.choice(("python", "go")), names, there)


@exercise("12.3", "xray.catalogue:DELETE_ORPHANS", 3, time_limit=TIME_LIMIT, draws=any_orphans)
def check_delete_orphans(call: Probe) -> None:
    """Test packages that others use, that no project uses, and that another language has."""
    text = call.sql
    used = [Use("forecasting", "python", "pillow")]
    go = ("go", "rich")
    both = {go: None, **_python("rich")}
    theirs = [Use("forecasting", "python", "pillow", "acme")]
    with call.part(2, "what no project uses, of the packages that are named"), call.scratch() as db:
        db.execute(TABLES)
        there = Stored(_python("bleach", "pillow"), used, told={"bleach": "Cleans HTML"})
        _deletes(db, text, there, ["bleach", "pillow"], ["bleach"],
                 "no project uses bleach, and another project uses pillow")  # fmt: skip
        _deletes(db, text, Stored(_python("bleach", "lonely")), ["bleach"], ["bleach"],
                 "lonely is an orphan, too, but it is not in `names`")  # fmt: skip
        _deletes(db, text, Stored(_python("c", "a", "b")), ["b", "c", "a"], ["a", "b", "c"],
                 "no project uses any of the three")  # fmt: skip
        _deletes(db, text, Stored(_python("pillow"), theirs), ["pillow"], [],
                 "a project of another tenant uses pillow, so nothing is deleted")  # fmt: skip
        _deletes(db, text, Stored(_python("rich")), [], [], "`names` is empty")
        _deletes(db, text, Stored(_python("rich")), ["never seen"], [],
                 "the catalogue has no such package")  # fmt: skip
        _deletes(db, text, Stored(_python("it's")), ["it's"], ["it's"],
                 "names may hold any characters")  # fmt: skip
        _deletes(db, text, Stored(_python("a_b", "A_B", "axb", "a_b2", " a_b")), ["a_b"],
                 ["a_b"], "A_B, axb, a_b2 and ' a_b' are not a_b")  # fmt: skip
        near = [Use("forecasting", "python", name) for name in ("Rich", "rich-click")]
        _deletes(db, text, Stored(_python("rich", "Rich", "rich-click"), near), ["rich"], ["rich"],
                 "Rich and rich-click are in use, but rich is not")  # fmt: skip
    with call.part(1, "packages of one name in two languages"), call.scratch() as db:
        db.execute(TABLES)
        _deletes(db, text, Stored(both), ["rich"], ["rich"],
                 "only Python's rich is to be deleted, not Go's")  # fmt: skip
        others = [Use("forecasting", *go), Use("forecasting", "python", "typer")]
        _deletes(db, text, Stored({**both, **_python("typer")}, others), ["rich"], ["rich"],
                 "only Go's package of this name is in use")  # fmt: skip
        _deletes(db, text, Stored(both, [Use("forecasting", "python", "rich")]), ["rich"], [],
                 "Python's rich is in use")  # fmt: skip
        _deletes(db, text, Stored(both), ["rich"], ["rich"],
                 "only Go's rich is to be deleted, not Python's", "go")  # fmt: skip
        near_go = {(language, "rich"): None for language in ("go", "Go", "golang")}
        _deletes(db, text, Stored(near_go), ["rich"], ["rich"],
                 "Go and golang are other languages than go", "go")  # fmt: skip


def _python(*names: str) -> Vectors:
    return {("python", name): None for name in names}


def _deletes(
    db: Scratch, text: str, there: Stored, names: list[str], expected: list[str],
    because: str, language: str = "python",
) -> None:  # fmt: skip
    """Run the learner's statement; expect it to return these names, and to delete no others."""
    there.fill(db)
    values = {"language": language, "names": names}
    run = f"conn.execute(DELETE_ORPHANS, {values})"
    called = there.pasted(f"{run}.fetchall()")
    rows = db.runs(text, values, because=because, called=called)
    Case(db.probe, called, value=sorted(rows.value)).gives(
        [(name,) for name in expected], because=because
    )
    left = set(there.packages) - {(language, name) for name in expected}
    found = db.execute(CATALOGUE).fetchall()
    looked = there.pasted(f"conn.execute({CATALOGUE!r}).fetchall()", run)
    Case(db.probe, looked, value=found).gives(sorted(left), because=because)


NUMBER = "hashtextextended('course xray python', 0)"
HELD = "SELECT classid::bigint, objid::bigint, mode FROM pg_locks WHERE pid = pg_backend_pid() "
HELD += "AND locktype = 'advisory' ORDER BY 1, 2"
REPEATABLE = "SET default_transaction_isolation = 'repeatable read'"
IMPATIENT = "SET lock_timeout = '300ms'"


def _level(connection: Any) -> list[tuple[str]]:
    """Return the level of a transaction: to PostgreSQL, the two lowest are the same."""
    [(level,)] = connection.execute("SHOW transaction_isolation").fetchall()
    return [("read committed" if level == "read uncommitted" else level,)]


def _in_a_transaction(function: Callable[..., Any], connection: Any, language: str) -> Any:
    """Return the value, level and locks in a transaction that took one, and the locks after it."""
    with connection.transaction():
        value = function(connection, language)
        level = _level(connection)
        inside = connection.execute(HELD).fetchall()
    return [value, level, inside, connection.execute(HELD).fetchall()]


@drawn(
    10,
    takes_connection=True,
    apply=_in_a_transaction,
    prepare=lambda connection, *_: connection.execute(REPEATABLE),
    look=lambda connection, value, *_: value,
)
def any_language(random: Draws) -> Call:
    """Draw the names of languages."""
    return given(random.choice(("python", "go", "ruby", "it's", random.text(2).strip() or "C")))


@exercise("12.4", "xray.tables:take_lock", 2, time_limit=TIME_LIMIT, draws=any_language)
def check_take_lock(call: Probe) -> None:
    """Take the lock on two connections, of which the second does not wait for long."""
    with call.scratch() as db, call.scratch() as other:
        for one in (db, other):
            one.execute(IMPATIENT)
        with call.part(1, "who comes second waits, but not for another language"):
            _keeps_apart(call, db, other)
        with call.part(1, "the lock's number, and what is seen after the wait"):
            _is_the_course_s_own(call, db, other)
            _sees_what_is_new(call, db)


def _keeps_apart(call: Probe, db: Scratch, other: Scratch) -> None:
    one, two = db.connection, other.connection
    with one.transaction():
        case = call(one, "python")
        case.label = _pasted()
        case.gives(None)
        case.holds(bool(one.info.transaction_status), "the transaction goes on after the call",
                   got="there is no transaction any more",
                   because="only the caller commits or rolls back")  # fmt: skip
        looked = "    print(one.execute('SHOW lock_timeout').fetchall())"
        label = _pasted(f'one.execute("{IMPATIENT}; COMMIT")')
        Case(call, f"{label}\n{looked}", value=one.execute("SHOW lock_timeout").fetchall()).gives(
            [("300ms",)], because="how long it waits for a lock is the caller's to say"
        )
        _waits(call, two, "take_lock(one, 'python')")
        for language in ("go", "python 2", "python ", "Python", "it's"):
            _goes_on(call, two, language, "take_lock(one, 'python')",
                     f"{language!r} is another language than 'python', and only syncs of the "
                     "same language take turns")  # fmt: skip
    _goes_on(call, two, "python", "with one.transaction():\n        take_lock(one, 'python')",
             "the first transaction has committed, and its lock has ended with it")  # fmt: skip
    with one.transaction(force_rollback=True):
        call(one, "python").gives(None)
    failed = "with one.transaction(force_rollback=True):\n        take_lock(one, 'python')"
    _goes_on(call, two, "python", failed,
             "the first transaction has failed, and its lock has ended with it")  # fmt: skip


def _is_the_course_s_own(call: Probe, db: Scratch, other: Scratch) -> None:
    took = f'one.execute("SELECT pg_advisory_xact_lock({NUMBER})")'
    with db.connection.transaction():
        db.execute(f"SELECT pg_advisory_xact_lock({NUMBER})")
        _waits(call, other.connection, took, "another program holds the number that is asked for")


def _sees_what_is_new(call: Probe, db: Scratch) -> None:
    for level in ("read committed", "repeatable read", "serializable"):
        db.execute(f"SET default_transaction_isolation = '{level}'")
        with db.connection.transaction():
            case = call(db.connection, "python")
            setting = f"one.execute(\"SET default_transaction_isolation = '{level}'; COMMIT\")"
            looked = "    print(one.execute('SHOW transaction_isolation').fetchall())"
            case.label = f"{_pasted(setting)}\n{looked}"
            case.gives(None)
            found = _level(db.connection)
        Case(call, case.label, value=found).gives(
            [("read committed",)],
            because="under another level, the transaction would see what was there before the wait",
        )


def _pasted(*before: str, call: str = "take_lock(one, 'python')") -> str:
    """Return lines that make a call on connections of their own, which are closed again."""
    lines = ["with lab.connect() as one, lab.connect() as two:", *before, call]
    return "\n    ".join(lines)


def _second(language: str, before: str) -> str:
    call = f"take_lock(two, {language!r})"
    return _pasted(before, f'two.execute("{IMPATIENT}; COMMIT")', call=call)


def _waits(
    call: Probe, connection: Any, before: str, because: str = "one transaction has the lock"
) -> None:
    with connection.transaction(force_rollback=True):
        case = call(connection, "python")
        case.label = _second("python", before)
        case.holds(isinstance(case.error, psycopg.errors.LockNotAvailable),
                   "it waits until the lock is free (here: until lock_timeout ends it)",
                   got=case.raised or "it went on, although the lock was not free",
                   because=because)  # fmt: skip


def _goes_on(call: Probe, connection: Any, language: str, before: str, because: str) -> None:
    with connection.transaction(force_rollback=True):
        case = call(connection, language)
        case.label = _second(language, before)
        case.gives(None, because=because)
