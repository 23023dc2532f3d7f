"""Commands of the course itself: set it up, learn from it, run it, test it.

Makefile tasks call the command of their name, so that machines without make lack nothing. What only
its maintainer needs is a module: the benches and faults of the tests, and `infra.course`.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Annotated

import typer

from course_lib.cli.printing import show
from course_lib.cli.programs import run_instead
from course_lib.settings import project_root

Labs = Annotated[list[str] | None, typer.Argument(help="Labs such as 01 04; all when left out.")]
Jobs = Annotated[int, typer.Option(min=1, help="Notebooks that run at once.")]


def setup() -> None:
    """Create or mend `.venv` and install everything that the lock file names."""
    from course_lib.bootstrap import main

    raise typer.Exit(main())


def start(
    number: Annotated[str, typer.Argument(metavar="LAB", help="A lab, such as 01.")],
) -> None:
    """Copy a lab and the others into `my/`, where you work; a copy that is there is not touched."""
    from course_lib.teaching.attempts import note
    from course_lib.teaching.copies import start_lab

    path, is_new = start_lab(number)
    note("started", path.stem[:2])
    shown = path.relative_to(project_root())
    there = "it was copied before, and what you wrote in it is kept"
    show(f"{shown} is ready, {'and so are the other labs' if is_new else there}")
    show("Open it with `make lab` (or `course lab`).")


def lab(
    number: Annotated[
        str, typer.Argument(metavar="[LAB]", help="A lab, such as 01; the last one if left out.")
    ] = "",
    port: Annotated[int, typer.Option(help="Port of JupyterLab.")] = 8888,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
) -> None:
    """Open JupyterLab on your own copies in `my/`, with the lab that you started last."""
    from course_lib.teaching.copies import jupyterlab_command

    command = jupyterlab_command(port=port, browser=browser, number=number)
    raise typer.Exit(run_instead(*command))


def progress() -> None:
    """Show how you got on: tries, hints and minutes of each exercise, from `my/attempts.jsonl`.

    Labs write this file on your machine, and nothing sends it anywhere.
    """
    from course_lib.teaching.attempts import by_exercise, own_log, read_log

    log = own_log()
    if not log.is_file() or (table := by_exercise(read_log(log))).empty:
        show("No exercise was checked in my/ yet. Begin with: make start LAB=01")
        return
    table["minutes"] = [f"{one / 60:.0f}" if one == one else "" for one in table["seconds"]]
    table["passed"] = table["passed"].map({True: "✓", False: ""})
    shown = table[["passed", "tries", "hints", "minutes"]].reset_index()
    show(shown.to_string(index=False))
    show("Minutes are from the first check to the one that passed, breaks included.")


def doctor() -> None:
    """Say what is wrong on this machine, and how to mend it."""
    from course_lib.teaching.doctor import main

    raise typer.Exit(main())


def run(
    labs: Labs = None,
    jobs: Jobs = 2,
    data_dir: Annotated[str | None, typer.Option(help="Documents instead of the course's.")] = None,
    database_url: Annotated[
        str | None, typer.Option(help="Database instead of a fresh one a lab.")
    ] = None,
    embedding_model: Annotated[
        str | None, typer.Option(help="Model name or path instead of MiniLM.")
    ] = None,
) -> None:
    """Execute the solutions with papermill and write build/run/index.html.

    One failing lab does not stop the others; it makes the exit code 1.
    """
    from course_lib.teaching.run import run_labs, summary

    given = {
        "data_dir": data_dir,
        "database_url": database_url,
        "embedding_model": embedding_model,
    }
    runs = run_labs(labs, jobs=jobs, parameters=given)
    show(summary(runs))
    show("report: build/run/index.html")
    raise typer.Exit(0 if all(one.passed for one in runs) else 1)


def test(
    labs: Annotated[
        list[str] | None, typer.Argument(help="Only what is about these labs, such as 01.")
    ] = None,
    long: Annotated[bool, typer.Option("--long", help="The long tests instead.")] = False,
    browser: Annotated[
        bool, typer.Option("--browser", help="Every lab in JupyterLab and Chromium instead.")
    ] = False,
    containers: Annotated[
        bool, typer.Option("--containers", help="The images instead; needs a Docker engine.")
    ] = False,
    skipped: Annotated[
        bool, typer.Option("--skipped", help="What the last run skipped for want of a program.")
    ] = False,
) -> None:
    """Run all checks and tests, as CI does; of a lab its checks, wrong answers and solution."""
    from course_lib.errors import InputError
    from course_lib.teaching.testing import run_tests

    if labs and (long or browser or containers or skipped):
        raise InputError("a lab has no tests of another kind", hint="Leave the option out.")
    code = run_tests(labs, long=long, browser=browser, containers=containers, skipped=skipped)
    raise typer.Exit(code)


def up() -> None:
    """Start PostgreSQL in Docker instead of the embedded one (see infra/docker-compose.yml)."""
    _compose("up", "--detach", "--wait")
    show("export DATABASE_URL=postgresql://rag:rag@localhost:5432/rag")


def down() -> None:
    """Stop PostgreSQL in Docker; its volume stays."""
    _compose("down")


def clean() -> None:
    """Stop the embedded server and remove what the course made, except `.venv` and `my/`."""
    from course_lib.teaching.clean import clean as run_clean

    for removed in run_clean():
        show(f"removed {removed}")


def _compose(*arguments: str) -> None:
    import shutil

    from course_lib.errors import ServerError

    if shutil.which("docker") is None:
        raise ServerError(
            "docker is not installed",
            hint="It is not needed: without DATABASE_URL the course runs its own PostgreSQL.",
        )
    file = Path(project_root(), "infra", "docker-compose.yml")
    command = ["docker", "compose", "--file", str(file), *arguments]
    code = subprocess.run(command, check=False).returncode
    if code:
        raise ServerError(
            f"docker compose ended with exit code {code}",
            hint="Is the Docker engine running? `docker info` tells.",
        )
