"""Old reports, one JSON value each, move into rows: all of them or none.

`migration.sql` does it; here it is run, and what it tells is judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import tuple_row

from course_lib.errors import DatabaseError
from course_lib.records import Report
from course_lib.store.tenancy import as_tenant
from course_lib.xray.tables import create_tables, explained

STATEMENTS = Path(__file__).with_name("migration.sql")


@dataclass(frozen=True, slots=True)
class MigrationReport(Report):
    """What a migration moved.

    `superseded` counts reports whose project and language were scanned since, which is newer than
    they are.
    """

    reports: int = 0
    projects: int = 0
    packages: int = 0
    superseded: int = 0


def migrate_reports(conn: psycopg.Connection[Any], *, tenant: str = "local") -> MigrationReport:
    """Move every report of the old table into the new ones, and drop the old table.

    One transaction does all of it. Packages come without vectors, which the next
    scan of a project makes. It compares the project once, because the old checksum was of one file.

    Parameters
    ----------
    conn
        A connection of the tables' owner.
    tenant
        Whose projects these are: the old table knew no tenants.

    Returns
    -------
    MigrationReport
        Counts; of zeros where there is no old table.

    Raises
    ------
    DatabaseError
        If another program uses the old table, a report cannot be understood, or the database
        refuses something. Nothing has changed then.
    """
    with explained(conn), conn.transaction():
        conn.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
        if conn.execute("SELECT to_regclass('xray_reports')").fetchone() == (None,):
            return MigrationReport()
        create_tables(conn)
        try:
            with as_tenant(conn, tenant), conn.cursor(row_factory=tuple_row) as cursor:
                cursor.execute(STATEMENTS.read_bytes())
                while cursor.nextset():
                    pass
                [(*counts, broken)] = cursor.fetchall()
        except psycopg.errors.LockNotAvailable as error:
            raise DatabaseError(
                "another program uses the table xray_reports, or those of the packages",
                hint="Nothing was changed. Stop what writes old reports, and migrate again.",
            ) from error
        if broken:
            raise DatabaseError(
                f"{len(broken)} old reports cannot be understood: {'; '.join(broken[:10])}",
                hint="Nothing was changed. Correct or delete these rows of xray_reports, and "
                "migrate again.",
            )
    return MigrationReport(*counts)
