"""Bring the notebooks up to date with their sources, or say which are not.

`build_labs` writes; `check_labs` only looks, compares sources and metadata and never outputs, and
needs no kernel.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from course_lib.files import write_atomically
from course_lib.teaching.notebooks.execute import execute as execute_notebook
from course_lib.teaching.notebooks.execute import tidy_outputs
from course_lib.teaching.notebooks.project import BuildError, Project, StaleError
from course_lib.teaching.notebooks.release import dump
from course_lib.teaching.notebooks.workers import Job, OnCell, run_jobs
from infra.course.build.assemble import Assembled, assemble
from infra.course.build.explanations import explanations_are_current, write_explanations
from infra.course.build.tables import stale_tables, update_tables
from infra.course.drawings import stale_drawings, write_drawings

if TYPE_CHECKING:
    from nbformat import NotebookNode


@dataclass(frozen=True, slots=True)
class Built:
    """What was done for one lab.

    Attributes
    ----------
    lab
        Its number.
    written
        The files that changed.
    executed
        Whether the solution was executed.
    waiting
        Whether the solution should have been executed but was told not to; it still is the old one.
    """

    lab: str
    written: tuple[Path, ...]
    executed: bool
    waiting: bool = False


def build_labs(
    labs: Sequence[str] | None = None,
    *,
    project: Project | None = None,
    jobs: int = 2,
    execute: bool = True,
) -> list[Built]:
    """Write the labs' notebooks in `labs/` and `solutions/`, their drawings and the pages' tables.

    A solution is executed only where its code, the library code it shows or its checks changed
    since; where only prose changed, it keeps its outputs. If one lab cannot be built, no file is
    changed.

    Parameters
    ----------
    labs
        Numbers or names; None for all.
    project
        Whose; the course's by default.
    jobs
        How many to execute at a time.
    execute
        False writes the learner's notebooks, and of the solutions only those that need no
        execution.

    Raises
    ------
    BuildError
        A source cannot be read, or a cell failed; each lab where one did is named.
    """
    project = project or Project()
    assembled = [assemble(source, project) for source in project.sources(labs)]
    stale = [one for one in assembled if not _carry_outputs(one, project)]
    if failures := _execute(stale if execute else [], project, jobs):
        raise BuildError(
            "\n".join(failures), hint="No file was changed; mend the source and build it again."
        )
    stale_tables(project)  # raises where a page has half of its markers
    write_drawings(project)
    done = [
        _write(
            one, project, executed=one in stale and execute, waiting=one in stale and not execute
        )
        for one in assembled
    ]
    write_explanations(project)
    update_tables(project)
    return done


def stale_notebooks(
    labs: Sequence[str] | None = None, *, project: Project | None = None
) -> list[str]:
    """Return what is not up to date, each as one line; outputs are never compared."""
    project = project or Project()
    sources = project.sources(labs)
    found: list[str] = []
    for source in sources:
        one = assemble(source, project)
        for path, wanted in (
            (project.lab_notebook(source), one.lab),
            (project.solution_notebook(source), one.solution),
        ):
            name = project.relative(path)
            if not path.is_file():
                found.append(f"{name} is missing")
            elif (disk := _read(path)) is None:
                found.append(f"{name} is not a notebook")
            elif reason := _difference(disk, wanted):
                found.append(f"{name} is stale: {reason}")
    if not labs:
        stems = {source.stem for source in sources}
        for folder in (project.labs, project.solutions):
            for path in sorted(folder.glob("*.ipynb")):
                if path.stem not in stems:
                    found.append(f"{project.relative(path)} has no source")
        found += stale_drawings(project)
        if not explanations_are_current(project):
            found.append("what is shown after a check has passed is stale: explanations.json")
        found += stale_tables(project)
    return found


def check_labs(labs: Sequence[str] | None = None, *, project: Project | None = None) -> None:
    """Raise `StaleError` that names what is not up to date and the command that makes it so."""
    if found := stale_notebooks(labs, project=project):
        command = f'make build LAB="{" ".join(labs)}"' if labs else "make build"
        raise StaleError("\n".join(found), hint=f"Run `{command}` and commit what it writes.")


def _write(one: Assembled, project: Project, *, executed: bool, waiting: bool = False) -> Built:
    paths = {project.lab_notebook(one.source): one.lab}
    if not waiting:
        paths[project.solution_notebook(one.source)] = one.solution
    written = tuple(path for path, node in paths.items() if write_atomically(path, dump(node)))
    return Built(one.source.lab, written, executed, waiting)


def _carry_outputs(one: Assembled, project: Project) -> bool:
    """Take over the outputs on disk; False where there are none that fit."""
    old = _read(project.solution_notebook(one.source))
    if old is None or old.metadata.get("course", {}).get("executed") != (
        one.solution.metadata.course.executed
    ):
        return False
    before, after = (
        [cell for cell in notebook.cells if cell.cell_type == "code"]
        for notebook in (old, one.solution)
    )
    if [cell.source for cell in before] != [cell.source for cell in after]:
        return False
    for new, was in zip(after, before, strict=True):
        new.outputs, new.execution_count = was.outputs, was.execution_count
    return None not in [cell.execution_count for cell in before]


def _execute(stale: Sequence[Assembled], project: Project, jobs: int) -> list[str]:
    """Execute solutions and return what is wrong with those that fail."""
    work = [
        Job(one.source.lab, len(one.solution.cells), partial(_execute_one, one, project))
        for one in stale
    ]
    runs = run_jobs(work, at_once=jobs, root=project.root, title="executing")
    return [failure for _, failure in runs if failure]


def _execute_one(one: Assembled, project: Project, on_cell: OnCell) -> str:
    name = project.relative(one.source.path)
    notebook = copy.deepcopy(one.solution)
    if failure := execute_notebook(notebook, project.solutions, on_cell):
        told = f"{name}:{one.lines[failure.cell_id]}, {failure}"
        if failure.error.startswith("CheckFailed"):
            told += f"\n  its cases are in {project.checks_file.format(lab=one.source.lab)}"
        return told
    tidy_outputs(notebook, project.root)
    one.solution.cells = notebook.cells
    return ""


def _read(path: Path) -> NotebookNode | None:
    """Return a notebook on disk; None where there is none that can be read."""
    import nbformat

    try:
        return nbformat.read(path, as_version=4)
    except Exception:  # of many kinds, where a file holds something else
        return None


def _difference(disk: NotebookNode, wanted: NotebookNode) -> str:
    """Say how a notebook on disk differs from what its source gives; empty where it does not."""
    if disk.metadata != wanted.metadata:
        keys = sorted({*disk.metadata, *wanted.metadata})
        differing = [key for key in keys if disk.metadata.get(key) != wanted.metadata.get(key)]
        return f"its metadata ({', '.join(differing)})"
    if len(disk.cells) != len(wanted.cells):
        return f"{len(disk.cells)} cells instead of {len(wanted.cells)}"
    for index, (was, now) in enumerate(zip(disk.cells, wanted.cells, strict=True)):
        for key in ("cell_type", "id", "metadata", "source"):
            if was.get(key) != now[key]:
                return f"{key} of cell {index} ({now.id})"
    if "executed" not in wanted.metadata.course and any(c.get("outputs") for c in disk.cells):
        return "a learner's notebook with outputs"
    return ""
