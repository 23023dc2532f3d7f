"""The tables of the X-Ray: what each project uses, and a catalogue that all projects share.

A foreign key keeps the catalogue from losing a package that any project uses. A lock for each
language keeps two syncs from each leaving the last use to the other (an orphan).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, LiteralString

import psycopg
from psycopg import sql

from course_lib.errors import DatabaseError, SchemaMismatchError
from course_lib.store.collection import open_collection
from course_lib.store.roles import grant_to_service_roles

VERSION = "schema version 1"
"""The comment of the table of packages; raise it with every change of a table or a policy here.

Tables are not changed in place: those of another version are refused.
"""

# A vector of any dimension: the tables are made before a model is loaded. Names of one project
# are few, so that they are compared one by one, and an index (it needs a dimension) gains nothing.
TABLES: LiteralString = """
CREATE TABLE xray_packages (
    language    text NOT NULL,
    name        text NOT NULL,
    description text,
    embedded_text text, -- what the vector was made of
    model       text,
    embedding   vector,
    updated_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (language, name),
    CHECK ((model IS NULL) = (embedding IS NULL))
);

CREATE TABLE xray_report_packages (
    tenant_id   text NOT NULL,
    project     text NOT NULL,
    language    text NOT NULL,
    name        text NOT NULL,
    version     text NOT NULL,
    description text,
    updated_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, project, language, name),
    CONSTRAINT xray_report_packages_in_catalogue
        FOREIGN KEY (language, name) REFERENCES xray_packages
);
CREATE INDEX xray_report_packages_package ON xray_report_packages (language, name);

CREATE TABLE xray_checksums (
    tenant_id   text NOT NULL,
    project     text NOT NULL,
    language    text NOT NULL,
    checksum    text NOT NULL,
    updated_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, project, language)
);

-- With its owner's rights, and so across tenants: which packages are used, not by whom.
CREATE VIEW xray_used AS SELECT language, name FROM xray_report_packages;
"""

PRIVATE = ("xray_report_packages", "xray_checksums")

_OWN: LiteralString = "tenant_id = (SELECT nullif(current_setting('course.tenant', true), ''))"

_PROTECT: LiteralString = f"""
ALTER TABLE {{table}} ENABLE ROW LEVEL SECURITY;
ALTER TABLE {{table}} FORCE ROW LEVEL SECURITY;
CREATE POLICY owner_does_all ON {{table}} TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY tenant_does_its_own ON {{table}} USING ({_OWN}) WITH CHECK ({_OWN});
"""

_GRANT: LiteralString = """
GRANT SELECT ON xray_report_packages, xray_checksums, xray_packages TO course_reader, course_writer;
GRANT INSERT, UPDATE, DELETE ON xray_report_packages, xray_checksums, xray_packages
    TO course_writer;
GRANT SELECT ON xray_used TO course_writer
"""


def create_tables(conn: psycopg.Connection[Any]) -> None:
    """Create the tables where they are missing, and let the service's roles at them.

    Raises
    ------
    DatabaseError
        If they are missing and this role may not create them, or they are of another version of
        the course.
    """
    with conn.transaction():
        # Two processes that start at once would both find no table and both create it.
        conn.execute("SELECT pg_advisory_xact_lock(hashtext('course schema'))")
        try:
            with conn.transaction():
                open_collection(conn)
                if not has_tables(conn):
                    conn.execute(TABLES)
                    for table in PRIVATE:
                        conn.execute(sql.SQL(_PROTECT).format(table=sql.Identifier(table)))
                    mark = sql.SQL("COMMENT ON TABLE xray_packages IS {}")
                    conn.execute(mark.format(sql.Literal(VERSION)))
        except psycopg.errors.InsufficientPrivilege as error:
            raise DatabaseError(
                "the tables of the X-Ray are missing, and this role may not create them",
                hint="Run `course xray scan` once as the owner of the database.",
            ) from error
        _refuse_other_version(conn)
        grant_to_service_roles(conn, "xray_packages", _GRANT)


def _refuse_other_version(conn: psycopg.Connection[Any]) -> None:
    query = "SELECT obj_description('xray_packages'::regclass, 'pg_class')"
    (found,) = conn.execute(query).fetchone() or (None,)
    if found != VERSION:
        raise SchemaMismatchError(
            f"the table xray_packages is of {found or 'an earlier version'}, and this course needs "
            f"{VERSION}",
            hint="Remove it (`course db psql`, then DROP TABLE xray_packages, "
            f"{', '.join(PRIVATE)} CASCADE;) and fill it again.",
        )


def has_tables(conn: psycopg.Connection[Any]) -> bool:
    """Return whether the tables are there."""
    row = conn.execute("SELECT to_regclass('xray_report_packages') IS NOT NULL").fetchone()
    return bool(row and row[0])


def drop_tables(conn: psycopg.Connection[Any]) -> None:
    """Drop the tables and everything in them."""
    with conn.transaction():
        conn.execute("DROP VIEW IF EXISTS xray_used")
        conn.execute("DROP TABLE IF EXISTS xray_checksums, xray_report_packages, xray_packages")


@contextmanager
def alone_in(conn: psycopg.Connection[Any], language: str) -> Iterator[None]:
    """Run a transaction (a savepoint in one that is open) alone among a language's writers.

    Who comes second waits here, and then sees what the first one wrote. Nothing slow belongs
    inside: no model, no network.
    """
    with conn.transaction():
        take_lock(conn, language)
        yield


def take_lock(conn: psycopg.Connection[Any], language: str) -> None:
    """Wait until no other transaction holds the lock of a language, and hold it then.

    The lock ends with the transaction, whether this commits or fails. A lock of another language
    does not wait for it. After the wait, each statement sees what others have committed.

    Parameters
    ----------
    conn
        A connection in a transaction that has just begun, of any isolation level.
    language
        The lock's number is `hashtextextended(text, 0)` of the text ``course xray <language>``.

    Examples
    --------
    >>> with conn.transaction():                                       # doctest: +SKIP
    ...     take_lock(conn, "python")
    """
    # A snapshot from before the wait would show nothing new. Fails where there is one already.
    conn.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
    conn.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"course xray {language}"]
    )


@contextmanager
def database_errors_explained(conn: psycopg.Connection[Any]) -> Iterator[None]:
    """Turn what the database says into an error with a way out.

    Raises
    ------
    DatabaseError
        Instead of every `psycopg.Error`.
    """
    try:
        yield
    except psycopg.errors.UndefinedTable as error:
        raise DatabaseError(
            "the database holds no packages yet", hint="Scan a project: course xray scan DIR."
        ) from error
    except psycopg.Error as error:
        is_gone = conn.closed or conn.broken
        raise DatabaseError(
            f"the database {'went away' if is_gone else 'refused the work'}: {str(error).strip()}",
            hint="Nothing half-written was left. "
            + ("Run" if is_gone else "Mend the cause and run")
            + " the same command again to complete the rest.",
        ) from error
