"""The syncs of lab 12: what carries out a plan, and two syncs that meet on purpose.

The learner's functions decide what is planned, encoded and deleted. This does the rest: it writes
the lists, and lets one sync run in the middle of another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import sleep
from typing import TYPE_CHECKING, Any

import psycopg

from course_lib.xray import create_tables, drop_tables

if TYPE_CHECKING:
    import pandas as pd

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

Sync = Callable[[psycopg.Connection[Any], str, Packages, Events], Iterator[None]]
Lists = tuple[Mapping[str, Packages], tuple[str, Packages], tuple[str, Packages]]
"""The lists before, the sync that begins, and the other one."""


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
    lab: Lab, sync: Sync, cases: Mapping[str, Lists], steps: int, *, foreign_key: bool = False
) -> dict[str, Events]:
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
        events: Events = []
        with lab.connect() as one, lab.connect() as other:  # each has its own transaction
            begun, inside = sync(one, *first, events), sync(other, *second, events)
            for each in [begun] * steps + [inside] * 3 + [begun] * (3 - steps):
                next(each)
        runs[f"{case}: {_wrong(lab)}"] = events
    return runs


def at_once(lab: Lab, sync: Sync, cases: Mapping[str, Lists]) -> dict[str, Events]:
    """Run both syncs of each case in two threads; returns the same as `meet`."""
    runs = {}
    for case, (lists, *both) in cases.items():
        _begin(lab, sync, lists)
        events: Events = []

        def run(project: str, packages: Packages, events: Events = events) -> None:
            with lab.connect() as conn:
                for _ in sync(conn, project, packages, events):
                    sleep(0.1)

        with ThreadPoolExecutor() as pool:
            list(pool.map(run, *zip(*both, strict=True)))
        runs[f"{case}: {_wrong(lab)}"] = events
    return runs


def in_order(runs: Mapping[str, Events]) -> pd.DataFrame:
    """Return a row for each transaction and a column for each step of what `meet` returns."""
    import pandas as pd

    return pd.concat(
        {
            title: pd.DataFrame({place: {who: what} for place, (who, what) in enumerate(events, 1)})
            for title, events in runs.items()
        }
    ).fillna("")


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
