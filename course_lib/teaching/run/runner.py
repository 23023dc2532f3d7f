"""Run the labs' solutions, two at a time, and keep an account of each.

What one lab does to its process (the current folder, a crash, memory) touches no other: each has a
process of its own, and one kernel with one thread.
"""

from __future__ import annotations

import ast
import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from course_lib.errors import InputError
from course_lib.settings import settings
from course_lib.teaching.build.project import BuildError, LabSource, Project, write_atomically
from course_lib.teaching.build.workers import Job, run_jobs
from course_lib.teaching.claims import broken
from course_lib.teaching.run.report import index_page

PARAMETERS = ("data_dir", "database_url", "embedding_model")
"""What may be given from outside; a lab gets those that its `parameters` cell declares."""

_VARIABLES = {"database_url": "DATABASE_URL", "embedding_model": "RAG_EMBED_MODEL"}


@dataclass(frozen=True)
class LabRun:
    """How one lab went.

    Attributes
    ----------
    lab, title
        Its number and title.
    status
        `interrupted` is a lab that Ctrl-C ended, or kept from starting.
    seconds
        Wall time of its process, start-up of the kernel and HTML included.
    notebook, html
        What was written, None where the run did not get that far.
    error
        Empty, or `cell` (its id), `line` (its first) and `message` (the error's last line).
    scorecard
        Metrics and values that the notebook put out.
    """

    lab: str
    title: str
    status: Literal["passed", "failed", "interrupted"]
    seconds: float = 0.0
    notebook: Path | None = None
    html: Path | None = None
    error: Mapping[str, str] = field(default_factory=dict)
    scorecard: Mapping[str, Any] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether every cell ran."""
        return self.status == "passed"


def run_labs(
    labs: Sequence[str] | None = None,
    jobs: int = 2,
    parameters: Mapping[str, str] | None = None,
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
        Values for `data_dir`, `database_url` and `embedding_model`.
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
        A parameter is unknown, or its folder does not exist.
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
    work = [_job(source, project, given, out) for source in sources]
    secrets = _secrets(given.get("database_url"))
    variables = {_VARIABLES[name]: value for name, value in given.items() if name in _VARIABLES}
    try:
        with contextlib.closing(
            run_jobs(work, at_once=jobs, root=project.root, title="running", environment=variables)
        ) as endings:
            for ended in endings:
                run = runs[ended.job.key]
                if ended.result is None:
                    log = ended.log
                    for secret, shown in secrets:
                        log = log.replace(secret, shown)
                    last = (log.splitlines() or ["it printed nothing"])[-1]
                    error = {"cell": "", "line": "", "message": f"the process died: {last}"}
                    run = replace(run, status="failed", seconds=ended.seconds, error=error)
                else:
                    error = ended.result["error"] or _untrue(ended.job, project)
                    run = replace(
                        run,
                        status="failed" if error else "passed",
                        seconds=ended.seconds,
                        notebook=Path(ended.job.task["output"]),
                        html=Path(ended.job.task["html"]),
                        error=error,
                        scorecard=ended.result["scorecard"],
                    )
                runs[ended.job.key] = run
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


def _checked(parameters: Mapping[str, str], project: Project) -> dict[str, str]:
    given = {name: value for name, value in parameters.items() if value}
    if unknown := set(given) - set(PARAMETERS):
        raise InputError(
            f"there is no parameter {sorted(unknown)[0]!r}",
            hint=f"Labs take {', '.join(PARAMETERS)}.",
        )
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
            f"{project.relative(path)} was never built", hint=f"Run `course build {source.lab}`."
        )
    course = json.loads(path.read_text(encoding="utf-8"))["metadata"].get("course", {})
    return LabRun(source.lab, course.get("title", source.stem), "interrupted")


def _job(source: LabSource, project: Project, given: Mapping[str, str], out: Path) -> Job:
    path = project.solution_notebook(source)
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    declared = _declared(cells)
    return Job(
        source.lab,
        "course_lib.teaching.run.worker",
        {
            "notebook": str(path),
            "output": str(out / f"{source.lab}.ipynb"),
            "html": str(out / f"{source.lab}.html"),
            "root": str(project.root),
            "parameters": {name: value for name, value in given.items() if name in declared},
            "secrets": _secrets(given.get("database_url")),
            "cells": len(cells),
        },
    )


def _untrue(job: Job, project: Project) -> dict[str, str]:
    """Return the error for a lab that shows something else than it says; empty where it does not.

    Of other data, or of another model, the lab says nothing.
    """
    if {"data_dir", "embedding_model"} & set(job.task["parameters"]):
        return {}
    notebook = json.loads(Path(job.task["output"]).read_text(encoding="utf-8"))
    faults = broken(notebook["cells"], project.claims(job.key))
    if not faults:
        return {}
    return {"cell": "", "line": f"{len(faults)} claims do not hold", "message": "\n".join(faults)}


def _declared(cells: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the names that the `parameters` cell assigns."""
    for cell in cells:
        if "parameters" in cell["metadata"].get("tags", []):
            tree = ast.parse("".join(cell["source"]))
            names = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
            return {node.id for node in names if isinstance(node.ctx, ast.Store)}
    return set()


def _secrets(url: str | None) -> list[tuple[str, str]]:
    """Return what must not be written, with what is in its place: the URL with its password."""
    parts = urlsplit(url or "")
    if not url or not parts.password:
        return []
    return [(url, url.replace(f":{parts.password}@", ":***@"))]


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
