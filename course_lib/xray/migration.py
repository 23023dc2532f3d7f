"""Old reports, one JSON value each, move into rows: all of them or none, and first as a rehearsal.

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
    """What a migration moved, or would move.

    `superseded` counts reports whose project and language were scanned since, which is newer than
    they are; `broken` says which reports cannot be understood, and why. With any, nothing moves.
    """

    reports: int = 0
    projects: int = 0
    packages: int = 0
    superseded: int = 0
    broken: tuple[str, ...] = ()
    is_rehearsal: bool = False


def migrate_reports(
    conn: psycopg.Connection[Any], *, tenant: str = "local", dry_run: bool = False
) -> MigrationReport:
    """Move every report of the old table into the new ones, and drop the old table.

    One transaction does all of it. Packages come without vectors, which the next
    scan of a project makes. It compares the project once, because the old checksum was of one file.

    Parameters
    ----------
    conn
        A connection of the tables' owner.
    tenant
        Whose projects these are: the old table knew no tenants.
    dry_run
        Do all of it, and then take it back.

    Returns
    -------
    MigrationReport
        Counts; of zeros where there is no old table.

    Raises
    ------
    DatabaseError
        If another program uses the old table, a report cannot be understood (and it is no
        rehearsal), or the database refuses something. Nothing has changed then.
    """
    with explained(conn), conn.transaction() as transaction:
        conn.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
        if conn.execute("SELECT to_regclass('xray_reports')").fetchone() == (None,):
            return MigrationReport(is_rehearsal=dry_run)
        create_tables(conn)
        report = _run(conn, tenant, dry_run)
        if report.broken and not dry_run:
            raise DatabaseError(
                f"{len(report.broken)} old reports cannot be understood: {report.broken[0]}",
                hint="Nothing was changed. `course xray migrate --dry-run` lists them all.",
            )
        if dry_run:
            raise psycopg.Rollback(transaction)
    return report


def _run(conn: psycopg.Connection[Any], tenant: str, dry_run: bool) -> MigrationReport:
    """Run the statements, and return what the last one tells."""
    try:
        with as_tenant(conn, tenant), conn.cursor(row_factory=tuple_row) as cursor:
            cursor.execute(STATEMENTS.read_bytes())
            while cursor.nextset():
                pass
            [(reports, projects, packages, superseded, broken)] = cursor.fetchall()
    except psycopg.errors.LockNotAvailable as error:
        raise DatabaseError(
            "another program uses the table xray_reports, or those of the packages",
            hint="Nothing was changed. Stop what writes old reports, and migrate again.",
        ) from error
    return MigrationReport(reports, projects, packages, superseded, tuple(broken), dry_run)
