"""Which commands there are: the one table of them, in the order of the help."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import typer

from course_lib import __version__
from course_lib.cli import (
    answers,
    contract,
    course,
    data,
    database,
    edit,
    evaluation,
    github,
    grade,
    mine,
    nbgrader,
    pipeline,
    search,
    serve,
    settings_list,
    structure,
    xray,
)
from course_lib.cli.printing import show
from course_lib.settings import checkout

Group = Mapping[str, Callable[..., Any] | typer.Typer]

THE_COURSE: Group = {
    "setup": course.setup,
    "run": course.run,
    "test": course.test,
    "up": course.up,
    "down": course.down,
    "clean": course.clean,
}
LEARN: Group = {
    "start": course.start,
    "lab": course.lab,
    "progress": course.progress,
    "mine": mine.mine,
    "capstone": mine.capstone,
    "doctor": course.doctor,
}
TEACH: Group = {
    "class": grade.app,
    "grade": grade.grade,
    "release": grade.release,
    "nbgrader": nbgrader.nbgrader,
}
COMMANDS: dict[str, Group] = {
    "Commands": {"db": database.app},
    "Learn": LEARN,
    "The course": {**THE_COURSE, "settings": settings_list.list_settings},
    "Your documents": {
        "ingest": data.ingest,
        "load": data.load,
        "embed": data.embed,
        "ingest-repo": github.ingest_repo,
        "search": search.search,
        "ask": answers.ask,
        "structure": structure.write_structure,
        "edit": edit.edit,
        "eval": evaluation.evaluate_search,
        "split": contract.split,
        "validate": contract.validate,
        "parsers": contract.parsers,
        "ingest-tenant": contract.ingest_tenant,
        "pipeline": pipeline.app,
        "xray": xray.app,
    },
    "The service": {"serve": serve.serve, "api-key": serve.api_key},
    "Teach": TEACH,
}
"""The panels of the help, and the commands in each; a group of commands is a typer app itself."""

NEED_A_CHECKOUT = {*THE_COURSE, *LEARN, *TEACH}
"""Commands that read the course's labs, sources or tests, which no installed package has."""

PASS_ON = ("mine", "nbgrader")
"""Commands that take another one with its options."""


def build_app() -> typer.Typer:
    """Return the command line."""
    app = typer.Typer(
        name="course",
        help="Build retrieval for documents and code, step by step.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_course)
    for panel, commands in COMMANDS.items():
        for name, command in commands.items():
            if isinstance(command, typer.Typer):
                app.add_typer(command, name=name, rich_help_panel=panel)
            else:
                takes_words = {"allow_interspersed_args": name not in PASS_ON}
                app.command(name, rich_help_panel=panel, context_settings=takes_words)(command)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        show(f"course {__version__}")
        raise typer.Exit


def _course(
    context: typer.Context,
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Build retrieval for documents and code, step by step."""
    if context.invoked_subcommand in NEED_A_CHECKOUT:
        checkout()
