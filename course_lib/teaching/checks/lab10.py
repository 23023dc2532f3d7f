"""Lab 10, a fresh index: the plan, what has to be embedded, orphans, and the filtered search.

What the learner's functions do to the X-Ray's own tables, in an empty schema, is judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from course_lib.indexing.plan import Plan
from course_lib.teaching.checks.probe import Case, Probe, exercise
from course_lib.teaching.checks.scratch import Scratch
from course_lib.xray.tables import TABLES

# The first check of a session also makes its database, and starts the server where none runs.
TIME_LIMIT = 20
LISTS = ("skip", "add", "change", "remove")
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
    """Take one key of each kind, all of one kind, nothing, and states that are false."""
    _plans(call, {"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 0, "d": 4},
           Plan(["a"], ["c"], ["b"], ["d"]), "it is the statement's example")  # fmt: skip
    _plans(call, {"a": 1}, {"a": 1}, Plan(skip=["a"]), "nothing has changed")
    _plans(call, {"a": 2}, {"a": 1}, Plan(change=["a"]), "the same key, and another state")
    _plans(call, {"a": "5f2c"}, {"a": "".join(("5f", "2c"))}, Plan(skip=["a"]),
           "the states are equal, if not the same object")  # fmt: skip
    _plans(call, {"a": 1, "b": 1}, {}, Plan(add=["a", "b"]), "nothing was stored")
    _plans(call, {}, {"a": 1, "b": 1}, Plan(remove=["a", "b"]), "nothing is there any more")
    _plans(call, {}, {}, Plan(), "nothing was stored, and nothing is there")
    _plans(call, {"rich": ""}, {"rich": ""}, Plan(skip=["rich"]),
           "a lock file may give no version: an empty text is a state like any other")  # fmt: skip
    _plans(call, {"rich": ""}, {"rich": "14.1.0"}, Plan(change=["rich"]),
           "an empty text is another state than 14.1.0")  # fmt: skip
    _plans(call, {"rich": "14.1.0"}, {"rich": ""}, Plan(change=["rich"]),
           "it was stored, with an empty text for its state")  # fmt: skip
    _plans(call, {("docs", "a.md"): "5f2c"}, {("docs", "b.md"): "5f2c"},
           Plan(add=[("docs", "a.md")], remove=[("docs", "b.md")]),
           "keys are compared with keys, whatever their states")  # fmt: skip


def _plans(
    call: Probe, current: Mapping[Any, Any], stored: Mapping[Any, Any], wanted: Plan[Any],
    because: str,
) -> None:  # fmt: skip
    case = call(current, stored)
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
    """Take each reason for a new vector alone, and then what needs none."""
    texts = {"typer": "Commands", "rich": "Colours"}
    both = {"rich": ("Colours", "mini"), "typer": ("Commands", "mini")}
    call(texts, both, "mini").gives([], because="text and model are those of the vectors")
    call(texts, {}, "mini").gives(["typer", "rich"], because="there are no vectors yet")
    call(texts, {"rich": ("Colours", "mini")}, "mini").gives(
        ["typer"], because="only one of them has a vector"
    )
    call(texts, {**both, "rich": ("Colors", "mini")}, "mini").gives(
        ["rich"], because="the vector was made of another text"
    )
    call(texts, {**both, "typer": ("Commands", "large")}, "mini").gives(
        ["typer"], because="another model's vectors cannot be compared with this one's"
    )
    call({}, both, "mini").gives([], because="what is not asked for needs no vector")
    call({"httpx": "Client"}, both, "mini").gives(
        ["httpx"], because="vectors of others are no matter"
    )
    call({"b": "Colours", "a": "Colours"}, both, "mini").gives(
        ["b", "a"], because="a vector belongs to a name, in the order of `texts`"
    )


@exercise(
    "10.3",
    function="delete_orphans",
    points=3,
    time_limit=TIME_LIMIT,
    library="course_lib.xray.catalogue",
    hints=(
        "One DELETE is enough, and `RETURNING name` behind it gives what it deleted. Of the "
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
        _tables(db)
        _catalogue(db, python=["bleach", "it's", "lonely", "pillow", "rich"], go=["pillow", "rich"])
        _uses(db, "forecasting", "python", "pillow")
        _uses(db, "forecasting", "go", "rich")
        _deletes(call, db, ["bleach", "pillow"], ["bleach"], "another project uses pillow")
        _remain(db, ["it's", "lonely", "pillow", "rich"],
                "lonely is an orphan too, and was not asked about")  # fmt: skip
        _deletes(call, db, [], [], "nothing was dropped")
        _deletes(call, db, ["never seen"], [], "the catalogue has no such package")
        _deletes(call, db, ["it's"], ["it's"], "names travel as parameters, whatever is in them")
        _deletes(call, db, ["rich"], ["rich"],
                 "only the package of this name in Go is in use")  # fmt: skip
        _remain(db, ["lonely", "pillow"], "two are left of Python, and both of Go")
        _deletes(call, db, {"lonely", "pillow"}, ["lonely"], "names may come as a set")
    with call.scratch() as db:
        _tables(db)
        _catalogue(db, python=["a", "b", "c"], go=[])
        _leaves_the_transaction_open(call, db)
        _deletes(call, db, ["c", "a", "b"], ["a", "b", "c"], "nobody uses them; sorted")


def _leaves_the_transaction_open(call: Probe, db: Scratch) -> None:
    """Inside a transaction of the caller's, whose rollback takes the deletion back."""
    with db.connection.transaction(force_rollback=True):
        call(db.connection, "python", ["a"]).gives(["a"], because="nobody uses it")
    _remain(db, ["a", "b", "c"], "its caller rolled back, and only whoever began may commit", go=())


def _tables(db: Scratch) -> None:
    db.execute(TABLES)


def _catalogue(db: Scratch, **names: list[str]) -> None:
    for language, some in names.items():
        db.execute(
            "INSERT INTO xray_packages (language, name) SELECT %s, unnest(%s::text[])",
            [language, some],
        )


def _uses(db: Scratch, project: str, language: str, name: str, version: str = "1.0") -> None:
    db.execute(
        "INSERT INTO xray_report_packages (tenant_id, project, language, name, version) "
        "VALUES ('local', %s, %s, %s, %s)",
        [project, language, name, version],
    )


def _deletes(
    call: Probe, db: Scratch, names: list[str] | set[str], expected: list[str], because: str
) -> None:
    try:
        call(db.connection, "python", names).gives(expected, because=because)
    finally:
        if db.connection.info.transaction_status.name == "INERROR":
            db.connection.rollback()


def _remain(
    db: Scratch, python: list[str], because: str, go: tuple[str, ...] = ("pillow", "rich")
) -> None:
    rows = [("go", name) for name in go] + [("python", name) for name in python]
    db.rows(CATALOGUE).give(rows, because=because)


PACKAGES: dict[tuple[str, str], list[float] | None] = {
    ("python", "spotipy"): [3, 0, 0],
    ("python", "plotly"): [2, 2, 0],
    ("python", "alpha"): [0, 3, 3],
    ("python", "beta"): [0, 1, 1],
    ("python", "unknown"): None,
    ("python", "spotify-of-others"): [9, 0, 0],
    ("ruby", "rspotify"): [1, 0, 0],
    ("ruby", "spotipy"): [5, 0, 0],
}
OURS = ("spotipy", "plotly", "alpha", "beta", "unknown")
SIMILARITIES = {"spotipy": 1.0, "plotly": 0.5**0.5, "alpha": 0.0, "beta": 0.0}


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
    """Ask for a project whose nearest packages are not the nearest of all."""
    with call.scratch() as db:
        _tables(db)
        for (language, name), vector in PACKAGES.items():
            _catalogue(db, **{language: [name]})
            if vector is not None:
                db.execute(
                    "UPDATE xray_packages SET model = 'mini', embedding = %s "
                    "WHERE (language, name) = (%s, %s)",
                    [np.array(vector, dtype=np.float32), language, name],
                )
        for name in OURS:
            _uses(db, "rider-app", "python", name)
        _uses(db, "rider-app", "ruby", "spotipy")
        _uses(db, "rider-app", "ruby", "rspotify")
        _uses(db, "others", "python", "spotify-of-others")
        _uses(db, "others", "python", "plotly", "2.0")
        ask = (db.connection, np.array([1, 0, 0], dtype=np.float32))
        _finds(call(*ask, "rider-app", "python", 1), ["spotipy"],
               "the nearest of all are other projects' and other languages'; and where "
               "there is no vector, there is no distance to sort by")  # fmt: skip
        _finds(call(*ask, "rider-app", "python", 4), ["spotipy", "plotly", "alpha", "beta"],
               "four of its packages have a vector; of equal similarity, by name")  # fmt: skip
        _finds(call(*ask, "rider-app", "python"), ["spotipy", "plotly", "alpha", "beta"],
               "5 is the default, and a package without a vector cannot be compared")  # fmt: skip
        _finds(call(*ask, "rider-app", "python", 2), ["spotipy", "plotly"], "two were asked for")
        _finds(call(*ask, "rider-app", "ruby", 2), ["rspotify", "spotipy"],
               "both point the same way; a name is unique within a language only")  # fmt: skip
        _finds(call(*ask, "others", "python", 3), ["spotify-of-others", "plotly"],
               "a project of two packages has two suggestions")  # fmt: skip
        _finds(call(*ask, "nobody's", "python", 3), [], "a project that was never scanned")


def _finds(case: Case, names: list[str], because: str) -> None:
    rows = case.returns(list)
    is_pairs = all(isinstance(row, tuple | list) and len(row) == 2 for row in rows)
    case.holds(is_pairs, "pairs of a name and a similarity", because=because)
    found = [row[0] for row in rows]
    case.holds(found == names, f"{names}", got=f"{found}", because=because)
    for name, similarity in rows:
        wanted = SIMILARITIES.get(name, 1.0)
        case.holds(
            isinstance(similarity, float) and abs(similarity - wanted) < 1e-6,
            f"{name!r} with the similarity {wanted:.3f}",
            got=f"{name!r} with {similarity!r}",
            because="the similarity is the cosine, which is 1 - the cosine distance",
        )
