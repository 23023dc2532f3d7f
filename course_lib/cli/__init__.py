"""The front door: `course …`, each command a thin call into the stage that does the work.

An error that the library raises on purpose is printed as what it is — what happened, to what, what
to do next — and never as a traceback.
"""

from __future__ import annotations

import gc
import sys

import typer

from course_lib import __version__
from course_lib.cli import contract, course, data, database, search
from course_lib.errors import CourseError

app = typer.Typer(
    name="course",
    help="Build retrieval for documents and code, step by step.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
course.add_to(app)
data.add_to(app)
search.add_to(app)
contract.add_to(app)
app.add_typer(database.app, name="db")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"course {__version__}")
        raise typer.Exit


@app.callback()
def _front_door(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Build retrieval for documents and code, step by step."""


def main() -> None:
    """Run the command line and end the process with its exit code.

    0 is success, 1 an error that is explained, 2 a wrong call, 130 Ctrl-C.
    """
    # A command is over in seconds: looking for reference cycles after every 700 objects, as the
    # interpreter does by itself, costs a tenth of its start.
    gc.set_threshold(50_000, 20, 20)
    # A pipe or an old Windows console may not be UTF-8; a question mark beats a traceback.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        app(standalone_mode=True)
    except CourseError as error:
        typer.secho(f"error: {error.args[0]}", err=True, fg="red")
        if error.hint:
            typer.echo(error.hint, err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        typer.echo("stopped", err=True)
        sys.exit(130)
    except SystemExit as end:
        # While a command runs, typer itself turns Ctrl-C into this, without a word.
        if end.code == 130:
            typer.echo("stopped", err=True)
        raise
    except BrokenPipeError:
        # The reader (`| head`) has seen enough.
        sys.stderr.close()
        sys.exit(0)
