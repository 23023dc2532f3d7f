"""Commands of the instructor: grade a folder of submissions, release a notebook to learners."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from course_lib.settings import project_root

if TYPE_CHECKING:
    from course_lib.teaching.grade import Gradebook, Master, Order

Lab = Annotated[str | None, typer.Option("--lab", help="A lab of this course, such as 01.")]
MasterPath = Annotated[
    Path | None,
    typer.Option("--master", help="A notebook of your own with nbgrader's metadata."),
]


def grade(
    submissions: Annotated[
        Path, typer.Argument(help="A folder with one notebook or one folder a learner.")
    ],
    lab: Lab = None,
    master: MasterPath = None,
    hidden: Annotated[
        Path | None, typer.Option(help="A folder with further checks, <grade_id>.py each.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Where the gradebook goes.", show_default="build/grades/NAME"),
    ] = None,
    files: Annotated[
        Path | None, typer.Option(help="A folder that the notebooks may read; it is current.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Submissions at a time.")] = 2,
    cell_timeout: Annotated[float, typer.Option(min=0.1, help="Seconds a cell may take.")] = 10,
    budget: Annotated[float, typer.Option(min=1, help="Seconds a submission may take.")] = 60,
    resume: Annotated[
        bool, typer.Option("--resume", help="Grade only what has changed since the last run.")
    ] = False,
    cold: Annotated[
        bool, typer.Option("--cold", help="A kernel of its own for each, which takes longer.")
    ] = False,
    sandbox: Annotated[
        bool, typer.Option("--sandbox/--no-sandbox", help="Fence submissions in.")
    ] = True,
) -> None:
    """Grade submissions with nbval, fenced in, and write a gradebook.

    Example: course grade handed-in --lab 01
    """
    from course_lib.teaching.grade import Limits, Order, Stopped, find_fence, grade_all

    fence = find_fence(sandbox=sandbox)
    if fence.kind == "none":
        typer.echo(fence.says, err=True)
    read = _master(lab, master, hidden)
    order = Order(
        submissions,
        out or project_root() / "build" / "grades" / read.name,
        read,
        fence,
        Limits(cell=cell_timeout, budget=budget),
        jobs,
        cold,
        resume,
        files,
    )
    try:
        with _bar() as progress:
            book = grade_all(order, progress)
    except Stopped as stopped:
        typer.echo(_summary(stopped.book, order))
        raise typer.Exit(130) from None
    typer.echo(_summary(book, order))


def release(
    labs: Annotated[
        list[str] | None, typer.Argument(help="Labs such as 01, or notebooks; all when left out.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where the learner's versions go.")] = Path("released"),
) -> None:
    """Write the learner's versions of labs, or of your own notebooks, without the solutions.

    Example: course release own/regression.ipynb --out for-learners
    """
    from course_lib.teaching.grade import lab_masters, release_masters

    given = labs or []
    paths = [Path(one) for one in given if one.endswith(".ipynb")]
    numbers = [one for one in given if not one.endswith(".ipynb")]
    if numbers or not paths:
        paths += lab_masters(numbers or None)
    for path in release_masters(paths, out):
        typer.echo(str(path))


def _master(lab: str | None, path: Path | None, hidden: Path | None) -> Master:
    from course_lib.errors import InputError
    from course_lib.teaching.checks import lab_number
    from course_lib.teaching.grade import lab_masters, read_master

    if (lab is None) == (path is None):
        raise InputError("say what to grade with", hint="Either --lab 01 or --master NOTEBOOK.")
    if path is None:
        (path,) = lab_masters([lab or ""])
        return read_master(path, lab=lab_number(path.stem[:2]), hidden=hidden)
    return read_master(path, hidden=hidden)


def _summary(book: Gradebook, order: Order) -> str:
    from course_lib.teaching.grade.submissions import left_out

    person = [one.learner for one in book.grades if one.status != "graded"]
    flagged = [one.learner for one in book.grades if one.flags]
    lines = [
        f"{len(book.graded)} graded in {book.seconds:.1f} s ({book.engine}, {book.fence_kind})"
    ]
    if person:
        lines.append(f"{len(person)} need a person: {_some(person)}")
    if flagged:
        lines.append(f"{len(flagged)} have flags: {_some(flagged)}")
    if book.waiting:
        lines.append(f"{len(book.waiting)} were not reached; --resume goes on with them")
    if others := left_out(order.submissions):
        lines.append(f"{len(others)} not looked at, no notebook and no folder: {_some(others)}")
    return "\n".join([*lines, f"gradebook: {order.out / 'index.html'}"])


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")


@contextmanager
def _bar() -> Iterator[Callable[[int, int, float], None]]:
    """Show a progress bar on a terminal; yield what to call with done, all, and the rate."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("grading"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as shown:
        task = shown.add_task("grading", total=None, rate="starting")

        def progress(done: int, total: int, rate: float) -> None:
            shown.update(task, completed=done, total=total, rate=f"{rate:.0f} a minute")

        yield progress
