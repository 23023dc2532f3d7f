"""Lab 10, a fresh index: the plan, what has to be embedded, orphans, and the filtered search.

What the learner's functions do to the X-Ray's own tables, in an empty schema, is judged. A failed
call is shown with the rows it met, in a transaction that is rolled back, so that it can be pasted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from course_lib.indexing.plan import Plan
from course_lib.teaching.checks.probe import Case, Probe, exercise
from course_lib.teaching.checks.scratch import Scratch
from course_lib.xray.tables import TABLES

# The first check of a session also makes its database, and starts the server where none runs.
TIME_LIMIT = 20
LISTS = ("skip", "add", "change", "remove")
AS_STORED = "SET enable_indexscan = off"
"""Rows come in the order in which they were written, which an index would hide."""

CATALOGUE = "SELECT language, name FROM xray_packages ORDER BY 1, 2"


@exercise(
    "10.1",
    function="make_plan",
    points=2,
    library="course_lib.indexing.plan",
    hints=(
        "Begin with `plan = Plan()`, whose four lists are empty, and append to them. Two loops "
        "will do: one over what is there now, one over what was stored.",
        "`key in stored` asks whether a key was stored at all. Do not ask whether its state is "
        "true: a version may be an empty text.",
        "In the first loop: not in `stored` → `plan.add`; `stored[key] == state` → `plan.skip`; "
        "otherwise `plan.change`. In the second: not in `current` → `plan.remove`.",
    ),
)
def check_make_plan(call: Probe) -> None:
    """Take one key of each kind, other orders, nothing, and states of all kinds."""
    _plans(call, {"a": 1}, {"a": 1}, Plan(skip=["a"]), "nothing has changed")
    _plans(call, {"a": 2}, {"a": 1}, Plan(change=["a"]), "the same key, and another state")
    _plans(call, {"a": 1}, {"a": 2}, Plan(change=["a"]),
           "a smaller state is another state, too")  # fmt: skip
    _plans(call, {"a": 1}, {}, Plan(add=["a"]), "it was not stored")
    _plans(call, {}, {"a": 1}, Plan(remove=["a"]), "it is gone")
    _plans(call, {}, {}, Plan(), "nothing was stored, and nothing is there")
    _plans(call, {"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 0, "d": 4},
           Plan(["a"], ["c"], ["b"], ["d"]), "it is the statement's example")  # fmt: skip
    _plans(call, {"a": 1, "b": 2}, {"b": 2, "a": 1}, Plan(skip=["a", "b"]),
           "both are as they were stored, in another order")  # fmt: skip
    _plans(call, {"a": 1}, {"b": 1}, Plan(add=["a"], remove=["b"]),
           "a and b are two keys, although their states are equal")  # fmt: skip
    _plans(call, {"a": "5f2c"}, {"a": "".join(("5f", "2c"))}, Plan(skip=["a"]),
           "the states are equal, if not the same object")  # fmt: skip
    _plans(call, {"a": 1}, {"a": "1"}, Plan(change=["a"]), "1 and '1' are not equal")
    _plans(call, {"a": "A"}, {"a": "a"}, Plan(change=["a"]), "'A' and 'a' are not equal")
    _plans(call, {"a": [1]}, {"a": [1]}, Plan(skip=["a"]),
           "a state only has to be comparable; a list cannot be in a set")  # fmt: skip
    _plans(call, {"a": {"x": 1, "y": 2}}, {"a": {"y": 2, "x": 1}}, Plan(skip=["a"]),
           "dictionaries are equal in any order of their keys")  # fmt: skip
    _plans(call, {"a": 1}, {"a": 1.0}, Plan(skip=["a"]),
           "1 and 1.0 are equal, although their types differ")  # fmt: skip
    _plans(call, {"rich": ""}, {"rich": ""}, Plan(skip=["rich"]),
           "a lock file may give no version: an empty text is a state like any other")  # fmt: skip
    _plans(call, {"rich": "14.1.0"}, {"rich": ""}, Plan(change=["rich"]),
           "it was stored, with an empty text for its state")  # fmt: skip
    _plans(call, {"rich": None}, {}, Plan(add=["rich"]),
           "it was not stored; its state now is None")  # fmt: skip
    _plans(call, {"rich": None}, {"rich": None}, Plan(skip=["rich"]),
           "it was stored, with None for its state")  # fmt: skip
    _plans(call, {("docs", "a.md"): "5f2c"}, {("docs", "b.md"): "5f2c"},
           Plan(add=[("docs", "a.md")], remove=[("docs", "b.md")]),
           "a key may be a pair: all of it counts")  # fmt: skip


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


@exercise(
    "10.2",
    function="names_to_embed",
    points=2,
    hints=(
        "Go through `texts` and keep a name if its text and `model` are not what its vector was "
        "made of. A list comprehension is enough.",
        "`made_of.get(name)` is the pair (text, model) of a name's vector, or None where it has "
        "no vector.",
        "`made_of.get(name) != (text, model)` covers all three cases: no vector, another text, "
        "another model.",
    ),
)
def check_names_to_embed(call: Probe) -> None:
    """Take each reason for a new vector alone, both at once, and what needs none."""
    texts, one = {"rich": "Colours"}, ("Colours", "mini")
    call(texts, {"rich": one}, "mini").gives([], because="the vector is of this text and model")
    call(texts, {}, "mini").gives(["rich"], because="it has no vector yet")
    call(texts, {"typer": one}, "mini").gives(
        ["rich"], because="typer's vector is of the same text, but a vector belongs to a name"
    )
    call(texts, {"rich": ("Pictures", "mini")}, "mini").gives(
        ["rich"], because="the vector was made of another text"
    )
    call(texts, {"rich": ("colours ", "mini")}, "mini").gives(
        ["rich"], because="a text with another capital or blank is another text"
    )
    call(texts, {"rich": ("Colours", "mini-2")}, "mini").gives(
        ["rich"], because="the vector was made by another model, mini-2"
    )
    call(texts, {"rich": ("Pictures", "mini-2")}, "mini").gives(
        ["rich"], because="text and model are others; it is one name, and named once"
    )
    call({}, {"rich": one}, "mini").gives([], because="`texts` does not ask for rich")
    call({"typer": "Commands", **texts}, {}, "mini").gives(
        ["typer", "rich"], because="the order is that of `texts`"
    )
    call(
        {**texts, "typer": "Commands"}, {"typer": ("Commands", "mini"), "rich": one}, "mini"
    ).gives([], because="both vectors are good, whatever their order")


@exercise(
    "10.3",
    function="delete_orphans",
    points=3,
    time_limit=TIME_LIMIT,
    library="course_lib.xray.catalogue",
    hints=(
        "One DELETE is enough, and `RETURNING name` after it gives what it deleted. Of the "
        "catalogue it may touch only rows with this language whose name is one of `names`: "
        "`name = ANY(%s)` takes a Python list.",
        "What is in use is kept by `NOT EXISTS (SELECT FROM xray_used AS used WHERE …)`, which "
        "looks for a use of the row that is about to go.",
        "In the brackets of NOT EXISTS both have to agree: `used.language = package.language AND "
        "used.name = package.name`, where `DELETE FROM xray_packages AS package` gives the row "
        "its name. `sorted(name for (name,) in rows)` is the answer.",
    ),
)
def check_delete_orphans(call: Probe) -> None:
    """Drop packages that others use, that nobody uses, and that another language uses."""
    with call.scratch() as db:
        db.execute(TABLES)
        used = [("forecasting", "python", "pillow")]
        _deletes(call, db, ["bleach", "pillow"], ["bleach", "pillow"], used, ["bleach"],
                 "nobody uses bleach, and another project uses pillow")  # fmt: skip
        _deletes(call, db, ["bleach", "lonely"], ["bleach"], [], ["bleach"],
                 "lonely is an orphan too, but was not asked about")  # fmt: skip
        _deletes(call, db, ["rich"], ["rich"], [], ["rich"],
                 "Python's rich was let go, and not Go's", go=["rich"])  # fmt: skip
        _deletes(call, db, ["rich"], ["rich"], [("forecasting", "go", "rich")], ["rich"],
                 "only Go's package of this name is in use", go=["rich"])  # fmt: skip
        _deletes(call, db, ["rich"], [], [], [], "no name was let go")
        _deletes(call, db, ["rich"], ["never seen"], [], [], "the catalogue has no such package")
        _deletes(call, db, ["it's"], ["it's"], [], ["it's"],
                 "names are passed as parameters, whatever is in them")  # fmt: skip
        _deletes(call, db, ["a_b", "A_B", "axb"], ["a_b"], [], ["a_b"],
                 "A_B and axb are other names than a_b")  # fmt: skip
        _deletes(call, db, ["bleach"], {"bleach"}, [], ["bleach"], "names may come as a set")
        db.execute(AS_STORED)
        _deletes(call, db, ["c", "a", "b"], ["b", "c", "a"], [], ["a", "b", "c"],
                 "the names come back sorted; rows have no order", AS_STORED)  # fmt: skip
        _leaves_the_transaction_open(call, db)


Uses = Sequence[tuple[str, str, str]]
"""Project, language and name of packages that are used."""


def _leaves_the_transaction_open(call: Probe, db: Scratch) -> None:
    """Inside a transaction of the caller's, whose rollback takes the deletion back."""
    _fill(db, _catalogued({("python", "a"): None}), [])
    with db.connection.transaction(force_rollback=True):
        call(db.connection, "python", ["a"]).gives(["a"], because="nobody uses it")
    label = "with conn.transaction(force_rollback=True): delete_orphans(conn, 'python', ['a'])"
    left = db.execute(CATALOGUE).fetchall()
    Case(call, label, value=left).holds(
        left == [("python", "a")],
        "after the caller's rollback, a is still in the catalogue",
        got="it is gone for good",
        because="the caller commits or rolls back, and not delete_orphans",
    )


def _deletes(
    call: Probe, db: Scratch, python: Sequence[str], names: Collection[str], uses: Uses,
    expected: list[str], because: str, setting: str = "", go: Sequence[str] = (),
) -> None:  # fmt: skip
    there = [("go", name) for name in go] + [("python", name) for name in python]
    rows = _catalogued(dict.fromkeys(there))
    _fill(db, rows, uses)
    case = call(db.connection, "python", names)
    case.label = _pasted(rows, uses, case.label, setting)
    case.gives(expected, because=because)
    left = [(language, name) for language, name in there if (language, name) not in
            {("python", name) for name in expected}]  # fmt: skip
    found = db.execute(CATALOGUE).fetchall()
    Case(call, f"{case.label}; print(conn.execute({CATALOGUE!r}).fetchall())", value=found).gives(
        sorted(left), because=because
    )


def _catalogued(packages: Mapping[tuple[str, str], Sequence[float] | None]) -> str:
    """Return the statement that puts packages and their vectors into the catalogue."""
    rows = [
        f"('{language}', '{name.replace(chr(39), 2 * chr(39))}', "
        + (f"'mini', '{list(vector)}')" if vector else "NULL, NULL)")
        for (language, name), vector in packages.items()
    ]
    return f"INSERT INTO xray_packages (language, name, model, embedding) VALUES {', '.join(rows)}"


def _used(uses: Uses) -> str:
    """Return the statement that says which packages are used."""
    rows = [
        f"('local', '{project}', '{language}', '{name}', '1.0')" for project, language, name in uses
    ]
    columns = "tenant_id, project, language, name, version"
    return f"INSERT INTO xray_report_packages ({columns}) VALUES {', '.join(rows)}"


def _fill(db: Scratch, catalogued: str, uses: Uses) -> None:
    """Put these rows, and no others, into the tables."""
    db.execute("DELETE FROM xray_report_packages")
    db.execute("DELETE FROM xray_packages")
    db.execute(catalogued)
    if uses:
        db.execute(_used(uses))


def _pasted(catalogued: str, uses: Uses, called: str, setting: str = "") -> str:
    """Return a call with the rows it met, as a line that leaves the lab's tables as they are."""
    statements = [catalogued, *([_used(uses)] if uses else []), *([setting] if setting else [])]
    parts = [
        *(["import numpy as np"] if "np." in called else []),
        "drop_tables(conn)",
        "create_tables(conn)",
        *(f'conn.execute("{statement}")' for statement in statements),
        f"print({called})",
    ]
    return f"with conn.transaction(force_rollback=True): {'; '.join(parts)}"


@exercise(
    "10.4",
    function="nearest_packages",
    points=3,
    time_limit=TIME_LIMIT,
    hints=(
        "Begin with `FROM xray_report_packages AS mine JOIN xray_packages AS package USING "
        "(language, name)`: it gives each package of a project its vector. WHERE then keeps one "
        "project and one language.",
        "`package.embedding <=> %s` is the cosine distance, and `1 - ` it the similarity. Sort by "
        "the distance, then by `mine.name`, and LIMIT what is left: the filter comes first.",
        "Packages without a vector have no distance: `AND package.embedding IS NOT NULL`. Named "
        "placeholders, `%(vector)s`, let one value stand in two places. `fetchall()` gives a list.",
    ),
)
def check_nearest_packages(call: Probe) -> None:
    """Take a package or two at a time, and what is near but not the project's."""
    plain: Vectors = {("python", "plotly"): [1, 1, 0], ("python", "spotipy"): [1, 0, 0]}
    half = 0.5**0.5
    with call.scratch() as db:
        db.execute(TABLES)
        _finds(call, db, {("python", "spotipy"): [3, 0, 0]}, {"spotipy": 1.0},
               "both vectors point the same way, so the cosine is 1")  # fmt: skip
        _finds(call, db, plain, {"spotipy": 1.0, "plotly": half}, "the nearest comes first")
        _finds(call, db, plain, {"spotipy": 1.0}, "one was asked for", k=1)
        _finds(call, db, {("python", "b"): [1, 0, 0], ("python", "a"): [2, 0, 0]},
               {"a": 1.0, "b": 1.0}, "of equal similarity, by name")  # fmt: skip
        _finds(call, db, {("python", name): [1, 0, 0] for name in "abcdef"},
               dict.fromkeys("abcde", 1.0), "without k it is 5")  # fmt: skip
        _finds(call, db, plain, {"plotly": half}, "spotipy is nearer, but another project's: "
               "the filter comes before the choice", theirs=["spotipy"], k=1)  # fmt: skip
        _finds(call, db, {("ruby", "rspotify"): [1, 0, 0], ("python", "plotly"): [1, 1, 0]},
               {"plotly": half}, "rspotify is a package of Ruby", k=1)  # fmt: skip
        _finds(call, db, {("python", "spotipy"): [1, 1, 0], ("ruby", "spotipy"): [1, 0, 0]},
               {"spotipy": half}, "Ruby's spotipy is another, with another vector")  # fmt: skip
        _finds(call, db, {("python", "spotipy"): [1, 0, 0], ("python", "unknown"): None},
               {"spotipy": 1.0}, "unknown has no vector")  # fmt: skip
        _finds(call, db, {("python", "b"): [1, 0, 0], ("python", "a"): [1, 0.05, 0]},
               {"b": 1.0, "a": 0.998752}, "b is nearer; only rounded, they are equal")  # fmt: skip
        _finds(call, db, {("python", "opposite"): [-1, 0, 0]}, {"opposite": -1.0},
               "it is far away, and still the nearest that the project has")  # fmt: skip
        _finds(call, db, plain, {}, "no project has this name", project="nobody's")
        _finds(
            call, db, plain, {}, "Rider-App is another project than rider-app", project="Rider-App"
        )


Vectors = Mapping[tuple[str, str], Sequence[float] | None]
"""Language and name of packages, each with its vector or None."""


def _finds(
    call: Probe, db: Scratch, packages: Vectors, expected: Mapping[str, float], because: str, *,
    theirs: Collection[str] = (), project: str = "rider-app", k: int | None = None,
) -> None:  # fmt: skip
    rows = _catalogued(packages)
    uses = [
        ("others" if name in theirs else "rider-app", language, name) for language, name in packages
    ]
    _fill(db, rows, uses)
    vector = np.array([1, 0, 0], dtype=np.float32)
    case = call(db.connection, vector, project, "python", *([] if k is None else [k]))
    case.label = _pasted(rows, uses, case.label)
    if case.error:
        case.gives([*expected.items()], because=because)
    found = case.returns(list)
    is_pairs = all(isinstance(row, tuple | list) and len(row) == 2 for row in found)
    case.holds(is_pairs, "pairs of a name and a similarity")
    names = [row[0] for row in found]
    case.holds(names == list(expected), f"{list(expected)}", got=f"{names}", because=because)
    for name, similarity in found:
        case.holds(
            isinstance(similarity, float) and abs(similarity - expected[name]) < 1e-6,
            f"{name!r} with the similarity {expected[name]:.3f}",
            got=f"{name!r} with {similarity!r}",
            because=f"{because}; the similarity is 1 - the cosine distance",
        )
