"""The command that runs the system with the learner's functions, or shows which these are."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from course_lib.cli.printing import show
from course_lib.cli.programs import run_instead
from course_lib.errors import InputError
from course_lib.teaching.capstone import examine, report
from course_lib.teaching.mine import system
from course_lib.teaching.mine.keep import kept, system_folder
from course_lib.teaching.mine.overlay import environment

if TYPE_CHECKING:
    from course_lib.evaluation.runs import Run

HOW_TO_BEGIN = "Pass a check in one of your labs (`course start 01`): it keeps the function."


def mine(
    command: Annotated[list[str] | None, typer.Argument(metavar="COMMAND")] = None,
    evaluate: Annotated[bool, typer.Option("--eval/--no-eval")] = True,
    questions: Path | None = None,
    corpus: Annotated[list[str] | None, typer.Option(metavar="KIND=DIR")] = None,
) -> None:
    """Run a command with your functions in place of the course's; alone, show what is yours.

    What you wrote is in my/system, where each check that passes keeps its function.
    Its index is its own. `course mine eval`, without questions, only measures both systems.

    Example: course mine ingest notes, and then course mine search "Who maintains it?"

    Parameters
    ----------
    command
        Any other command of the course, with its options.
    evaluate
        Without a command: measure both systems.
    questions
        Questions of your own, as `course eval` takes them.
    corpus
        Folders of your own; repeatable.
    """
    folder = system_folder()
    is_begun = bool(kept(folder))
    if not command:
        _show(folder)
    elif not is_begun:
        raise InputError(f"{folder} holds no function of yours", hint=HOW_TO_BEGIN)
    if not command or command == ["eval"]:
        if evaluate and is_begun:
            _show_measurement(*system.measure_both(questions, corpus or []))
        return
    if command[:2] == ["pipeline", "submit"]:
        raise InputError(
            "a cluster runs the course's images, which do not hold your functions",
            hint="Run the pipeline here: course mine pipeline run",
        )
    program = shutil.which("course", path=str(Path(sys.executable).parent))
    if program is None:
        raise InputError("the program `course` is not beside this Python", hint="Run `make setup`.")
    raise typer.Exit(run_instead([program, *command], {**os.environ, **environment(folder)}))


def capstone() -> None:
    """Begin the report on your own system in `my/`; once it is there, say whether it is complete.

    Lab 16 says what it is about, and the report itself what counts.
    """
    path, is_new = report()
    if is_new:
        show(f"my/capstone/{path.name} is ready. Your questions and runs belong beside it.")
        return
    findings = list(examine(path))
    for one in findings:
        show(f"{'✓' if one.holds else '✗'} {one.says}")
    raise typer.Exit(0 if all(one.holds for one in findings) else 1)


def _show(folder: Path) -> None:
    """Print the stages with whose functions they are, and how the learner's differ."""
    from random import Random

    from rich.console import Console
    from rich.table import Table

    table = Table("stage", "yours", "the course's", title="The system")
    rooms = system.rooms(folder)
    for room, whose in rooms.items():
        table.add_row(room, *map(", ".join, whose))
    Console().print(table)
    own = kept(folder)
    count = sum(len(one) for room in rooms.values() for one in room)
    show(f"{len(own)} of {count} functions are yours")
    lines = list(system.differences(list(own.values()), Random().getrandbits(32)))
    for line in lines:
        show(line)
    if not own:
        show(HOW_TO_BEGIN)
    elif not lines:
        show("On random arguments the results are those of the course's functions.")


def _show_measurement(courses: Run, own: Run) -> None:
    """Print what both systems find, measured by the course's metrics."""
    from rich.console import Console
    from rich.table import Table

    from course_lib.evaluation.runs import compare
    from course_lib.evaluation.statistics import INTERVALS
    from course_lib.teaching.mine.measure import METRICS

    table = Table("questions", "", "yours", "the course's", "difference")
    for kind in courses.kinds:
        for shown, metric in METRICS.items():
            both = compare(courses.about(kind), own.about(kind), metric)
            mean, low, high = both.difference
            interval = f"({both.unsure})"
            if not both.unsure:
                interval, table.caption = f"\\[{low:+.3f}, {high:+.3f}]", INTERVALS
            table.add_row(
                f"{kind} ({len(own.about(kind).answers)})",
                shown,
                f"{both.after:.3f}",
                f"{both.before:.3f}",
                f"{mean:+.3f} {interval}",
            )
    Console().print(table)
