"""Commands for the database: `course db start|stop|status|psql|url|reset`."""

from __future__ import annotations

import typer

from course_lib.cli.index import connect
from course_lib.cli.printing import counted, say, show
from course_lib.cli.programs import run_instead
from course_lib.errors import DatabaseError
from course_lib.settings import program, settings


def start() -> None:
    """Start the embedded PostgreSQL, unless it runs already."""
    from course_lib.store import ensure_server

    server = ensure_server()
    show(f"PostgreSQL {server.version} runs on {server.host}:{server.port}")


def stop() -> None:
    """Stop the embedded PostgreSQL; its data stays."""
    from course_lib.store import stop_server

    show("stopped" if stop_server() else "it was not running")


def status() -> None:
    """Say which database is used, and whether it runs."""
    from course_lib.store import connect as connect_to
    from course_lib.store.databases import lab_databases
    from course_lib.store.logins import open_connection
    from course_lib.store.server import check_server
    from course_lib.store.urls import hide_password

    given = settings().database_url
    if given:
        with connect_to(given):
            show(f"DATABASE_URL is used and answers: {hide_password(given)}")
        return
    server = check_server()
    if server is None:
        show("the embedded PostgreSQL does not run; `course db start` starts it")
        raise typer.Exit(1)
    show(f"PostgreSQL {server.version} runs on {server.host}:{server.port}")
    show(f"data: {server.pgdata}")
    with open_connection(server.url()) as conn:
        for name, lives in lab_databases(conn).items():
            show(f"{name}: {'in use' if lives else 'not in use; the next lab removes it'}")


def psql() -> None:
    """Open psql on the database."""
    from course_lib.store.connections import psql_command
    from course_lib.store.logins import open_connection
    from course_lib.store.poolers import is_pooled
    from course_lib.store.urls import split_settings

    url = _url()
    with open_connection(url) as conn:
        if is_pooled(conn):  # which takes no collection from the login
            url, chosen = split_settings(url)
            say(f"a pooler is in between: SET search_path = {chosen['search_path']};")
    raise typer.Exit(run_instead(*psql_command(url)))


def url() -> None:
    """Print the database's URL, with its password, for another program."""
    show(_url())


def reset(yes: bool = False) -> None:
    """Drop the index: the tables of the documents in this collection, and nothing else.

    For an index that an earlier version of the course has made: `course ingest` makes it again. The
    packages of X-Ray and other collections stay.

    Parameters
    ----------
    yes
        Do not ask.
    """
    from course_lib.store import default_url, drop_schema
    from course_lib.store.schema import owns_tables, stored_dimension
    from course_lib.store.urls import hide_password

    with connect() as conn:
        say(f"database: {hide_password(default_url())}")
        if stored_dimension(conn) is None:
            show("there is no index: nothing was dropped")
            return
        if not owns_tables(conn):
            raise DatabaseError(
                "the index belongs to another role, which alone may drop it",
                hint="Set DATABASE_URL to the role that made it.",
            )
        row = conn.execute("SELECT count(*) FROM document_chunks").fetchone()
        chunks = counted(row[0] if row else 0, "chunk")
        if not yes:
            typer.confirm(f"Drop the index with all its {chunks}?", abort=True, err=True)
        drop_schema(conn)
    show(f"dropped: {chunks}; `{program()} ingest` makes the index again")


def _url() -> str:
    from course_lib.store import default_url
    from course_lib.store.urls import hide_password

    found = default_url()
    say(f"database: {hide_password(found)}")
    return found
