"""Which commands there are, and which module each is in: words go in, a typer app comes out.

A cold search is to cost less than a second: for a command that is named, only its own module is
imported; for the help, all of them are.
"""

from __future__ import annotations

from importlib import import_module

import typer

from course_lib import __version__
from course_lib.settings import checkout

MODULES = {
    "course": (
        *("start", "lab", "doctor"),
        *("setup", "run", "test", "build", "bench", "faults", "up", "down", "clean", "lock"),
    ),
    "data": ("ingest", "load", "embed"),
    "sync": ("sync",),
    "github": ("ingest-repo", "github-server"),
    "pipeline": ("pipeline",),
    "search": ("search",),
    "answers": ("ask",),
    "structure": ("structure",),
    "edit": ("edit",),
    "evaluation": ("eval",),
    "contract": ("split", "validate", "parsers", "ingest-tenant", "backup", "restore"),
    "xray": ("xray",),
    "serve": ("serve", "api-key"),
    "grade": ("grade", "release"),
    "database": ("db",),
    "settings_list": ("settings",),
}
"""The modules beside this one in the order of the help, and the commands that each `add_to`s."""

NEED_A_CHECKOUT = {*MODULES["course"], *MODULES["grade"]}
"""Commands that read the course's labs, sources or tests, which no installed package has."""


def build_app(word: str | None = None) -> typer.Typer:
    """Return the command line.

    Parameters
    ----------
    word
        The first word of the call. Where it is a command, only this command's module is there;
        otherwise all are.
    """
    app = typer.Typer(
        name="course",
        help="Build retrieval for documents and code, step by step.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_front_door)
    wanted = [module for module, commands in MODULES.items() if word in commands]
    for module in wanted or MODULES:
        import_module(f"course_lib.cli.{module}").add_to(app)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"course {__version__}")
        raise typer.Exit


def _front_door(
    context: typer.Context,
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Build retrieval for documents and code, step by step."""
    if context.invoked_subcommand in NEED_A_CHECKOUT:
        checkout()
