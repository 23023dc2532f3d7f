"""Lab 13, packages for a prompt: the search among the packages of one project.

What the learner's query finds in the X-Ray's own tables, in an empty schema, is judged.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from course_lib.teaching.checks.drawn import Call, Draws, drawn, given
from course_lib.teaching.checks.package_rows import (
    AS_STORED,
    Stored,
    Use,
    Vectors,
    any_stored,
    catalogue,
)
from course_lib.teaching.checks.probe import Probe, exercise
from course_lib.teaching.checks.scratch import TIME_LIMIT, Scratch
from course_lib.xray.tables import TABLES


def _query(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """Call the function without the stored rows."""
    return function(*args[:-1], **named)


def _found(connection: Any, value: Any, *_: Any) -> Any:
    """Run the query with its values, and return its columns and rows."""
    query, named = value["tuple"]
    values = {json.loads(name): _plain(one) for name, one in named["dict"].items()}
    cursor = connection.execute(query.encode(), values)
    return [[column.name for column in cursor.description], cursor.fetchall()]


def _plain(value: Any) -> Any:
    """Return a value of a query; a vector as text."""
    if isinstance(value, dict):
        value = value.get("array", value.get("tuple"))
    return str(value) if isinstance(value, list) else value


@drawn(20, apply=_query, prepare=catalogue, look=_found)
def any_catalogue(random: Draws) -> Call:
    """Draw a catalogue, and a project whose namesakes use other packages."""
    named: dict[str, Any] = {} if random.chance(0.5) else {"k": random.randint(1, 6)}
    if random.chance(0.3):
        named["tenant"] = random.choice(("acme", "local"))
    project = random.choice(("app", "app", "App", "nobody's"))
    language = random.choice(("python", "go"))
    vector = random.choice(([1, 0, 0], [0.6, 0.8, 0.1]))
    model = random.choice(("mini", "mini", "mini-2"))
    return given(vector, project, language, model, any_stored(random), **named)


@exercise(
    "13.1",
    "xray.suggestions:nearest_packages_query",
    10,
    time_limit=TIME_LIMIT,
    draws=any_catalogue,
)
def check_nearest_packages(call: Probe) -> None:
    """Test one or two packages, and near packages that are not the project's."""
    plain: Vectors = {("python", "plotly"): [1, 1, 0], ("python", "spotipy"): [1, 0, 0]}
    half = 0.5**0.5
    both = {"spotipy": 1.0, "plotly": half}
    with call.scratch() as db:
        db.execute(TABLES)
        _finds(call, db, _used({("python", "spotipy"): [3, 0, 0]}), {"spotipy": 1.0},
               "both vectors have the same direction, so the cosine is 1")  # fmt: skip
        _finds(call, db, _used(plain), both, "the nearest comes first")
        _finds(call, db, _used(plain), {"spotipy": 1.0}, "k is 1", k=1)
        _finds(call, db, _used({("python", "b"): [1, 0, 0], ("python", "a"): [2, 0, 0]}),
               {"a": 1.0, "b": 1.0}, "of equal similarity, by name")  # fmt: skip
        equals = _used({("python", "a"): [1, 0, 0], ("python", "b"): [1, 0, 0]})
        _finds(call, db, replace(equals, told={"a": "Y", "b": "X"}), {"a": 1.0, "b": 1.0},
               "of equal similarity, by name, whatever the descriptions are")  # fmt: skip
        _finds(call, db, _used({("python", name): [1, 0, 0] for name in "abcdef"}),
               dict.fromkeys("abcde", 1.0), "the default of k is 5")  # fmt: skip
        _finds(call, db, _used(plain, spotipy="others"), {"plotly": half},
               "spotipy is nearer, but of another project: filter before you choose",
               k=1)  # fmt: skip
        _finds(call, db, _used({("ruby", "rspotify"): [1, 0, 0], ("python", "plotly"): [1, 1, 0]}),
               {"plotly": half}, "rspotify is a Ruby package", k=1)  # fmt: skip
        _finds(call, db, _used({("python", "spotipy"): [1, 1, 0], ("ruby", "spotipy"): [1, 0, 0]}),
               {"spotipy": half}, "Ruby's spotipy is another package")  # fmt: skip
        _finds(call, db, _used({("python", "spotipy"): [1, 0, 0], ("python", "unknown"): None}),
               {"spotipy": 1.0}, "unknown has no vector")  # fmt: skip
        _finds(call, db, Stored(plain, _used(plain).uses, others=["spotipy"]), {"plotly": half},
               "spotipy's vector is from another model, mini-2")  # fmt: skip
        _finds(call, db, _used({("python", "b"): [1, 0, 0], ("python", "a"): [1, 0.05, 0]}),
               {"b": 1.0, "a": 0.998752}, "b is nearer; only rounded are they equal")  # fmt: skip
        _finds(call, db, _used({("python", "opposite"): [-1, 0, 0]}), {"opposite": -1.0},
               "it is far away, and still the nearest that the project has")  # fmt: skip
        _finds(call, db, _used(plain), {},
               "no project has this name; a quote in a value is a character like any other",
               project="nobody's")  # fmt: skip
        _finds(call, db, _used(plain), {}, "Rider-App is another project than rider-app",
               project="Rider-App")  # fmt: skip
        theirs = Stored(plain, [Use("rider-app", "python", "plotly"),
                                Use("rider-app", "python", "spotipy", "acme")])  # fmt: skip
        _finds(call, db, theirs, {"plotly": half},
               "acme has a project of the same name, but the default of tenant is "
               "'local'")  # fmt: skip
        _finds(call, db, theirs, {"spotipy": 1.0}, "tenant is acme: take acme's project",
               tenant="acme")  # fmt: skip
        db.execute(AS_STORED)
        tied = _used({("python", name): [1, 0, 0] for name in "cab"})
        _finds(call, db, replace(tied, setting=AS_STORED), dict.fromkeys("abc", 1.0),
               "equally similar, so sorted by name; rows have no order")  # fmt: skip


def _used(packages: Vectors, **projects: str) -> Stored:
    """Return rows of packages that rider-app uses, but for those of other projects."""
    uses = [Use(projects.get(name, "rider-app"), language, name) for language, name in packages]
    return Stored(packages, uses)


def _finds(
    call: Probe, db: Scratch, there: Stored, expected: Mapping[str, float], because: str, *,
    project: str = "rider-app", **others: object,
) -> None:  # fmt: skip
    there.fill(db)
    vector = np.array([1, 0, 0], dtype=np.float32)
    case = call(vector, project, "python", "mini", **others)
    called = there.pasted(f"conn.execute(*{case.label}).fetchall()")
    value = case.returns(tuple)
    case.holds(len(value) == 2 and isinstance(value[0], str), "a pair: the query and its values")
    case.holds(
        isinstance(value[1], dict),
        "a dictionary of values, by the names of the placeholders",
        got=f"values in a {type(value[1]).__name__}",
        because="the query's placeholders have names, such as %(k)s",
    )
    rows = db.runs(*value, because=because, called=called)
    columns = [column.name for column in db.connection.execute(*value).description or ()]
    if columns != SHOWN:
        call.fail(called, got=f"the columns {columns}", expected=f"the columns {SHOWN}")
    names = [row[0] for row in rows.value]
    if names != list(expected):
        call.fail(called, got=f"{names}", expected=f"{list(expected)}", because=because)
    for name, version, _, similarity in rows.value:
        if version != "1.0" or not abs(similarity - expected[name]) < 1e-6:
            call.fail(
                called,
                got=f"{name!r}, version {version!r}, with {similarity!r}",
                expected=f"{name!r}, version '1.0', with the similarity {expected[name]:.3f}",
                because=f"{because}; the similarity is 1 - the cosine distance",
            )


SHOWN = ["name", "version", "description", "similarity"]
"""The columns of what is found."""
