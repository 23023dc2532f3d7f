"""Commands of the course itself: set it up, learn from it, run it, test it.

Makefile tasks call the command of their name, so that machines without make lack nothing. What only
its maintainer needs is a module: the benches and faults of the tests, and `infra.course`.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Annotated

import typer

from course_lib import bootstrap
from course_lib.cli.printing import show
from course_lib.cli.programs import run_instead
from course_lib.errors import InputError, ServerError
from course_lib.settings import project_root
from course_lib.teaching import attempts, copies
from course_lib.teaching.checks import load
from course_lib.teaching.clean import clean as run_clean
from course_lib.teaching.doctor import main as run_doctor
from course_lib.teaching.notebooks.project import CORE
from course_lib.teaching.testing import run_tests


def setup() -> None:
    """Create or mend `.venv` and install everything that the lock file names."""
    raise typer.Exit(bootstrap.main())


def start(number: Annotated[str, typer.Argument(metavar="LAB")]) -> None:
    """Copy a lab and the others into `my/`, where you work; a copy that is there is not touched.

    Parameters
    ----------
    number
        A lab, such as 01.
    """
    path, is_new = copies.start_lab(number)
    attempts.note("started", path.stem[:2])
    shown = path.relative_to(project_root())
    there = "it was copied before, and what you wrote in it is kept"
    show(f"{shown} is ready, {'and so are the other labs' if is_new else there}")
    show("Open it with `make lab` (or `course lab`).")


def lab(
    number: Annotated[str, typer.Argument(metavar="[LAB]")] = "",
    port: int = 8888,
    browser: bool = True,
) -> None:
    """Open JupyterLab on your own copies in `my/`, with the lab that you started last.

    Parameters
    ----------
    number
        A lab, such as 01; the last one if left out.
    port
        Port of JupyterLab.
    browser
        Open a browser.
    """
    command = copies.jupyterlab_command(port=port, browser=browser, number=number)
    raise typer.Exit(run_instead(*command))


def progress() -> None:
    """Show how you got on: tries, hints and minutes of each exercise, from `my/attempts.jsonl`.

    Labs write this file on your machine, and nothing sends it anywhere.
    """
    log = attempts.own_log()
    if not log.is_file() or (table := attempts.by_exercise(attempts.read_log(log))).empty:
        show("No exercise was checked in my/ yet. Begin with: make start LAB=01")
        return
    passed = {*table.index[table["passed"]]}
    table["minutes"] = [f"{one / 60:.0f}" if one == one else "" for one in table["seconds"]]
    table["passed"] = table["passed"].map({True: "✓", False: ""})
    shown = table[["passed", "tries", "hints", "minutes"]].reset_index()
    show(shown.to_string(index=False))
    parts = {"core": set[str](), "electives": set[str]()}
    for lab in map("{:02}".format, range(100)):
        parts["core" if lab in CORE else "electives"].update(load(lab))
    for part, known in parts.items():
        show(f"{part}: {len(known & passed)} of {len(known)} exercises passed")
    show("Minutes are from the first check to the one that passed, breaks included.")


def doctor() -> None:
    """Say what is wrong on this machine, and how to mend it."""
    raise typer.Exit(run_doctor())


def run(
    labs: Annotated[list[str] | None, typer.Argument()] = None,
    jobs: Annotated[int, typer.Option(min=1)] = 2,
    data_dir: str | None = None,
    database_url: str | None = None,
    embedding_model: str | None = None,
) -> None:
    """Execute the solutions with papermill and write build/run/index.html.

    One failing lab does not stop the others; it makes the exit code 1.

    Parameters
    ----------
    labs
        Labs such as 01 04; all when left out.
    jobs
        Notebooks that run at once.
    data_dir
        Documents instead of the course's.
    database_url
        Database instead of a fresh one a lab.
    embedding_model
        Model name or path instead of MiniLM.
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
    labs: Annotated[list[str] | None, typer.Argument()] = None,
    long: bool = False,
    browser: bool = False,
    containers: bool = False,
    skipped: bool = False,
    failed: bool = False,
) -> None:
    """Run all checks and tests, as CI does; of a lab its checks, wrong answers and solution.

    Parameters
    ----------
    labs
        Only what is about these labs, such as 01.
    long
        The long tests instead.
    browser
        Every lab in JupyterLab and Chromium instead.
    containers
        The images instead; needs a Docker engine.
    skipped
        What the last run skipped for want of a program.
    failed
        What failed in the last run, and the checks.
    """
    if labs and (long or browser or containers or skipped or failed):
        raise InputError("a lab has no tests of another kind", hint="Leave the option out.")
    code = run_tests(
        labs, long=long, browser=browser, containers=containers, skipped=skipped, failed=failed
    )
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
    for removed in run_clean():
        show(f"removed {removed}")


def _compose(*arguments: str) -> None:
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
