"""Which commands there are: the one table of them, in the order of the help.

A command is a function: its parameters are the arguments and options, and its docstring is the
help, of each parameter too. Its module is imported when the command is called; a list of commands
only reads the docstrings in the files.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from course_lib.cli.printing import show

if TYPE_CHECKING:
    from typer._click import Command, Context

Functions = Mapping[str, str]
"""Names of commands, each with its module in this folder and its function there."""


class Group(NamedTuple):
    """A command that has commands: what it is about, and which they are."""

    help: str
    functions: Functions


COMMANDS: Mapping[str, Mapping[str, str | Group]] = {
    "Commands": {
        "db": Group(
            "The database: start, stop, look inside.",
            {
                "start": "database.start",
                "stop": "database.stop",
                "status": "database.status",
                "psql": "database.psql",
                "url": "database.url",
                "reset": "database.reset",
            },
        ),
    },
    "Learn": {
        "start": "course.start",
        "lab": "course.lab",
        "progress": "course.progress",
        "mine": "mine.mine",
        "capstone": "mine.capstone",
        "doctor": "course.doctor",
    },
    "The course": {
        "setup": "course.setup",
        "run": "course.run",
        "test": "course.test",
        "up": "course.up",
        "down": "course.down",
        "clean": "course.clean",
        "settings": "settings_list.list_settings",
    },
    "Your documents": {
        "ingest": "ingest.ingest",
        "load": "ingest.load",
        "embed": "ingest.embed",
        "ingest-repo": "github.ingest_repo",
        "search": "search.search",
        "ask": "answers.ask",
        "structure": "structure.write_structure",
        "edit": "edit.edit",
        "eval": "evaluation.evaluate_search",
        "split": "contract.split",
        "validate": "contract.validate",
        "parsers": "contract.parsers",
        "ingest-tenant": "contract.ingest_tenant",
        "pipeline": Group(
            "Run the stages as a Kubeflow pipeline.",
            {
                "run": "pipeline.run",
                "submit": "pipeline.submit",
                "compile": "pipeline.compile_all",
                "parameters": "pipeline.show_parameters",
            },
        ),
        "xray": Group(
            "Repository X-Ray: what a project's packages are, and which ones a task needs.",
            {
                "scan": "xray.scan",
                "suggest": "xray.suggest",
                "prompt": "xray.prompt",
                "forget": "xray.forget",
            },
        ),
    },
    "The service": {"serve": "serve.serve", "api-key": "serve.api_key"},
    "Teach": {
        "grade": "grade.grade",
        "release": "grade.release",
        "nbgrader": "nbgrader.nbgrader",
        "class": Group(
            "A class in nbgrader's folders: make it, collect what was handed in.",
            {
                "init": "grade.make",
                "update": "grade.update_class",
                "collect": "grade.collect_submissions",
                "accept": "grade.accept_points",
                "report": "grade.report_times",
                "feedback": "grade.give_feedback",
                "due": "grade.set_due_date",
            },
        ),
    },
}
"""The panels of the help, and the commands in each."""

NEED_A_CHECKOUT = {*COMMANDS["Learn"], *COMMANDS["The course"], *COMMANDS["Teach"]} - {"settings"}
"""Commands that read the course's labs, sources or tests, which no installed package has."""

PASS_ON = ("mine", "nbgrader")
"""Commands that take another one with its options."""

LETTERS = {
    "corpus": "-c",
    "edit": "-e",
    "language": "-l",
    "namespace": "-n",
    "partition": "-p",
    "pipeline-name": "-p",
    "project": "-p",
    "repo": "-r",
    "set": "-s",
    "threshold": "-t",
    "top-k": "-k",
    "verbose": "-v",
    "yes": "-y",
}
"""Options that have a letter as well, in every command."""


class Commands(TyperGroup):
    """Commands of which each is imported when it is called."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.functions: dict[str, str] = {}

    def add(self, table: Mapping[str, str | Group], panel: str | None = None) -> None:
        """Take in commands, in a panel of the help."""
        for name, one in table.items():
            if isinstance(one, Group):
                group = Commands(
                    name=name, help=one.help, no_args_is_help=True, rich_help_panel=panel
                )
                group.add(one.functions)
                self.commands[name] = group
            else:
                self.functions[name] = one
                self.commands[name] = TyperCommand(name, rich_help_panel=panel)

    def load(self, name: str) -> Command:
        """Return a command, which is imported where it was not before."""
        if place := self.functions.pop(name, None):
            module, _, function = place.partition(".")
            found = getattr(import_module(f"course_lib.cli.{module}"), function)
            self.commands[name] = as_command(name, found)
        return self.commands[name]

    def list_commands(self, ctx: Context) -> list[str]:
        """Return all names; the commands get their help from the files."""
        for name, place in self.functions.items():
            module, _, function = place.partition(".")
            self.commands[name].help = read_help(_docstrings(module)[function])[0]
        return [*self.commands]

    def resolve_command(
        self, ctx: Context, args: list[str]
    ) -> tuple[str | None, Command | None, list[str]]:
        """Return the command that is called, and its words."""
        name, command, words = super().resolve_command(ctx, args)
        return name, self.load(name) if name else command, words


def build_app() -> Commands:
    """Return the command line."""
    app = typer.Typer(
        name="course",
        cls=Commands,
        help="Build retrieval for documents and code, step by step.",
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_course)
    course = typer.main.get_group(app)
    assert isinstance(course, Commands)
    for panel, table in COMMANDS.items():
        course.add(table, panel)
    return course


def as_command(name: str, function: Callable[..., Any]) -> Command:
    """Return a function as a command, with the help of its docstring."""
    about, parameters = read_help(inspect.getdoc(function) or "")
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    words = {"allow_interspersed_args": name not in PASS_ON}
    app.command(name, help=about, context_settings=words)(function)
    command = typer.main.get_command(app)
    for one in command.params:
        assert isinstance(one, TyperArgument | TyperOption)
        default, said = parameters.get(str(one.name), ("", ""))
        one.help = one.help or said
        one.show_default = default or one.show_default
        if isinstance(one, TyperOption):
            long = one.opts[0].removeprefix("--")
            one.opts += [LETTERS[long]] if long in LETTERS else []
            if not one.default and one.secondary_opts == [f"--no-{long}"]:
                one.secondary_opts = []
    return command


def read_help(docstring: str) -> tuple[str, dict[str, tuple[str, str]]]:
    """Return what a docstring says of a command, and the default and the help of each parameter.

    Examples
    --------
    >>> read_help(inspect.cleandoc('''Print a page.
    ...
    ...     Parameters
    ...     ----------
    ...     page : the last one
    ...         Its number,
    ...         from 1.
    ... '''))
    ('Print a page.', {'page': ('the last one', 'Its number, from 1.')})
    """
    about, _, parameters = docstring.partition("Parameters\n----------\n")
    entries = re.findall(r"^(\w+)(?: : (.+))?\n((?: .+\n?)+)", parameters, re.MULTILINE)
    said = {name: (default, " ".join(text.split())) for name, default, text in entries}
    return about.strip(), said


@cache
def _docstrings(module: str) -> dict[str, str]:
    """Return the docstrings of a file of commands, without an import of it."""
    tree = ast.parse(Path(__file__).with_name(f"{module}.py").read_text(encoding="utf-8"))
    functions = (one for one in tree.body if isinstance(one, ast.FunctionDef))
    return {one.name: ast.get_docstring(one) or "" for one in functions}


def _print_version(wanted: bool) -> None:
    if wanted:
        from course_lib.teaching.version import course_version

        show(f"course {course_version()}")
        raise typer.Exit


def _course(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the version and its commit.",
        ),
    ] = False,
) -> None:
    """Build retrieval for documents and code, step by step."""
    if context.invoked_subcommand in NEED_A_CHECKOUT:
        from course_lib.settings import checkout

        checkout()
