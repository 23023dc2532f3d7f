"""nbgrader's own commands on a class, with this environment's programs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from course_lib.cli.grade import Class
from course_lib.cli.programs import run_instead


def nbgrader(
    command: Annotated[list[str] | None, typer.Argument(metavar="COMMAND")] = None,
    room: Class = Path("."),
) -> None:
    """Run nbgrader in a class's folder; no environment has to be activated.

    Names of files are taken in that folder. Without a command it lists nbgrader's own.

    Example: course nbgrader --class my-class export --to canvas.csv

    Parameters
    ----------
    command
        A command of nbgrader's, with its options.
    """
    from course_lib.teaching.classroom import find_class
    from course_lib.teaching.copies import kernel_environment

    # nbgrader starts alembic, which is beside this Python, by its name.
    words = [sys.executable, "-m", "nbgrader", *(command or [])]
    environment = kernel_environment(os.environ)
    raise typer.Exit(run_instead(words, environment, find_class(room).root))
