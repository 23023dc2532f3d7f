"""The syncs of lab 12: what carries out a plan, and two syncs that meet on purpose.

The learner's functions decide what is planned, encoded and deleted. This does the rest: it writes
the lists, and lets one sync run in the middle of another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import sleep
from typing import TYPE_CHECKING, Any, NamedTuple

import psycopg

from course_lib.teaching.lab.figures.base import INK, PAPER, Figure, picture
from course_lib.xray import create_tables, drop_tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from course_lib.indexing.plan import Plan
    from course_lib.teaching.lab.session import Lab

ADD = "INSERT INTO xray_packages (language, name) VALUES ('python', %s) ON CONFLICT DO NOTHING"
USE = """
    INSERT INTO xray_report_packages (tenant_id, project, language, name, version)
    VALUES ('local', %s, 'python', %s, %s)
    ON CONFLICT (tenant_id, project, language, name) DO UPDATE SET version = excluded.version"""
KNOWN = """
    SELECT name, embedded_text, model FROM xray_packages
    WHERE language = 'python' AND model IS NOT NULL"""
STORE = """
    UPDATE xray_packages SET embedded_text = %s, model = %s, embedding = %s
    WHERE language = 'python' AND name = %s"""
REMOVE = "DELETE FROM xray_report_packages WHERE project = %s AND name = ANY(%s)"

Packages = Mapping[str, str]
"""Name → version, or another text about the package."""

Needed = Callable[[Packages, Mapping[str, tuple[str, str]], str], Sequence[str]]

Events = list[tuple[str, str]]
"""The project of a sync, and what it did, in the order in which it happened."""


class Run(NamedTuple):
    """Two syncs that met.

    Attributes
    ----------
    events
        What they did.
    states
        What was committed about the package `shared`, at the beginning and after each event.
    together
        Whether both began at the same time.
    """

    events: Events
    states: list[str]
    together: bool = False


Sync = Callable[[psycopg.Connection[Any], str, Packages, Events], Iterator[None]]
Lists = tuple[Mapping[str, Packages], tuple[str, Packages], tuple[str, Packages]]

CASES: Mapping[str, Lists] = {
    "both stop": (
        {"app": {"shared": "1", "mine": "1"}, "jobs": {"shared": "1", "yours": "1"}},
        ("app", {"mine": "1"}),
        ("jobs", {"yours": "1"}),
    ),
    "jobs starts, app stops": (
        {"app": {"shared": "1"}},
        ("jobs", {"shared": "1"}),
        ("app", {"mine": "1"}),
    ),
}
"""Case → the lists before, the sync that begins, and the other one."""

WELL, WRONG = ("#d9efe6", ""), ("#f3c9ab", "////")
OPEN, STEP, WAIT = ("#cfe2f0", ""), (PAPER, ""), ("#cfe2f0", "////")
"""The colour of a box, and its hatch."""


def carry_out(
    conn: psycopg.Connection[Any], project: str, plan: Plan[str], packages: Packages
) -> None:
    """Add, change and remove rows of a project's list as the plan says."""
    with conn.cursor() as cursor:
        cursor.executemany(ADD, [[name] for name in plan.add])
        changed = [*plan.add, *plan.change]
        cursor.executemany(USE, [[project, name, packages[name]] for name in changed])
        cursor.execute(REMOVE, [project, plan.remove])


def stored(conn: psycopg.Connection[Any], project: str) -> dict[str, str]:
    """Return a project's list: name → version."""
    query = "SELECT name, version FROM xray_report_packages WHERE project = %s"
    return dict(conn.execute(query, [project]).fetchall())


def embed(lab: Lab, texts: Packages, needed: Needed) -> int:
    """Encode and store the texts of the names that `needed` returns; return how many these are."""
    model = lab.embedder.model_name
    with lab.connect() as conn:
        made_of = {name: (text, by) for name, text, by in conn.execute(KNOWN)}
        names = needed(texts, made_of, model)
        vectors = lab.encode([texts[name] for name in names])
        for name, vector in zip(names, vectors, strict=True):
            conn.execute(STORE, [texts[name], model, vector, name])
    return len(names)


def meet(
    lab: Lab,
    sync: Sync,
    cases: Mapping[str, Lists],
    steps: int,
    *,
    foreign_key: bool = False,
) -> dict[str, Run]:
    """Do so many steps of the first sync, then all of the other, then the rest of the first.

    Without `foreign_key`, a list may name a package that is not in the catalogue.

    Returns
    -------
    dict
        What happened in each case; its key names the case and what is wrong at the end.
    """
    runs = {}
    for case, (lists, first, second) in cases.items():
        _begin(lab, sync, lists, foreign_key)
        run = Run([], [_state(lab)])
        with lab.connect() as one, lab.connect() as other:  # each has its own transaction
            begun, inside = sync(one, *first, run.events), sync(other, *second, run.events)
            for each in [begun] * steps + [inside] * 3 + [begun] * (3 - steps):
                next(each)
                run.states.append(_state(lab))
        runs[f"{case}: {_wrong(lab)}"] = run
    return runs


def at_once(lab: Lab, sync: Sync, cases: Mapping[str, Lists]) -> dict[str, Run]:
    """Run both syncs of each case in two threads; returns the same as `meet`."""
    runs = {}
    for case, (lists, *both) in cases.items():
        _begin(lab, sync, lists)
        met = Run([], [_state(lab)], together=True)

        def run(project: str, packages: Packages, met: Run = met) -> None:
            with lab.connect() as conn:
                for _ in sync(conn, project, packages, met.events):
                    met.states.append(_state(lab))
                    sleep(0.1)

        with ThreadPoolExecutor() as pool:
            list(pool.map(run, *zip(*both, strict=True)))
        runs[f"{case}: {_wrong(lab)}"] = met
    return runs


def over_time(runs: Mapping[str, Run]) -> Figure:
    """Draw the steps of both transactions of each case, and what is committed about `shared`.

    Parameters
    ----------
    runs
        What `meet` or `at_once` returned.
    """
    from matplotlib.figure import Figure as Chart

    figure = Chart(figsize=(8, 2.1 * len(runs)), layout="constrained", facecolor=PAPER)
    told = []
    panels = figure.subplots(len(runs), 1, squeeze=False)[:, 0]
    for axes, (title, run) in zip(panels, runs.items(), strict=True):
        rows = list(dict.fromkeys(who for who, _ in run.events))
        for row, who in enumerate(rows):
            steps = [at for at, (whose, _) in enumerate(run.events) if whose == who]
            if run.together and steps[0]:
                _box(axes, row, 0, steps[0], "waits for the lock", WAIT)
            _box(axes, row, steps[0], steps[-1] + 1, "", OPEN)
            for at, following in zip(steps, [*steps[1:], steps[-1] + 1], strict=True):
                _box(axes, row, at + 0.05, at + 0.95, run.events[at][1].replace(" ", "\n"), STEP)
                if following > at + 1:
                    axes.text((at + 1 + following) / 2, row, "its transaction is open", **CENTRE)
        begins = [at for at, one in enumerate(run.states) if at == 0 or one != run.states[at - 1]]
        for at, end in zip(begins, [*begins[1:], len(run.states)], strict=True):
            bad = run.states[at] in ("an orphan", "lost")
            _box(axes, len(rows), at - 0.5, end - 0.5, run.states[at], WRONG if bad else WELL)
        axes.set(xlim=(-0.5, len(run.states) - 0.5), ylim=(len(rows) + 0.5, -0.5), xticks=[])
        axes.set_yticks(range(len(rows) + 1), [*rows, "shared,\nas committed"])
        axes.spines[["top", "right", "bottom"]].set_visible(False)
        axes.set_title(title, loc="left", weight="bold", size=11)
        done = ", ".join(f"{who} {what}" for who, what in run.events)
        told.append(f"{title}. {done}. shared, as committed: {', '.join(run.states)}.")
    axes.set_xlabel("time →")
    return picture(figure, " ".join(told))


CENTRE: Mapping[str, Any] = {"ha": "center", "va": "center", "size": 9, "color": INK}


def _box(axes: Axes, row: int, start: float, end: float, text: str, look: tuple[str, str]) -> None:
    """Draw a box of a row, with a text in it."""
    colour, hatch = look
    axes.barh(row, end - start, left=start, height=0.75, color=colour, hatch=hatch,
              edgecolor="#8a8a8a", linewidth=0.8)  # fmt: skip
    back = {"bbox": {"color": PAPER, "pad": 1}} if hatch else {}
    axes.text((start + end) / 2, row, text, **CENTRE, **back)


def _state(lab: Lab) -> str:
    """Return what is committed about the package `shared`."""
    with lab.connect() as conn:
        users = [
            project
            for (project,) in conn.execute(
                "SELECT project FROM xray_report_packages WHERE name = 'shared' ORDER BY 1"
            )
        ]
        there = conn.execute("SELECT FROM xray_packages WHERE name = 'shared'").rowcount
    if users and there:
        return f"used by {' and '.join(users)}"
    return "lost" if users else "an orphan" if there else "deleted"


def _begin(lab: Lab, sync: Sync, lists: Mapping[str, Packages], foreign_key: bool = False) -> None:
    """Create the tables, with the foreign key or without, and fill the lists."""
    with lab.connect(autocommit=True) as conn:
        drop_tables(conn)
        create_tables(conn)
        if not foreign_key:
            conn.execute(
                "ALTER TABLE xray_report_packages DROP CONSTRAINT xray_report_packages_in_catalogue"
            )
    for project, packages in lists.items():
        with lab.connect() as own:
            list(sync(own, project, packages, []))


def _wrong(lab: Lab) -> str:
    """Return which packages are lost, and which are orphans."""
    with lab.connect() as conn:
        used = {name for (name,) in conn.execute("SELECT name FROM xray_used")}
        there = {name for (name,) in conn.execute("SELECT name FROM xray_packages")}
    wrong = [f"{name} is lost" for name in sorted(used - there)]
    wrong += [f"{name} is an orphan" for name in sorted(there - used)]
    return ", ".join(wrong) or "all is well"
