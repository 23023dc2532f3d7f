"""Commands for the database: `course db start|stop|status|psql|url`."""

from __future__ import annotations

import typer

from course_lib.cli.printing import say, show
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
            show(f"{name}: {'in use' if lives else 'left behind; the next lab removes it'}")


@app.command()
def psql() -> None:
    """Open psql on the database."""
    from course_lib.store.connections import psql_command

    raise typer.Exit(run_instead(*psql_command(_url())))


@app.command()
def url() -> None:
    """Print the database's URL, with its password, for another program."""
    show(_url())


def _url() -> str:
    from course_lib.store import default_url
    from course_lib.store.urls import hide_password

    found = default_url()
    say(f"database: {hide_password(found)}")
    return found
