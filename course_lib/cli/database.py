"""Commands for the database: `course db start|stop|status|psql|url|reset`."""

from __future__ import annotations

from typing import Annotated

import typer

from course_lib.cli.printing import counted, say, show
from course_lib.cli.programs import run_instead

app = typer.Typer(help="The database: start, stop, look inside.", no_args_is_help=True)


@app.command()
def start() -> None:
    """Start the embedded PostgreSQL, unless it runs already."""
    from course_lib.store import ensure_server

    server = ensure_server()
    show(f"PostgreSQL {server.version} runs on {server.host}:{server.port}")


@app.command()
def stop() -> None:
    """Stop the embedded PostgreSQL; its data stays."""
    from course_lib.store import stop_server

    show("stopped" if stop_server() else "it was not running")


@app.command()
def status() -> None:
    """Say which database is used, and whether it runs."""
    from course_lib.settings import settings
    from course_lib.store import server_status
    from course_lib.store.connections import connect
    from course_lib.store.databases import lab_databases
    from course_lib.store.logins import open_connection
    from course_lib.store.urls import hide_password

    given = settings().database_url
    if given:
        with connect(given):
            show(f"DATABASE_URL is used and answers: {hide_password(given)}")
        return
    server = server_status()
    if server is None:
        show("the embedded PostgreSQL does not run; `course db start` starts it")
        raise typer.Exit(1)
    show(f"PostgreSQL {server.version} runs on {server.host}:{server.port}")
    show(f"data: {server.pgdata}")
    with open_connection(server.url()) as conn:
        for name, lives in lab_databases(conn).items():
            show(f"{name}: {'in use' if lives else 'not in use; the next lab removes it'}")


@app.command()
def psql() -> None:
    """Open psql on the database."""
    from course_lib.store.connections import psql_command

    raise typer.Exit(run_instead(*psql_command(_url())))


@app.command()
def url() -> None:
    """Print the database's URL, with its password, for another program."""
    show(_url())


@app.command()
def reset(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Drop the index: the tables of the documents in this collection, and nothing else.

    For an index that an earlier version of the course has made: `course ingest` makes it again. The
    packages of X-Ray and other collections stay.
    """
    from course_lib.cli.data import connect
    from course_lib.errors import DatabaseError
    from course_lib.settings import program
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
