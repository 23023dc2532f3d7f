"""The X-Ray's tables with the rows that a call of labs 12 and 13 meets.

A failed call is shown with these rows, in a transaction that is rolled back, so that it can be
pasted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from course_lib.teaching.checks.drawn import Draws
from course_lib.teaching.checks.scratch import Scratch
from course_lib.xray.tables import TABLES

AS_STORED = "SET enable_indexscan = off"
"""Rows come in the order in which they were written, which an index would hide."""

Vectors = Mapping[tuple[str, str], Sequence[float] | None]
"""Language and name of packages, each with its vector or None."""


class Use(NamedTuple):
    """A package that a project uses."""

    project: str
    language: str
    name: str
    tenant: str = "local"


@dataclass(frozen=True)
class Stored:
    """Rows of the tables that a call meets.

    Attributes
    ----------
    packages
        The catalogue.
    uses
        Which packages are used.
    setting
        A statement that holds for the session.
    others
        Names of packages whose vectors another model made.
    told
        Descriptions of packages, by their names.
    """

    packages: Vectors
    uses: Sequence[Use] = ()
    setting: str = ""
    others: Collection[str] = ()
    told: Mapping[str, str] = field(default_factory=dict)

    def statements(self) -> list[str]:
        """Return what puts these rows into empty tables."""
        rows = ", ".join(
            f"({_quoted(language)}, {_quoted(name)}, {_quoted(self.told.get(name, ''))}, "
            + (f"'{'mini-2' if name in self.others else 'mini'}', '{list(vector)}')"
               if vector else "NULL, NULL)")
            for (language, name), vector in self.packages.items()
        )  # fmt: skip
        columns = "language, name, description, model, embedding"
        found = [f"INSERT INTO xray_packages ({columns}) VALUES {rows}"]
        if self.uses:
            columns = "project, language, name, tenant_id, version"
            rows = ", ".join(f"({', '.join(map(_quoted, use))}, '1.0')" for use in self.uses)
            found.append(f"INSERT INTO xray_report_packages ({columns}) VALUES {rows}")
        return found

    def fill(self, db: Scratch) -> None:
        """Put these rows, and no others, into the tables."""
        # After a DELETE, new rows may take the places of old ones, in any order.
        db.execute("TRUNCATE xray_report_packages, xray_packages")
        for statement in self.statements():
            db.execute(statement)

    def pasted(self, called: str, before: str = "") -> str:
        """Return a line that makes a call with these rows and leaves the lab's tables alone.

        Of two calls, only what the second returns is printed.
        """
        statements = [*self.statements(), *([self.setting] if self.setting else [])]
        parts = [
            *(["import numpy as np"] if "np." in called else []),
            "drop_tables(conn)",
            "create_tables(conn)",
            *(f'conn.execute("{statement}")' for statement in statements),
            *([before] if before else []),
            f"print({called})",
        ]
        return f"with conn.transaction(force_rollback=True): {'; '.join(parts)}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


NAMES = (
    "rich", "typer", "a_b", "axb", "A_B", "it's", "plotly", "click", "attrs", "flask", "numpy",
    "httpx", "bleach", "pillow", "scipy", "tqdm",
)  # fmt: skip


PROJECTS = (("local", "app"), ("local", "App"), ("acme", "app"))


def catalogue(connection: Any, *args: Any) -> None:
    """Make the X-Ray's tables with the rows at the end of the arguments."""
    connection.execute(TABLES)
    # An index, or a join in its order, would put rows in order for who does not ask for one.
    connection.execute("SET enable_indexscan = off; SET enable_bitmapscan = off")
    connection.execute("SET enable_indexonlyscan = off; SET enable_mergejoin = off")
    for statement in args[-1].statements():
        connection.execute(statement)


def any_stored(random: Draws) -> Stored:
    """Draw packages with vectors of two models or none, and which projects use them."""
    packages = [(one, name) for one in ("python", "go") for name in random.some(NAMES, 6)]
    random.shuffle(packages)
    share = random.choice((0.4, 1.0))
    uses = [
        Use(project, *package, tenant)
        for package in packages
        for tenant, project in random.some(PROJECTS, 1)
        if random.chance(share)
    ]
    vectors = ([1, 0, 0], [1, 1, 0], [-1, 0, 2], [3, 0.1, 0])
    held = {one: random.choice((*vectors, *vectors, None)) for one in packages}
    return Stored(held, uses, others=random.sample(NAMES, 3))
