"""`python -m infra.course`: what the maintainer makes again, as commands."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from course_lib.cli.printing import complain, show
from course_lib.errors import CourseError
from course_lib.settings import LanguageModelName, project_root, settings
from course_lib.teaching.notebooks.project import BuildError

app = typer.Typer(
    name="python -m infra.course",
    help="Make again what the course generates from its sources.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


@app.command()
def build(
    labs: Annotated[
        list[str] | None, typer.Argument(help="Labs such as 01 04; all when left out.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; fail if a notebook is out of date.")
    ] = False,
    execute: Annotated[bool, typer.Option(help="Execute solutions that have changed.")] = True,
    jobs: Annotated[int, typer.Option(min=1, help="Notebooks that run at once.")] = 2,
) -> None:
    """Make labs/*.ipynb, solutions/*.ipynb and README's table from solutions/*.py.

    Then it says what is wrong with them, and what is over a budget.
    """
    from infra.course.build import advice, broken_rules, build_labs, check_labs

    if check:
        check_labs(labs)
    else:
        for built in build_labs(labs, execute=execute, jobs=jobs):
            did = "executed" if built.executed else "written" if built.written else "up to date"
            show(f"lab {built.lab}: {'not executed yet' if built.waiting else did}")
    for one in advice(labs):
        show(f"advice: {one}")
    broken = broken_rules(labs)
    if check and broken:
        raise BuildError("\n".join(broken), hint="The rules are in infra/course/build/anatomy.py.")
    for one in broken:
        show(f"`make test` will fail: {one}")
    if check:
        show("all notebooks are up to date")


@app.command()
def model() -> None:
    """Fetch a language model, 1.1 GB, and the package that runs it."""
    from infra.course.model import make_model

    make_model()


@app.command()
def edits(
    backend: Annotated[LanguageModelName, typer.Option(help="What is asked.")] = "local",
) -> None:
    """Ask a language model for twelve edits, and test what it makes: minutes."""
    from course_lib.answers.generators import generator
    from infra.course.edits import ask_all

    outcomes = []
    for one in ask_all(generator(settings(), backend=backend)):
        outcomes.append(one)
        result = "passed" if one.passed else "taken" if one.taken else "not taken"
        show(f"{one.edit.kind:10}{one.edit.file:12}{result:10}", one.why)
    taken, passed = sum(one.taken for one in outcomes), sum(one.passed for one in outcomes)
    show(f"of {len(outcomes)} edits {taken} were taken, and {passed} passed their tests")


@app.command()
def site() -> None:
    """Build the course as a site, without a network: build/site/index.html."""
    from infra.course.site import build_site

    show(str(build_site().relative_to(project_root())))


@app.command()
def lock(
    upgrade: Annotated[bool, typer.Option(help="Take the newest versions.")] = False,
) -> None:
    """Write requirements.lock for pyproject.toml, and the lock of what runs a language model.

    Versions that are pinned stay as long as they fit; --upgrade takes the newest.
    """
    from infra.course.lock import write_locks

    changed = write_locks(upgrade=upgrade)
    show(f"changed: {', '.join(changed)}" if changed else "the locks are up to date")


@app.command()
def licences() -> None:
    """Write infra/THIRD_PARTY.md from what the installed packages say of themselves."""
    from infra.course.third_party import write_third_party

    show(f"infra/THIRD_PARTY.md: {'changed' if write_third_party() else 'up to date'}")


def main() -> None:
    """Run a command; an error that is meant for people ends it with the exit code 1."""
    try:
        app()
    except CourseError as error:
        complain(error)
        sys.exit(1)


if __name__ == "__main__":
    main()
