"""Lab 12, a fresh index: the plan, what has to be embedded, and orphans.

What the learner's functions do to the X-Ray's own tables, in an empty schema, is judged. A failed
call is shown with the rows it met, in a transaction that is rolled back, so that it can be pasted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from course_lib.indexing.plan import Plan
from course_lib.teaching.checks.drawn import Call, Draws, drawn, given
from course_lib.teaching.checks.package_rows import (
    AS_STORED,
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
    lists = {name: getattr(plan, name) for name in ("skip", "add", "change", "remove")}
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
    keys = ("a", "b", "c", "d", ("docs", "a.md"), ("docs", "b.md"))
    return given(*({key: random.choice(few) for key in random.some(keys)} for _ in range(2)))


@exercise("12.1", "indexing.plan:make_plan", 3, draws=any_states)
def check_make_plan(call: Probe) -> None:
    """Test one key for each list, other orders, no keys, and many kinds of states."""
    _plans(call, {"a": 1}, {"a": 1}, Plan(skip=["a"]), "nothing has changed")
    _plans(call, {"a": 2}, {"a": 1}, Plan(change=["a"]), "the same key has another state")
    _plans(call, {"a": 1}, {"a": 2}, Plan(change=["a"]),
           "a smaller state is another state, too")  # fmt: skip
    _plans(call, {"a": 1}, {}, Plan(add=["a"]), "it was not stored")
    _plans(call, {}, {"a": 1}, Plan(remove=["a"]), "it is not there any more")
    _plans(call, {}, {}, Plan(), "nothing was stored, and nothing is there now")
    _plans(call, {"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 0, "d": 4},
           Plan(["a"], ["c"], ["b"], ["d"]),
           "it is the exercise's example, in which b was stored, with 0 for its state")  # fmt: skip
    _plans(call, {"a": 1, "b": 2}, {"b": 2, "a": 1}, Plan(skip=["a", "b"]),
           "both have their stored states; only the order is different")  # fmt: skip
    _plans(call, {"a": 1}, {"b": 1}, Plan(add=["a"], remove=["b"]),
           "a and b are two keys, although their states are equal")  # fmt: skip
    _plans(call, {"a": "5f2c"}, {"a": "".join(("5f", "2c"))}, Plan(skip=["a"]),
           "the states are equal, although they are two objects")  # fmt: skip
    _plans(call, {"a": 1}, {"a": "1"}, Plan(change=["a"]), "1 and '1' are not equal")
    _plans(call, {"a": "A"}, {"a": "a"}, Plan(change=["a"]), "'A' and 'a' are not equal")
    _plans(call, {"a": [1]}, {"a": [1]}, Plan(skip=["a"]),
           "a state may be a list, which cannot be in a set")  # fmt: skip
    _plans(call, {"a": {"x": 1, "y": 2}}, {"a": {"y": 2, "x": 1}}, Plan(skip=["a"]),
           "two dictionaries are equal in any order of their keys")  # fmt: skip
    _plans(call, {"a": 1}, {"a": 1.0}, Plan(skip=["a"]),
           "1 and 1.0 are equal, although their types differ")  # fmt: skip
    _plans(call, {"rich": ""}, {"rich": ""}, Plan(skip=["rich"]),
           "an empty text is a state, too: a lock file may have no version")  # fmt: skip
    _plans(call, {"rich": "14.1.0"}, {"rich": ""}, Plan(change=["rich"]),
           "it was stored, and its state was an empty text")  # fmt: skip
    _plans(call, {"rich": None}, {}, Plan(add=["rich"]),
           "it was not stored, and its state is None now")  # fmt: skip
    _plans(call, {"rich": None}, {"rich": None}, Plan(skip=["rich"]),
           "it was stored, and its state was None")  # fmt: skip
    _plans(call, {("docs", "a.md"): "5f2c"}, {("docs", "b.md"): "5f2c"},
           Plan(add=[("docs", "a.md")], remove=[("docs", "b.md")]),
           "a key may be a pair: all of it counts")  # fmt: skip
    _plans(call, {"a": 1, 7: 1}, {}, Plan(add=["a", 7]),
           "a key may be anything: 'a' and 7 are in no order")  # fmt: skip


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


@exercise("12.2", "xray.catalogue:names_to_embed", 3, draws=any_names)
def check_names_to_embed(call: Probe) -> None:
    """Test each reason for a new vector, both together, and names that need none."""
    texts, one = {"rich": "Colours"}, ("Colours", "mini")
    call.cases(
        ((texts, {"rich": one}, "mini"), [], "this text and this model made the vector"),
        ((texts, {}, "mini"), ["rich"], "it has no vector yet"),
        ((texts, {"typer": one}, "mini"), ["rich"],
         "typer has a vector of the same text, but rich has none"),
        ((texts, {"rich": ("Pictures", "mini")}, "mini"), ["rich"], "another text made the vector"),
        ((texts, {"rich": ("colours", "mini")}, "mini"), ["rich"],
         "a text with another capital or blank is another text"),
        ((texts, {"rich": ("Colours ", "mini")}, "mini"), ["rich"],
         "a text with another capital or blank is another text"),
        ((texts, {"rich": ("Colours", "mini-2")}, "mini"), ["rich"],
         "another model, mini-2, made the vector"),
        ((texts, {"rich": ("Pictures", "mini-2")}, "mini"), ["rich"],
         "text and model are both different, but each name is returned once"),
        (({}, {"rich": one}, "mini"), [], "rich is not in `texts`"),
        (({"typer": "Commands", **texts}, {}, "mini"), ["typer", "rich"],
         "the names are in the order of `texts`"),
        (({"typer": "Commands", **texts}, {"rich": ("Pictures", "mini")}, "mini"),
         ["typer", "rich"],
         "the order is that of `texts`, whatever has a vector already"),
        (({"typer": "Colours", **texts}, {}, "mini"), ["typer", "rich"],
         "both names need a vector, although their texts are equal"),
        (({"typer": "Commands", **texts}, {"typer": ("Commands", "old"), "rich": one}, "mini"),
         ["typer"],
         "only typer's vector was made by another model"),
        (({"rich": ""}, {}, "mini"), ["rich"], "an empty text is a text, too"),
        (({**texts, "typer": "Commands"}, {"typer": ("Commands", "mini"), "rich": one}, "mini"), [],
         "both vectors can be kept; the order of `made_of` does not matter"),
    )  # fmt: skip


def _deleted(
    function: Callable[..., Any], connection: Any, language: str, names: Any, is_kept: bool, _: Any
) -> Any:
    """Delete, in a transaction that is rolled back where `is_kept`."""
    with connection.transaction(force_rollback=is_kept):
        return function(connection, language, names)


def _left(connection: Any, value: Any, *_: Any) -> Any:
    """Return what the call returned, and the names that the catalogue still holds."""
    return [value, connection.execute(CATALOGUE).fetchall()]


@drawn(10, takes_connection=True, apply=_deleted, prepare=catalogue, look=_left)
def any_orphans(random: Draws) -> Call:
    """Draw a catalogue, and names of which some are used, by others or in another language."""
    there = any_stored(random)
    names = random.some(sorted({name for _, name in there.packages} | {"never seen"}))
    asked = random.choice((names, set(names)))
    return given(random.choice(("python", "go")), asked, random.chance(0.2), there)


@exercise("12.3", "xray.catalogue:delete_orphans", 4, time_limit=TIME_LIMIT, draws=any_orphans)
def check_delete_orphans(call: Probe) -> None:
    """Test packages that others use, that no project uses, and that another language has."""
    used = [Use("forecasting", "python", "pillow")]
    go = ("go", "rich")
    with call.scratch() as db:
        db.execute(TABLES)
        _deletes(call, db, Stored(_python("bleach", "pillow"), used), ["bleach", "pillow"],
                 ["bleach"], "no project uses bleach, and another project uses pillow")  # fmt: skip
        _deletes(call, db, Stored(_python("bleach", "lonely")), ["bleach"], ["bleach"],
                 "lonely is an orphan, too, but it is not in `names`")  # fmt: skip
        both = {go: None, **_python("rich")}
        _deletes(call, db, Stored(both), ["rich"], ["rich"],
                 "only Python's rich was removed, not Go's")  # fmt: skip
        _deletes(call, db, Stored(both, [Use("forecasting", *go)]), ["rich"], ["rich"],
                 "only Go's package of this name is in use")  # fmt: skip
        _deletes(call, db, Stored(both), ["rich"], ["rich"],
                 "only Go's rich was removed, not Python's", "go")  # fmt: skip
        theirs = [Use("forecasting", "python", "pillow", "acme")]
        _deletes(call, db, Stored(_python("pillow"), theirs), ["pillow"], [],
                 "a project of another tenant uses pillow")  # fmt: skip
        _deletes(call, db, Stored(_python("rich")), [], [], "`names` is empty")
        _deletes(call, db, Stored(_python("rich")), ["never seen"], [],
                 "the catalogue has no such package")  # fmt: skip
        _deletes(call, db, Stored(_python("it's")), ["it's"], ["it's"],
                 "pass names as parameters, because they may hold any characters")  # fmt: skip
        _deletes(call, db, Stored(_python("a_b", "A_B", "axb")), ["a_b"], ["a_b"],
                 "A_B and axb are not a_b")  # fmt: skip
        _deletes(call, db, Stored(_python("bleach")), {"bleach"}, ["bleach"],
                 "`names` may be a set")  # fmt: skip
        db.execute(AS_STORED)
        _deletes(call, db, Stored(_python("c", "a", "b"), setting=AS_STORED), ["b", "c", "a"],
                 ["a", "b", "c"],
                 "all three go, and the names come back sorted; rows have no order")  # fmt: skip
        _leaves_the_transaction_open(call, db)


def _python(*names: str) -> Vectors:
    return {("python", name): None for name in names}


def _deletes(
    call: Probe, db: Scratch, there: Stored, names: Collection[str], expected: list[str],
    because: str, language: str = "python",
) -> None:  # fmt: skip
    there.fill(db)
    case = call(db.connection, language, names)
    case.label = there.pasted(case.label)
    case.gives(expected, because=because)
    left = set(there.packages) - {(language, name) for name in expected}
    found = db.execute(CATALOGUE).fetchall()
    Case(call, f"{case.label}; print(conn.execute({CATALOGUE!r}).fetchall())", value=found).gives(
        sorted(left), because=because
    )


def _leaves_the_transaction_open(call: Probe, db: Scratch) -> None:
    """Inside a transaction of the caller's, whose rollback takes the deletion back."""
    Stored(_python("a")).fill(db)
    with db.connection.transaction(force_rollback=True):
        call(db.connection, "python", ["a"]).gives(
            ["a"], because="no project uses it; the caller's transaction goes on after the call"
        )
    label = "with conn.transaction(force_rollback=True): delete_orphans(conn, 'python', ['a'])"
    left = db.execute(CATALOGUE).fetchall()
    Case(call, label, value=left).holds(
        left == [("python", "a")],
        "after the caller's rollback, a is still in the catalogue",
        got="it is still deleted",
        because="only the caller commits or rolls back, not delete_orphans",
    )
