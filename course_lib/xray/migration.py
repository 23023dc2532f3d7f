"""Old reports, one JSON value each, move into rows: all of them or none, and first as a rehearsal.

`xray_reports` held the libraries of one lock file in a column `payload`, where nothing could refer
to them. They become rows of `xray_report_packages` and of the catalogue; the old table goes.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, LiteralString

import psycopg
from packaging.utils import canonicalize_name
from psycopg.rows import tuple_row

from course_lib.errors import DatabaseError
from course_lib.store.tenancy import as_tenant
from course_lib.xray.descriptions import clean
from course_lib.xray.packages import newest
from course_lib.xray.syncing import stored_checksums, sync_packages
from course_lib.xray.tables import create_tables, explained

OLD_TABLE: LiteralString = """
CREATE TABLE xray_reports (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project       text NOT NULL,
    language      text NOT NULL,
    payload       jsonb NOT NULL,
    file_checksum text NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now()
)
"""
"""The old table. A payload is ``{"libs": [{"name": …, "version": …, "description": …}, …]}``."""

_ALIASES = {"typescript": "javascript", "golang": "go"}


@dataclass(frozen=True, slots=True)
class MigrationReport:
    """What a migration moved, or would move.

    `superseded` counts reports whose project and language were scanned since, which is newer than
    they are; `broken` says which reports cannot be understood, and why. With any, nothing moves.
    """

    reports: int = 0
    projects: int = 0
    packages: int = 0
    superseded: int = 0
    broken: tuple[str, ...] = field(default=())
    is_rehearsal: bool = False

    def to_json(self) -> str:
        """Return the report as a JSON object."""
        return json.dumps(asdict(self), ensure_ascii=False)


def migrate_reports(
    conn: psycopg.Connection[Any], *, tenant: str = "local", dry_run: bool = False
) -> MigrationReport:
    """Move every report of the old table into the new ones, and drop the old table.

    One transaction does all of it. Packages come without vectors, which `backfill` makes; the next
    scan of a project compares it once, because the old checksum was of one file.

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
        If somebody uses the old table, a report cannot be understood (and it is no rehearsal), or
        the database refuses something. Nothing has changed then.
    """
    with explained(conn), conn.transaction() as transaction:
        conn.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
        if not _is_there(conn):
            return MigrationReport(is_rehearsal=dry_run)
        _lock(conn)
        report = _move(conn, tenant, dry_run)
        if report.broken and not dry_run:
            raise DatabaseError(
                f"{len(report.broken)} old reports cannot be understood: {report.broken[0]}",
                hint="Nothing was changed. `course xray migrate --dry-run` lists them all.",
            )
        conn.execute("DROP TABLE xray_reports")
        if dry_run:
            raise psycopg.Rollback(transaction)
    return report


def _is_there(conn: psycopg.Connection[Any]) -> bool:
    row = conn.execute("SELECT to_regclass('xray_reports') IS NOT NULL").fetchone()
    return bool(row and row[0])


def _lock(conn: psycopg.Connection[Any]) -> None:
    """Keep others from writing reports that would be lost; wait for them, but not for ever."""
    row = conn.execute("SELECT current_setting('lock_timeout')").fetchone()
    conn.execute("SET LOCAL lock_timeout = '10s'")
    try:
        conn.execute("LOCK TABLE xray_reports IN ACCESS EXCLUSIVE MODE")
    except psycopg.errors.LockNotAvailable as error:
        raise DatabaseError(
            "another program uses the table xray_reports",
            hint="Nothing was changed. Stop what writes old reports, and migrate again.",
        ) from error
    conn.execute("SELECT set_config('lock_timeout', %s, true)", [row[0] if row else "0"])


def _move(conn: psycopg.Connection[Any], tenant: str, dry_run: bool) -> MigrationReport:
    create_tables(conn)
    merged: dict[tuple[str, str], dict[str, tuple[str, str]]] = {}
    broken: list[str] = []
    reports = superseded = 0
    scanned: dict[str, set[str]] = {}
    with conn.cursor("course_xray_reports", row_factory=tuple_row) as cursor:
        cursor.execute("SELECT id, project, language, payload FROM xray_reports ORDER BY id")
        for number, project, language, payload in cursor:
            reports += 1
            language = _ALIASES.get(language.strip().lower(), language.strip().lower())
            if project not in scanned:
                scanned[project] = set(stored_checksums(conn, project, tenant=tenant))
            if language in scanned[project]:
                superseded += 1
                continue
            try:
                if not project.strip() or not language:
                    raise ValueError("it has no project or no language")
                libraries = _read(payload, language)
            except ValueError as error:
                broken.append(f"report {number} of {project!r}, {language!r}: {error}")
                continue
            # A later report of the same project goes before, where the version is the same.
            known = merged.setdefault((project, language), {})
            for name, (version, text) in libraries.items():
                old = known.get(name, (version, text))
                known[name] = (version, text) if newest([version, old[0]]) == version else old
    for (project, language), libraries in sorted(merged.items()):
        packages = {name: version for name, (version, _) in libraries.items()}
        sync_packages(conn, project, language, packages, tenant=tenant)
        _describe(conn, tenant, project, language, libraries)
    return MigrationReport(
        reports=reports,
        projects=len({project for project, _ in merged}),
        packages=sum(map(len, merged.values())),
        superseded=superseded,
        broken=tuple(broken),
        is_rehearsal=dry_run,
    )


def _read(payload: Any, language: str) -> dict[str, tuple[str, str]]:
    """Return name → version and description of an old report's libraries."""
    entries = payload.get("libs") if isinstance(payload, dict) else None
    if not isinstance(entries, list):
        raise ValueError("its payload has no list 'libs'")
    libraries: dict[str, tuple[str, str]] = {}
    for place, entry in enumerate(entries):
        name = entry.get("name") if isinstance(entry, dict) else None
        version = (entry.get("version") or "") if name else None
        if not isinstance(name, str) or not name.strip() or not isinstance(version, str):
            raise ValueError(f"library {place} has no name, or a version that is no text")
        name = canonicalize_name(name.strip()) if language == "python" else name.strip()
        libraries[name] = (version.strip(), clean(entry.get("description")))
    return libraries


def _describe(
    conn: psycopg.Connection[Any],
    tenant: str,
    project: str,
    language: str,
    libraries: dict[str, tuple[str, str]],
) -> None:
    """Store the descriptions of old reports, where the catalogue has none of its own."""
    told = {name: text for name, (_, text) in libraries.items() if text}
    columns = [list(told), list(told.values())]
    with as_tenant(conn, tenant):
        conn.execute(
            "UPDATE xray_report_packages AS mine SET description = new.description "
            "FROM unnest(%s::text[], %s::text[]) AS new (name, description) "
            "WHERE (mine.tenant_id, mine.project, mine.language) = (%s, %s, %s) "
            "AND mine.name = new.name",
            [*columns, tenant, project, language],
        )
        conn.execute(
            "UPDATE xray_packages AS package SET description = new.description "
            "FROM unnest(%s::text[], %s::text[]) AS new (name, description) "
            "WHERE package.language = %s AND package.name = new.name "
            "AND package.description IS NULL",
            [*columns, language],
        )
