"""Lab 13, packages for a prompt: a lock file, the search among one project's packages, a fallback.

What the learner's query finds in the X-Ray's own tables, in an empty schema, is judged.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from course_lib.teaching.checks import package_rows as rows
from course_lib.teaching.checks.definition import Case, Parts, case, exercise, part
from course_lib.teaching.checks.drawn import Call, Draws, call_of, drawn, given
from course_lib.teaching.checks.encoded import kind_of
from course_lib.teaching.checks.statements import TIME_LIMIT

NAMES = "Flask_Login flask-login rich Pillow zope.interface my--app A_B importlib-metadata".split()
END = '[metadata]\nlock-version = "{}"\n'
HASH = '[metadata]\ncontent-hash = "5f0c"\n'
MORE = ("optional = true", 'groups = ["dev"]', 'description = "reads [metadata]"')


def _lock(*packages: str, end: str = END.format("2.1"), more: Iterable[str] = ()) -> str:
    """Return a lock file of Poetry; a package is its name, its version and perhaps its source."""
    lines = []
    for name, version, *source in map(str.split, packages):
        lines += ["[[package]]", f'name = "{name}"', f'version = "{version}"', *more]
        lines += ["[package.source]", f'type = "{source[0]}"'] if source else []
    return "".join(f"{line}\n" for line in lines) + end


@drawn(80)
def any_poetry_lock(random: Draws) -> Call:
    """Draw packages whose names are alike, of several versions and sources, and an end or none."""
    versions = ("1.2", "1.10", "2.0b1", "2.0", "2.0+cpu")
    sources = ("", "", "", "legacy", "directory", "git", "file")
    kinds = (random.choice(versions), random.choice(sources))
    packages = [
        f"{random.choice(NAMES)} {random.choice((*versions, kinds[0]))} {random.choice(sources)}"
        for _ in range(random.randint(0, 5))
    ]
    end = random.choice((END.format("2.1"), END.format(1), HASH, "[metadata]\nlock-version = 2\n"))
    if random.chance(0.2):
        end = random.choice(("", END.format("3.0"), END.format("21.0")))
    return given(_lock(*packages, end=end, more=random.some(MORE) if random.chance(0.3) else ()))


@exercise("13.1", "xray.lock_python:parse_poetry_lock", draws=any_poetry_lock)
def check_parse_poetry_lock() -> Parts:
    """Begin with one package, then names, versions and sources; then files that are refused."""
    rich, no_text = "rich 14.1.0", _lock("importlib-metadata 8.7.0", end="", more=MORE[2:])
    return [
        part(1, "names and versions",
            ((_lock(rich),), "it has one package"),
            ((_lock(rich, "Flask_Login 0.6.3"),), "Flask_Login and flask-login are one name")),
        part(1, "sources, versions and an empty file",
            ((_lock("billing 0.1.0 directory", rich),), "billing's directory is the project's"),
            *(((_lock(f"{rich} {source}"),), f"only a directory is the project's own, not {source}")
              for source in ("legacy", "git", "file")),
            ((_lock(rich, more=MORE[:2]),), "what is optional or for development stays, too"),
            ((_lock("numpy 2.0.0", "numpy 2.0.0b1"),), "2.0.0 is newer, although it comes first"),
            ((_lock("A.b 2", "a__B 1"),), "A.b and a__B are one name, and 2 is newer"),
            ((_lock("torch 2.4.0+cpu"),), "+cpu is a part of the version")),
        part(1, "files that cannot be trusted",
            *(case(text, raises=ValueError, because=why) for text, why in (
                (_lock(rich, end=""), "there is no [metadata]: a part of the file is missing"),
                (no_text, "only a name and a description contain the word metadata"),
                (_lock(rich, end=END.format("3.0")), "format 3 is not known"),
                (_lock(rich, end=END.format("21.0")), "format 21 is not known, and is not 2"),
            )),
            *(((_lock(rich, end=END.format(version)),), f"format {version[0]} is known")
              for version in ("1.1", "2.9", "1")),
            ((_lock(rich, end=HASH),), "a file without a version has format 1")),
    ]  # fmt: skip


def _query(function: Callable[..., Any], _: Any, *args: Any, **named: Any) -> Any:
    """Call the function without the stored rows; a `Vector` among the values becomes an array."""
    found = function(*args, **named)
    values = found[-1] if isinstance(found, tuple) and isinstance(found[-1], dict) else {}
    if own := [name for name, value in values.items() if hasattr(value, "to_numpy")]:
        return (*found[:-1], values | {name: values[name].to_numpy() for name in own})
    return found


UNUSUAL = 97
"""A number that a query holds only where it was written into it."""


def _found(connection: Any, value: Any, *_: Any) -> dict[str, Any]:
    """Run the query with its values, and return its columns and rows."""
    came = value["tuple"] if kind_of(value) == "tuple" else [value]
    kinds = " and ".join(map(kind_of, came))
    if kinds != "str and dict":
        return {"what came": kinds}
    values = {json.loads(name): _plain(one) for name, one in came[1]["dict"].items()}
    cursor = connection.execute(came[0].encode(), values)
    columns = [column.name for column in cursor.description]
    told = {"what came": kinds, "columns": columns, "rows": cursor.fetchall()}
    return {**told, "k is written into the text": str(UNUSUAL) in came[0]}


def _plain(value: Any) -> Any:
    """Return a value of a query, which may be a vector."""
    return np.array(value["ndarray"]["items"], np.float32) if kind_of(value) == "ndarray" else value


def _nearest(statements: Sequence[str], *args: Any, **named: Any) -> str:
    """Return how a call is pasted."""
    return rows.pasted(statements, f"*{call_of('nearest_packages_query', *args, **named)}")


NEAR = "INSERT INTO xray_packages SELECT 'python', 'near' || n, NULL, NULL, 'mini', '[1, 0, 0]' "
NEAR += "FROM generate_series(1, {}) AS n"
USED = "INSERT INTO xray_report_packages SELECT 'local', 'others', language, name, '1.0' "
USED += "FROM xray_packages WHERE name LIKE 'near%1'"
TOLD = "UPDATE xray_report_packages SET description = 'ours'"
SAYS = {
    "list": "the query's placeholders have names, such as %(k)s, and so have its values",
    "str": "return a pair: the query, and a dictionary of its values",
}


@drawn(8, apply=_query, prepare=rows.catalogue, look=_found, paste=_nearest, says=SAYS,
       varies=(1, 2, 3, 4, 5, 6))  # fmt: skip
def any_catalogue(random: Draws) -> Call:
    """Draw a catalogue, and a project whose namesakes use other packages."""
    there = rows.any_stored(random)
    there += random.some((f"{TOLD} WHERE name > 'f'", f"{NEAR.format(300)}; {USED}"))
    vector = np.array(random.choice(([1, 0, 0], [0.6, 0.8, 0.1])), dtype=np.float32)
    project = random.choice(("app", "app", "app", "App", "ap", "app-2", "a_p", "it's"))
    language = random.choice(("python", "python", "go", "it's"))
    model = random.choice(("mini", "mini", "mini-2", "mini_2", "it's"))
    more = (random.choice((1, 2, 3, 6, UNUSUAL)), random.choice(("local", "acme", "it's")))
    return given(there, vector, project, language, model, *more[: random.randrange(3)])


VECTOR = np.array([1, 0, 0], dtype=np.float32)


def _used(
    packages: rows.PackageVectors, *more: str, project: str = "rider-app", **told: Any
) -> list[str]:
    """Return the rows of packages that a project uses."""
    return rows.stored(packages, [("local", project, *one) for one in packages], *more, **told)


def _near(there: list[str], because: str, project: str = "rider-app", **named: Any) -> Case:
    return case(there, VECTOR, project, "python", "mini", because=because, **named)


@exercise("13.2", "xray.suggestions:nearest_packages_query", time_limit=TIME_LIMIT,
          draws=any_catalogue)  # fmt: skip
def check_nearest_packages() -> Parts:
    """Test one or two packages, and near packages that are not the project's."""
    plotly, spotipy, a, b = (("python", name) for name in "plotly spotipy a b".split())
    plain, equals = {plotly: [1, 1, 0], spotipy: [3, 0, 0]}, {b: [1, 0, 0], a: [1, 0, 0]}
    both, told = _used(plain), {"a": "Y", "b": "X"}
    ours = ("local", "rider-app", *plotly)
    theirs = rows.stored(plain, [ours, ("acme", "rider-app", *spotipy)])
    return [
        part(2, "similarity, vectors of this model, and none",
            _near(_used({spotipy: [3, 0, 0]}), "both vectors have the same direction, so the "
                  "cosine is 1; the similarity is 1 - the cosine distance"),
            _near(both, "the nearest comes first; the similarity is 1 - the cosine distance"),
            _near(_used(plain, project="fleet"), "the project is fleet", project="fleet"),
            _near(_used({spotipy: [1, 0, 0], a: None}), "a has no vector"),
            _near(_used(plain, others=["spotipy"]), "spotipy's vector is from the model mini-2"),
            _near(_used({spotipy: [1, 0, 0], a: [-1, 0, 0]}), "a is far away, but the next one")),
        part(2, "only packages of this project, language and tenant",
            _near(rows.stored(plain, [ours, ("local", "others", *spotipy)]),
                  "spotipy is nearer, but of another project: filter before you choose", k=1),
            _near([*_used({plotly: [1, 1, 0]}), NEAR.format(12_000), USED],
                  "12,000 packages are nearer, but the project does not use them"),
            _near(_used({("ruby", "b"): [1, 0, 0], plotly: [1, 1, 0]}), "b is a Ruby package", k=1),
            _near(_used({spotipy: [1, 1, 0], ("ruby", "spotipy"): [1, 0, 0]}),
                  "Ruby's spotipy is another package"),
            case(both, VECTOR, "nobody's", "it's", "mini's", 5, "acme's",
                 because="no project has this name; a quote is a character like any other"),
            *(_near(both, f"{name} is another project than rider-app", project=name)
              for name in ("Rider-App", "rider_app", "rider")),
            _near(theirs, "acme has a rider-app, too, but the default of tenant is 'local'"),
            _near(theirs, "tenant is acme: take acme's project", tenant="acme")),
        part(1, "how many, the order of equals, and descriptions",
            _near(both, "k is 1", k=1),
            _near(both, f"k is a value, too: LIMIT %(k)s, not LIMIT {UNUSUAL}", k=UNUSUAL),
            _near(_used(equals, "SET enable_indexscan = off"), "of equal similarity, by name"),
            _near(_used(equals, told=told), "of equal similarity, by name; descriptions do not "
                  "count, and are the catalogue's, as the project has none of its own"),
            _near(_used(equals, TOLD, told=told), "the project's own description comes first"),
            _near(_used({("python", name): [1, 0, 0] for name in "abcdef"}), "by default, k is 5"),
            _near(_used({b: [1, 0, 0], a: [1, 0.05, 0]}), "b is nearer; rounded, they are equal")),
    ]  # fmt: skip


ROWS = (("attrs", "25.1.0", "Classes"), ("click", "8.2.1", None), ("rich", "14.1.0", "Colours"))
NEAR_ROWS = [(*row, like) for row, like in zip(ROWS[::-1], (0.5, 0.2996, -0.25), strict=True)]
MANY = [(f"p{n}", "1.0", None) for n in range(60)]
MANY_NEAR = [(*row, 0.5) for row in MANY]


@drawn(60, varies=(0, 1, 2, 3))
def any_rows(random: Draws) -> Call:
    """Draw nearest rows or none, first rows or none, a reason, and a similarity or none."""
    some = random.choice((NEAR_ROWS[2:], MANY_NEAR))
    few = sorted(random.some(NEAR_ROWS, 1), key=NEAR_ROWS.index)  # the nearest comes first
    near = random.choice(([], (), few, some))
    why = random.choice(("there is no model", "no package has a vector", ""))
    least = random.choice(((), (-0.25,), (0.0,), (0.25,), (0.5,), (0.75,)))
    return given(near, random.choice(([], random.some(ROWS, 1), MANY)), why, *least)


@exercise("13.3", "xray.suggestions:choose", draws=any_rows)
def check_choose() -> Parts:
    """Try packages near enough and too far away, nothing compared, and no packages at all."""
    why, near, first = "there is no model", NEAR_ROWS, list(ROWS)
    return [
        part(1, "which packages",
            ((near[:1], [], "", 0.3), "there is a near package"),
            ((near[:2], [], "", 0.3), "the second is too far away: 0.2996 is not at least 0.3"),
            ((near[:1], [], "", 0.5), "a package of exactly the least similarity is suggested"),
            ((near[2:], [], ""), "by default, a package counts, however far away it is"),
            ((near, [], "", -1.0), "all that are near enough, in their order"),
            (([], first, "", 0.3), "nothing was compared, so all of the first by name"),
            ((near[:1], first, "", 0.3), "there is a near package, so no other"),
            ((near, first, "", 0.75), "nothing is near enough: suggest nothing"),
            (([], [], "", 0.3), "the project has no packages")),
        part(1, "when it is a fallback, and lists of any length",
            ((near[:1], [], why, 0.3), "there is a nearest package"),
            ((near[1:2], first, why, -0.5), "the first by name are not what is suggested"),
            (([], first, why, 0.3), "the first by name are a fallback"),
            ((near, first, why, 0.75), "nothing is near enough, and that is right"),
            (([], [], why, 0.3), "the project has no packages: nothing was replaced"),
            (((), MANY, why, 0.3), "nothing was compared, so all of the first, however many")),
    ]  # fmt: skip
