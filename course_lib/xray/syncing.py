"""Sync on write: a project's lock files go in, and the tables say what it uses now.

First, in one short transaction for each language, names and versions: planned, added, removed, and
orphans deleted. Then (`describe_and_embed`) what the shared catalogue lacks of the project's
packages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psycopg

from course_lib.embedder import EmbeddingClient
from course_lib.errors import InputError
from course_lib.indexing.plan import make_plan
from course_lib.records import Report
from course_lib.store.tenancy import as_tenant
from course_lib.xray.catalogue import FillReport, delete_orphans, describe_and_embed
from course_lib.xray.descriptions import Describer
from course_lib.xray.packages import Package
from course_lib.xray.scanning import LockFiles
from course_lib.xray.tables import alone_in, create_tables, database_errors_explained, has_tables


@dataclass(frozen=True, slots=True)
class LanguageReport:
    """What a sync did with a project's packages of one language.

    `unchanged` says that the lock files are the ones of last time, so that nothing was compared;
    `orphans` are those of `removed` that left the catalogue, because no other project uses them;
    `broken` says why nothing was changed.
    """

    language: str
    unchanged: bool = False
    skipped: int = 0
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    orphans: tuple[str, ...] = ()
    broken: str = ""


@dataclass(frozen=True, slots=True)
class SyncReport(Report):
    """What a sync of a project did: by language, and what was found out about its packages.

    `not_read` says of which files the project uses packages that are not known.
    """

    project: str
    languages: tuple[LanguageReport, ...]
    filled: FillReport
    not_read: tuple[str, ...] = ()


def sync_project(
    conn: psycopg.Connection[Any],
    project: str,
    files: LockFiles,
    *,
    tenant: str = "local",
    embedder: EmbeddingClient | None = None,
    describer: Describer | None = None,
) -> SyncReport:
    """Make the tables say what a project's lock files say.

    Parameters
    ----------
    conn
        A connection from `connect`; the tables are created if they are missing.
    project
        What the project is called; unique within the tenant.
    files
        All its lock files. A language of which there is none any more is removed; one of which a
        file cannot be read stays as it is.
    tenant
        Whose project it is.
    embedder
        Makes the vectors that the project's packages lack, those that did not change too; without
        one, packages are stored all the same.
    describer
        Knows what packages do; asked for what has no description or another version.

    Raises
    ------
    InputError
        If the project's name is empty, or there is no lock file at all.
    DatabaseError
        If the tables are missing and cannot be created, or the database went away: what was done
        until then is whole and stays.
    """
    languages = files.languages()
    if not languages:
        raise InputError("there is no lock file", hint="Nothing was changed.")
    reports: list[LanguageReport] = []
    changed: set[Package] = set()
    with database_errors_explained(conn):
        create_tables(conn)
        known = stored_checksums(conn, project, tenant=tenant)
        for language in sorted({*languages, *known}):
            checksum = files.checksum(language)
            if known.get(language) == checksum:
                reports.append(LanguageReport(language, unchanged=True))
                continue
            try:
                packages = files.packages(language)
            except InputError as error:
                reports.append(LanguageReport(language, broken=str(error.args[0])))
                continue
            report = sync_packages(
                conn, project, language, packages, checksum=checksum, tenant=tenant
            )
            reports.append(report)
            # What another version does may be something else, so all of those are asked about.
            changed |= {Package(language, name, packages[name]) for name in report.changed}
        filled = describe_and_embed(conn, project, changed, embedder, describer, tenant=tenant)
    return SyncReport(project, tuple(reports), filled, tuple(files.not_read()))


def sync_packages(
    conn: psycopg.Connection[Any],
    project: str,
    language: str,
    packages: Mapping[str, str],
    *,
    checksum: str = "",
    tenant: str = "local",
) -> LanguageReport:
    """Make a project's report of one language hold exactly these packages.

    Parameters
    ----------
    conn
        A connection from `connect` to a database with the tables (`create_tables`).
    project, language, tenant
        Whose packages these are.
    packages
        Name → version. None at all ends the project's report of this language.
    checksum
        Remembered, for `stored_checksums`.

    Returns
    -------
    LanguageReport
        What was added, changed and removed.

    Raises
    ------
    InputError
        If the project's name is empty.

    Notes
    -----
    All of it is one transaction, alone among the writers of the language. Compared outside of it,
    two projects could each find that the other still uses a package that both are about to drop,
    or one could drop from the catalogue what the other has just found there.

    Examples
    --------
    >>> sync_packages(conn, "rider-app", "ruby", {"rails": "8.0.2"}).added       # doctest: +SKIP
    ('rails',)
    """
    if not project.strip():
        raise InputError("the project's name is empty", hint="Pass what it is called.")
    mine = (tenant, project, language)
    with alone_in(conn, language), as_tenant(conn, tenant):
        rows = conn.execute(
            "SELECT name, version FROM xray_report_packages "
            "WHERE (tenant_id, project, language) = (%s, %s, %s)",
            mine,
        ).fetchall()
        stored: dict[str, str] = dict(rows)
        plan = make_plan(packages, stored)
        fresh = [*plan.add, *plan.change]
        conn.execute(
            "INSERT INTO xray_packages (language, name) SELECT %s, unnest(%s::text[]) "
            "ON CONFLICT DO NOTHING",
            [language, plan.add],
        )
        conn.execute(
            """
            INSERT INTO xray_report_packages
                (tenant_id, project, language, name, version, description)
            SELECT %s, %s, %s, new.name, new.version, package.description
            FROM unnest(%s::text[], %s::text[]) AS new (name, version)
            JOIN xray_packages AS package ON (package.language, package.name) = (%s, new.name)
            ON CONFLICT (tenant_id, project, language, name)
            DO UPDATE SET version = excluded.version, updated_at = now()
            """,
            [*mine, fresh, [packages[name] for name in fresh], language],
        )
        conn.execute(
            "DELETE FROM xray_report_packages "
            "WHERE (tenant_id, project, language) = (%s, %s, %s) AND name = ANY(%s)",
            [*mine, plan.remove],
        )
        orphans = delete_orphans(conn, language, plan.remove)
        conn.execute(
            "DELETE FROM xray_checksums WHERE (tenant_id, project, language) = (%s, %s, %s)", mine
        )
        if packages:
            conn.execute(
                "INSERT INTO xray_checksums (tenant_id, project, language, checksum) "
                "VALUES (%s, %s, %s, %s)",
                [*mine, checksum],
            )
    return LanguageReport(
        language,
        skipped=len(plan.skip),
        added=tuple(plan.add),
        changed=tuple(plan.change),
        removed=tuple(plan.remove),
        orphans=tuple(orphans),
    )


def forget_project(
    conn: psycopg.Connection[Any], project: str, *, tenant: str = "local"
) -> list[LanguageReport]:
    """Remove a project with all its packages, and from the catalogue what no other project uses."""
    with database_errors_explained(conn):
        if not has_tables(conn):
            return []
        return [
            sync_packages(conn, project, language, {}, tenant=tenant)
            for language in stored_checksums(conn, project, tenant=tenant)
        ]


def stored_checksums(
    conn: psycopg.Connection[Any], project: str, *, tenant: str = "local"
) -> dict[str, str]:
    """Return language → checksum of the lock files at the last sync, for all it has packages of."""
    with as_tenant(conn, tenant):
        rows = conn.execute(
            "SELECT language, checksum FROM xray_checksums "
            "WHERE (tenant_id, project) = (%s, %s) ORDER BY language",
            [tenant, project],
        ).fetchall()
    return dict(rows)
