"""Lab 13, packages for a prompt: a lock file, the search among one project's packages, a fallback.

What the learner's query finds in the X-Ray's own tables, in an empty schema, is judged.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
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
from course_lib.teaching.checks.probe import Case, Probe, exercise
from course_lib.teaching.checks.scratch import TIME_LIMIT, Scratch
from course_lib.xray.suggestions import Suggestion, Suggestions
from course_lib.xray.tables import TABLES

NAMES = "Flask_Login flask-login rich Pillow zope.interface my--app A_B importlib-metadata".split()
END = '[metadata]\nlock-version = "2.1"\n'
HASH = 'content-hash = "5f0c"'
MORE = ("optional = true", 'groups = ["dev"]', 'description = "reads [metadata]"')


def _package(name: str, version: str, source: str = "", more: Iterable[str] = ()) -> str:
    """Return a package as a lock file of Poetry has it."""
    lines = ["[[package]]", f'name = "{name}"', f'version = "{version}"', *more]
    text = "".join(f"{line}\n" for line in lines)
    return text + (f'[package.source]\ntype = "{source}"\n' if source else "")


@drawn(80)
def any_poetry_lock(random: Draws) -> Call:
    """Draw packages whose names are alike, of several versions and sources, and an end or none."""
    packages = [
        _package(
            random.choice(NAMES),
            random.choice(("1.2", "1.10", "2.0b1", "2.0")),
            random.choice(("", "", "", "legacy", "directory", "git", "file")),
            random.some(MORE) if random.chance(0.3) else (),
        )
        for _ in range(random.randint(0, 5))
    ]
    versions = ('lock-version = "2.1"', 'lock-version = "1"', HASH, "lock-version = 2")
    version = random.choice(versions)
    end = f"[metadata]\n{version}\n"
    if random.chance(0.2):
        end = random.choice(("", *(f'[metadata]\nlock-version = "{one}.0"\n' for one in (3, 21))))
    return given("".join(packages) + end)


@exercise("13.1", "xray.lock_python:parse_poetry_lock", 3, draws=any_poetry_lock)
def check_parse_poetry_lock(call: Probe) -> None:
    """Begin with one package, then names, versions and sources; then files that are refused."""
    rich, flask = _package("rich", "14.1.0"), _package("Flask_Login", "0.6.3")
    with call.part(1, "names and versions"):
        call.cases(
            ((rich + END,), {"rich": "14.1.0"}, "it has one package"),
            ((rich + flask + END,), {"rich": "14.1.0", "flask-login": "0.6.3"},
             "Flask_Login and flask-login are one name"),
        )  # fmt: skip
    with call.part(1, "sources, versions and an empty file"):
        call.cases(
            ((_package("billing", "0.1.0", "directory") + rich + END,), {"rich": "14.1.0"},
             "billing is in a directory of the project, so it is the project's own; rich stays"),
            ((_package("rich", "14.1.0", "legacy") + END,), {"rich": "14.1.0"},
             "`legacy` is another index of packages: only a directory is the project's own"),
            ((_package("rich", "14.1.0", "git") + END,), {"rich": "14.1.0"},
             "it comes from a repository of others: only a directory is the project's own"),
            ((_package("rich", "14.1.0", "file") + END,), {"rich": "14.1.0"},
             "it comes from one file, such as a wheel: only a directory is the project's own"),
            ((_package("rich", "14.1.0", more=MORE[:2]) + END,), {"rich": "14.1.0"},
             "only a directory is skipped; rich is optional and for development"),
            ((_package("numpy", "1.9.0") + _package("numpy", "1.10.0") + END,),
             {"numpy": "1.10.0"}, "1.10.0 is newer than 1.9.0"),
            ((_package("numpy", "2.0.0") + _package("numpy", "2.0.0b1") + END,),
             {"numpy": "2.0.0"}, "2.0.0 is newer, although it comes first"),
            ((_package("A.b", "2") + _package("a__B", "1") + END,), {"a-b": "2"},
             "A.b and a__B are one name, and 2 is newer"),
            ((END,), {}, "the project has no packages"),
        )  # fmt: skip
    with call.part(1, "files that cannot be trusted"):
        call(rich).raises(
            ValueError,
            because="there is no [metadata], so a part of the file is missing; only [metadata] "
            "without a version is format 1",
        )
        call("").raises(ValueError, because="an empty file has no metadata")
        call(_package("importlib-metadata", "8.7.0", more=MORE[2:])).raises(
            ValueError, because="only a name and a description contain the word metadata"
        )
        call(f'{rich}[metadata]\nlock-version = "3.0"\n').raises(
            ValueError, because="format 3 is not known"
        )
        call(f'{rich}[metadata]\nlock-version = "21.0"\n').raises(
            ValueError, because="format 21 is not known, although it begins with a 2"
        )
        for version, because in (
            ('lock-version = "1.1"', "format 1 is known, with any minor number"),
            ('lock-version = "2.9"', "format 2 is known, with any minor number"),
            ('lock-version = "1"', "format 1 is known, also without a minor number"),
            (HASH, "a file without a version has format 1"),
        ):
            call(f"{rich}[metadata]\n{version}\n").gives({"rich": "14.1.0"}, because=because)


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


CROWD = (
    "INSERT INTO xray_packages (language, name, description, model, embedding) "
    "SELECT 'python', 'p' || n, '', 'mini', '[1,0,0]' "
    "FROM generate_series(1, 300) AS n"
)
TOLD = "UPDATE xray_report_packages SET description = 'ours'"


def _crowded(connection: Any, *args: Any) -> None:
    """Make the tables, some descriptions, and packages that are near and of no project."""
    catalogue(connection, *args)
    connection.execute(f"{TOLD} WHERE name > 'f'")
    connection.execute(CROWD)


@drawn(20, apply=_query, prepare=_crowded, look=_found)
def any_catalogue(random: Draws) -> Call:
    """Draw a catalogue, and a project whose namesakes use other packages."""
    named: dict[str, Any] = {} if random.chance(0.5) else {"k": random.randint(1, 6)}
    if random.chance(0.3):
        named["tenant"] = random.choice(("acme", "local"))
    project = random.choice(("app", "app", "App", "nobody's", "a_p"))
    language = random.choice(("python", "go"))
    vector = random.choice(([1, 0, 0], [0.6, 0.8, 0.1]))
    model = random.choice(("mini", "mini", "mini-2", "mini_2"))
    return given(vector, project, language, model, any_stored(random), **named)


@exercise(
    "13.2", "xray.suggestions:nearest_packages_query", 5,
    time_limit=TIME_LIMIT, draws=any_catalogue,
)  # fmt: skip
def check_nearest_packages(call: Probe) -> None:
    """Test one or two packages, and near packages that are not the project's."""
    plain: Vectors = {("python", "plotly"): [1, 1, 0], ("python", "spotipy"): [1, 0, 0]}
    rspotify: Vectors = {("ruby", "rspotify"): [1, 0, 0], ("python", "plotly"): [1, 1, 0]}
    rubys: Vectors = {("python", "spotipy"): [1, 1, 0], ("ruby", "spotipy"): [1, 0, 0]}
    half = 0.5**0.5
    both = {"spotipy": 1.0, "plotly": half}
    with call.scratch() as db:
        db.execute(TABLES)
        with call.part(2, "similarity, vectors of this model, and none"):
            _finds(call, db, _used({("python", "spotipy"): [3, 0, 0]}), {"spotipy": 1.0},
                   "both vectors have the same direction, so the cosine is 1")  # fmt: skip
            _finds(call, db, _used(plain), both, "the nearest comes first")
            fleet = _used(plain, spotipy="fleet", plotly="fleet")
            _finds(call, db, fleet, both, "the project is fleet", project="fleet")
            _finds(call, db, _used({("python", "spotipy"): [1, 0, 0], ("python", "unknown"): None}),
                   {"spotipy": 1.0}, "unknown has no vector")  # fmt: skip
            _finds(call, db, Stored(plain, _used(plain).uses, others=["spotipy"]), {"plotly": half},
                   "spotipy's vector is from another model, mini-2")  # fmt: skip
            _finds(call, db, _used({("python", "opposite"): [-1, 0, 0]}), {"opposite": -1.0},
                   "it is far away, and still the nearest that the project has")  # fmt: skip
        with call.part(2, "only packages of this project, language and tenant"):
            _finds(call, db, _used(plain, spotipy="others"), {"plotly": half},
                   "spotipy is nearer, but of another project: filter before you choose",
                   k=1)  # fmt: skip
            _finds(call, db, replace(_used(plain), setting=CROWD), both,
                   "300 packages are as near, but the project does not use them")  # fmt: skip
            _finds(call, db, _used(rspotify),
                   {"plotly": half}, "rspotify is a Ruby package", k=1)  # fmt: skip
            _finds(call, db, _used(rubys),
                   {"spotipy": half}, "Ruby's spotipy is another package")  # fmt: skip
            _finds(call, db, _used(plain), {},
                   "no project has this name; a quote in a value is a character like any other",
                   project="nobody's")  # fmt: skip
            _finds(call, db, _used(plain), {}, "Rider-App is another project than rider-app",
                   project="Rider-App")  # fmt: skip
            _finds(call, db, _used(plain), {}, "rider_app is another one: a name is not a pattern",
                   project="rider_app")  # fmt: skip
            theirs = Stored(plain, [Use("rider-app", "python", "plotly"),
                                    Use("rider-app", "python", "spotipy", "acme")])  # fmt: skip
            _finds(call, db, theirs, {"plotly": half},
                   "acme has a project of the same name, but the default of tenant is "
                   "'local'")  # fmt: skip
            _finds(call, db, theirs, {"spotipy": 1.0}, "tenant is acme: take acme's project",
                   tenant="acme")  # fmt: skip
        with call.part(1, "how many, the order of equals, and descriptions"):
            _finds(call, db, _used(plain), {"spotipy": 1.0}, "k is 1", k=1)
            _finds(call, db, _used({("python", "b"): [1, 0, 0], ("python", "a"): [2, 0, 0]}),
                   {"a": 1.0, "b": 1.0}, "of equal similarity, by name")  # fmt: skip
            equals = _used({("python", "a"): [1, 0, 0], ("python", "b"): [1, 0, 0]})
            told = replace(equals, told={"a": "Y", "b": "X"})
            _finds(call, db, told, {"a": 1.0, "b": 1.0},
                   "of equal similarity, by name, whatever the descriptions are")  # fmt: skip
            for setting, says, because in (
                ("", told.told, "the catalogue has a description, the project has none of its own"),
                (TOLD, {"a": "ours"}, "the project's own description comes first, as in COLUMNS"),
            ):
                _finds(call, db, replace(told, setting=setting), {"a": 1.0, "b": 1.0}, because,
                       says=says)  # fmt: skip
            _finds(call, db, _used({("python", name): [1, 0, 0] for name in "abcdef"}),
                   dict.fromkeys("abcde", 1.0), "the default of k is 5")  # fmt: skip
            _finds(call, db, _used({("python", "b"): [1, 0, 0], ("python", "a"): [1, 0.05, 0]}),
                   {"b": 1.0, "a": 0.998752},
                   "b is nearer; only rounded are they equal")  # fmt: skip
            tied = _used({("python", name): [1, 0, 0] for name in "cab"})
            _finds(call, db, replace(tied, setting=AS_STORED), dict.fromkeys("abc", 1.0),
                   "equally similar, so sorted by name; rows have no order")  # fmt: skip


def _used(packages: Vectors, **projects: str) -> Stored:
    """Return rows of packages that rider-app uses, but for those of other projects."""
    uses = [Use(projects.get(name, "rider-app"), language, name) for language, name in packages]
    return Stored(packages, uses)


def _finds(
    call: Probe, db: Scratch, there: Stored, expected: Mapping[str, float], because: str, *,
    project: str = "rider-app", says: Mapping[str, str] | None = None, **others: object,
) -> None:  # fmt: skip
    there.fill(db)
    if there.setting:
        db.execute(there.setting)
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
    for name, version, description, similarity in rows.value:
        if description != (says or {}).get(name, description):
            call.fail(
                called,
                got=f"{name!r} with the description {description!r}",
                expected=f"the description {(says or {})[name]!r}",
                because=because,
            )
        if version != "1.0" or not abs(float(similarity) - expected[name]) < 1e-6:
            call.fail(
                called,
                got=f"{name!r}, version {version!r}, with {similarity!r}",
                expected=f"{name!r}, version '1.0', with the similarity {expected[name]:.3f}",
                because=f"{because}; the similarity is 1 - the cosine distance",
            )


SHOWN = ["name", "version", "description", "similarity"]
"""The columns of what is found."""


ROWS = (("attrs", "25.1.0", "Classes"), ("click", "8.2.1", None), ("rich", "14.1.0", "Colours"))
NEAR = tuple((*row, like) for row, like in zip(ROWS[::-1], (0.5, -0.25, 0.0), strict=True))


MANY = [(f"p{n}", "1.0", None) for n in range(12)]
NEAR_ONES = [(*row, 0.5) for row in MANY]


@drawn(60)
def any_rows(random: Draws) -> Call:
    """Draw nearest rows or none, first rows or none, and a reason."""
    near = random.choice(([], (), random.some(NEAR, 1), random.choice((NEAR[1:2], NEAR_ONES))))
    why = random.choice(("there is no model", "no package has a vector", ""))
    return given(near, random.choice(([], random.some(ROWS, 1), MANY)), why)


@exercise("13.3", "xray.suggestions:choose", 2, draws=any_rows)
def check_choose(call: Probe) -> None:
    """Try nearest packages, none, no packages at all, and both."""
    why = "there is no model"
    near, first = list(NEAR), list(ROWS)
    with call.part(1, "which packages"):
        for args, rows, because in (
            ((near[:1], [], why), near[:1], "there is a nearest package"),
            ((near, [], why), near, "all nearest packages, in their order"),
            (([], first, why), first, "nothing is near, so all of the first by name"),
            ((near[:1], first, why), near[:1], "there is a nearest package, so no other"),
            (([], [], why), [], "the project has no packages"),
        ):
            case, found = _chosen(call, *args)
            case.holds(
                tuple(found.packages) == tuple(Suggestion(*row) for row in rows),
                f"the packages {[row[0] for row in rows]}, a Suggestion for each row",
                got=f"{found.packages}", because=because,
            )  # fmt: skip
    with call.part(1, "when it is a fallback, and a tuple of any length"):
        for args, fallback, because in (
            ((near[:1], [], why), "", "there is a nearest package"),
            ((near[2:], first, why), "", "the first by name are not what is suggested"),
            (([], first, why), why, "the first by name are a fallback"),
            (([], first, "no vectors yet"), "no vectors yet", "the caller says why"),
            (([], [], why), "", "the project has no packages: nothing was replaced"),
        ):
            case, found = _chosen(call, *args)
            case.holds(
                found.fallback == fallback,
                f"the fallback {fallback!r}", got=f"{found.fallback!r}", because=because,
            )  # fmt: skip
        for near_rows, first_rows, because in (
            ((), MANY, "nothing is near, so all of the first, however many"),
            (NEAR_ONES, [], "all nearest packages, however many"),
        ):
            case, found = _chosen(call, near_rows, first_rows, why)
            case.holds(
                isinstance(found.packages, tuple), "packages in a tuple",
                got=f"packages in a {type(found.packages).__name__}",
            )  # fmt: skip
            case.holds(
                [one.name for one in found.packages] == [name for name, *_ in MANY],
                "the packages from p0 to p11",
                got=f"{len(found.packages)} packages", because=because,
            )  # fmt: skip


def _chosen(call: Probe, *args: Any) -> tuple[Case, Suggestions]:
    case = call(*args)
    return case, case.returns(Suggestions)
