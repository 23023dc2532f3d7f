"""The X-Ray's tables with the rows that a call of labs 12 and 13 meets, as statements.

They are the first argument of a call, and it is shown with them in a transaction that is rolled
back, so that it can be pasted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from course_lib.teaching.checks.drawn import Draws
from course_lib.xray.tables import TABLES

__all__ = ["NAMES", "PackageVectors", "any_stored", "catalogue", "pasted", "stored"]

PackageVectors = Mapping[tuple[str, str], Sequence[float] | None]
"""Language and name of packages, each with its vector or None."""

NAMES = (
    "rich", "typer", "a_b", "axb", "A_B", "it's", "plotly", "click", "attrs", "flask", "numpy",
    "httpx", "rich-click", "pillow", "scipy", "Rich",
)  # fmt: skip
PROJECTS = (("local", "app"), ("local", "App"), ("local", "app-2"), ("acme", "app"))


def stored(
    packages: PackageVectors, uses: Iterable[tuple[str, ...]], *more: str,
    others: Collection[str] = (), told: Mapping[str, str] | None = None,
) -> list[str]:  # fmt: skip
    """Return what puts these rows into empty tables, and further statements.

    Parameters
    ----------
    packages
        The catalogue.
    uses
        Which packages are used: tenant, project, language and name.
    more
        Statements that come after it.
    others
        Names of packages whose vectors another model made.
    told
        Descriptions in the catalogue, by name.
    """
    columns = 6 if told or any(packages.values()) else 2
    rows = []
    for (language, name), vector in packages.items():
        made = (vector and ("mini", "mini-2")[name in others], vector and str(list(vector)))
        rows.append((language, name, (told or {}).get(name), None, *made)[:columns])
    used = [(*use, "1.0") for use in uses]
    tables: dict[str, Any] = {"xray_packages": rows, "xray_report_packages": used}
    texts = {table: ", ".join(map(_row, rows)) for table, rows in tables.items() if rows}
    return [*(f"INSERT INTO {table} VALUES {rows}" for table, rows in texts.items()), *more]


def _row(values: Iterable[str | None]) -> str:
    texts = ("NULL" if one is None else "'" + one.replace("'", "''") + "'" for one in values)
    return f"({', '.join(texts)})"


def catalogue(connection: Any, statements: Sequence[str], *_: Any) -> None:
    """Make the X-Ray's tables with these rows, without the one for checksums."""
    connection.execute(re.sub(r"CREATE TABLE xray_checksums.*?;\n", "", TABLES, flags=re.DOTALL))
    # An index, or a join in its order, would put rows in order for who does not ask for one.
    connection.execute("SET enable_indexscan = off; SET enable_bitmapscan = off")
    connection.execute("SET enable_indexonlyscan = off; SET enable_mergejoin = off")
    for statement in statements:
        connection.execute(statement)


def pasted(statements: Sequence[str], *calls: str) -> str:
    """Return lines that make calls with these rows and leave the lab's tables alone."""
    return "\n    ".join([
        "with conn.transaction(force_rollback=True):",
        *(["import numpy as np"] if "np." in calls[0] else []),
        "drop_tables(conn)", "create_tables(conn)",
        *(f"conn.execute({statement!r})" for statement in statements),
        *(f"print(conn.execute({call}).fetchall())" for call in calls),
    ])  # fmt: skip


def any_stored(random: Draws) -> list[str]:
    """Draw packages with vectors of two models or none, and which projects use them."""
    packages = [(one, name) for one in ("python", "go") for name in random.some(NAMES, 6)]
    random.shuffle(packages)
    share = random.choice((0.4, 1.0))
    used = [package for package in packages if random.chance(share)]
    uses = [(*user, *package) for package in used for user in random.some(PROJECTS, 1)]
    vectors = ([1, 0, 0], [1, 1, 0], [-1, 0, 2], [3, 0.1, 0])
    held = {one: random.choice((*vectors, *vectors, None)) for one in packages}
    told = {name: f"about {name}" for name in random.some(NAMES)}
    return stored(held, uses, others=random.sample(NAMES, 3), told=told)
