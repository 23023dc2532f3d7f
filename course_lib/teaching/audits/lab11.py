"""Lab 11: what is there and what was stored, vectors that are still good, and a catalogue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from course_lib.teaching.audits import Call, audit, call
from course_lib.teaching.audits.draws import Draws, chance, some


def _plan(function: Callable[..., Any], *args: Any) -> Any:
    """Return the lists of a plan, each in one order."""
    plan = function(*args)
    lists = {name: getattr(plan, name) for name in ("skip", "add", "change", "remove")}
    return [type(plan).__name__, {name: sorted(keys, key=repr) for name, keys in lists.items()}]


@audit("11.1", count=150, apply=_plan)
def make_plan(random: Draws) -> Call:
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
    return call(*({key: random.choice(few) for key in some(random, keys)} for _ in range(2)))


@audit("11.2", count=80)
def names_to_embed(random: Draws) -> Call:
    """Draw names with texts and models that are at times others than those of their vectors."""
    texts = ("Colours", "colours ", "Commands")
    files = ("rich", "typer", "httpx", "Rich")
    asked = {name: random.choice(texts) for name in some(random, files)}
    made_of = {
        name: (
            random.choice((asked.get(name, "Colours"), *texts)),
            random.choice(("mini", "mini-2")),
        )
        for name in some(random, files)
    }
    return call(asked, made_of, random.choice(("mini", "mini", "mini-2")))


NAMES = (
    "rich", "typer", "a_b", "axb", "A_B", "it's", "plotly", "click", "attrs", "flask", "numpy",
    "httpx", "bleach", "pillow", "scipy", "tqdm",
)  # fmt: skip
PROJECTS = (("local", "app"), ("local", "App"), ("acme", "app"))


def _catalogue(connection: Any, *args: Any) -> None:
    """Make the X-Ray's tables with the packages and uses at the end of the arguments."""
    from course_lib.xray.tables import TABLES

    packages, uses = args[-1]
    connection.execute(TABLES)
    # An index, or a join in its order, would put rows in order for who does not ask for one.
    connection.execute("SET enable_indexscan = off; SET enable_bitmapscan = off")
    connection.execute("SET enable_indexonlyscan = off; SET enable_mergejoin = off")
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO xray_packages (language, name, model, embedding) VALUES (%s, %s, %s, %s)",
            packages,
        )
        cursor.executemany(
            "INSERT INTO xray_report_packages (tenant_id, project, language, name, version) "
            "VALUES (%s, %s, %s, %s, '1.0')",
            uses,
        )


def _stored(random: Draws) -> tuple[list[Any], list[Any]]:
    """Return packages with vectors of two models or none, and which projects use them."""
    packages: list[Any] = []
    uses: list[Any] = []
    share = random.choice((0.4, 1.0))
    for language in ("python", "go"):
        for name in some(random, NAMES, 6):
            model = random.choice(("mini", "mini", "mini", "mini", "mini-2", None))
            vector = str(random.choice(([1, 0, 0], [1, 1, 0], [-1, 0, 2], [3, 0.1, 0])))
            packages.append([language, name, model, vector if model else None])
            for tenant, project in some(random, PROJECTS, 1):
                uses += [[tenant, project, language, name]] if chance(random, share) else []
    random.shuffle(packages)
    return packages, uses


def _deleted(
    function: Callable[..., Any], connection: Any, language: str, names: Any, is_kept: bool, _: Any
) -> Any:
    """Delete, in a transaction that is rolled back where `is_kept`."""
    with connection.transaction(force_rollback=is_kept):
        return function(connection, language, names)


def _left(connection: Any, value: Any, *_: Any) -> Any:
    """Return what the call returned, and the names that the catalogue still holds."""
    asked = "SELECT language, name FROM xray_packages ORDER BY 1, 2"
    return [value, connection.execute(asked).fetchall()]


@audit(
    "11.3", count=10, needs="database", takes_connection=True,
    apply=_deleted, prepare=_catalogue, look=_left,
)  # fmt: skip
def delete_orphans(random: Draws) -> Call:
    """Draw a catalogue, and names of which some are used, by others or in another language."""
    packages, uses = _stored(random)
    names = some(random, sorted({package[1] for package in packages} | {"never seen"}))
    asked = random.choice((names, set(names)))
    return call(random.choice(("python", "go")), asked, chance(random, 0.2), [packages, uses])


def _query(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """Call the function without the stored rows."""
    return function(*args[:-1], **named)


def _found(connection: Any, value: Any, *_: Any) -> Any:
    """Run the query with its values, and return its columns and rows."""
    query, values = value["tuple"]
    cursor = connection.execute(query.encode(), {name: _plain(one) for name, one in values["dict"]})
    return [[column.name for column in cursor.description], cursor.fetchall()]


def _plain(value: Any) -> Any:
    """Return a value of a query; a vector as text."""
    if isinstance(value, dict):
        value = value.get("array", value.get("tuple"))
    return str(value) if isinstance(value, list) else value


@audit("11.4", count=20, needs="database", apply=_query, prepare=_catalogue, look=_found)
def nearest_packages_query(random: Draws) -> Call:
    """Draw a catalogue, and a project whose namesakes use other packages."""
    named: dict[str, Any] = {} if chance(random, 0.5) else {"k": random.randint(1, 6)}
    if chance(random, 0.3):
        named["tenant"] = random.choice(("acme", "local"))
    project = random.choice(("app", "app", "App", "nobody's"))
    language = random.choice(("python", "go"))
    vector = random.choice(([1, 0, 0], [0.6, 0.8, 0.1]))
    return call(
        vector,
        project,
        language,
        random.choice(("mini", "mini", "mini-2")),
        _stored(random),
        **named,
    )
