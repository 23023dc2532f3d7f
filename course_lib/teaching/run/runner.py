"""Run the labs' solutions, two at a time, and keep an account of each.

What one lab does to its process (the current folder, a crash, memory) touches no other: each has a
kernel of its own, with one thread.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from course_lib.errors import InputError
from course_lib.files import write_atomically
from course_lib.settings import settings
from course_lib.teaching.notebooks.project import BuildError, LabSource, Project
from course_lib.teaching.notebooks.workers import Job, run_jobs
from course_lib.teaching.run.one_lab import LabRun, run_lab
from course_lib.teaching.run.report import index_page

_VARIABLES = {"database_url": "DATABASE_URL", "embedding_model": "RAG_EMBED_MODEL"}


def run_labs(
    labs: Sequence[str] | None = None,
    jobs: int = 2,
    parameters: Mapping[str, str | None] | None = None,
    out: Path | None = None,
    *,
    project: Project | None = None,
) -> list[LabRun]:
    """Execute solutions with papermill and write notebooks, HTML and `index.html`.

    Parameters
    ----------
    labs
        Numbers or names; None for all.
    jobs
        How many at a time.
    parameters
        Values for `data_dir`, `database_url` and `embedding_model`; a lab gets those that its
        `parameters` cell declares.
    out
        The folder to write to; `build/run` below the project's root by default.
    project
        Whose labs; the course's by default.

    Returns
    -------
    list of LabRun
        In the order of the labs. A caller's exit code is 1 unless all passed.

    Raises
    ------
    InputError
        The folder of a parameter does not exist.
    BuildError
        A solution was never built.
    KeyboardInterrupt
        After every kernel has ended and the page was written.
    """
    project = project or Project()
    given = _checked(parameters or {}, project)
    out = out or project.root / "build" / "run"
    out.mkdir(parents=True, exist_ok=True)
    sources = project.sources(labs)
    runs = {source.lab: _not_run(source, project) for source in sources}
    work = [
        Job(source.lab, run.cells, partial(run_lab, run, source, project, given, out))
        for source, run in zip(sources, runs.values(), strict=True)
    ]
    variables = {_VARIABLES[name]: value for name, value in given.items() if name in _VARIABLES}
    try:
        for lab, run in run_jobs(
            work, at_once=jobs, root=project.root, title="running", environment=variables
        ):
            runs[lab] = run
    finally:
        result = list(runs.values())
        _write_account(result, out, database_in_use(given.get("database_url")))
    return result


def database_in_use(given: str | None = None) -> str:
    """Say which database the labs use, without its password."""
    url = given or settings().database_url
    if not url:
        return "the embedded PostgreSQL"
    parts = urlsplit(url)
    where = f"{parts.hostname or 'localhost'}:{parts.port or 5432}{parts.path}"
    return f"PostgreSQL at {where} ({'--database-url' if given else 'DATABASE_URL'})"


def _checked(parameters: Mapping[str, str | None], project: Project) -> dict[str, str]:
    given = {name: value for name, value in parameters.items() if value}
    if folder := given.get("data_dir"):
        found = [base / folder for base in (Path.cwd(), project.root) if (base / folder).is_dir()]
        if not found:
            raise InputError(f"data_dir: {folder} is not a folder", hint="Check the path.")
        given["data_dir"] = str(found[0].resolve())
    return given


def _not_run(source: LabSource, project: Project) -> LabRun:
    path = project.solution_notebook(source)
    if not path.is_file():
        raise BuildError(
            f"{project.relative(path)} was never built", hint=f"Run `make build LAB={source.lab}`."
        )
    notebook = json.loads(path.read_text(encoding="utf-8"))
    title = notebook["metadata"].get("course", {}).get("title", source.stem)
    return LabRun(source.lab, title, "interrupted", cells=len(notebook["cells"]))


def _write_account(runs: Sequence[LabRun], out: Path, database: str) -> None:
    write_atomically(out / "index.html", index_page(runs, database))
    account = [
        {
            "lab": run.lab,
            "title": run.title,
            "status": run.status,
            "seconds": round(run.seconds, 1),
            "error": dict(run.error),
            "scorecard": dict(run.scorecard),
        }
        for run in runs
    ]
    write_atomically(out / "results.json", json.dumps(account, indent=1) + "\n")
