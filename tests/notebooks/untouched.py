"""Execute labs as a learner gets them: nothing written, every cell run, errors allowed.

An untouched lab fails in its check cells, each with "not attempted yet", and nowhere else: what
comes after an exercise works with the library's function until the learner's own passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from course_lib.teaching.build.execute import execute
from course_lib.teaching.build.project import Project
from course_lib.teaching.build.source import first_line
from course_lib.teaching.build.workers import Job, OnCell, run_jobs

if TYPE_CHECKING:
    from nbformat import NotebookNode

NOT_ATTEMPTED = "NotAttempted"


def untouched_labs(
    labs: Sequence[str] | None = None, *, project: Project | None = None, jobs: int = 2
) -> dict[str, list[str]]:
    """Execute the learner's notebooks and return what is wrong with each, by lab.

    Parameters
    ----------
    labs
        Numbers or names; None for all.
    project
        Whose; the course's by default.
    jobs
        How many to execute at a time.

    Returns
    -------
    dict of str to list of str
        For each lab one line for each fault; none where every check cell said "not attempted yet",
        and no other cell failed.
    """
    import nbformat

    project = project or Project()
    work = []
    for source in project.sources(labs):
        notebook = nbformat.read(project.lab_notebook(source), as_version=4)
        run = partial(_faults_of, notebook, project.labs)
        work.append(Job(source.lab, len(notebook.cells), run))
    return dict(sorted(run_jobs(work, at_once=jobs, root=project.root, title="untouched")))


def _faults_of(notebook: NotebookNode, folder: Path, on_cell: OnCell) -> list[str]:
    if error := execute(notebook, folder, on_cell, allow_errors=True):
        return [error]
    return [fault for cell in notebook.cells if cell.cell_type == "code" for fault in _faults(cell)]


def _faults(cell: NotebookNode) -> list[str]:
    metadata, outputs = cell.metadata, cell.outputs
    where = f"{cell.id} ({first_line(cell.source)!r})"
    errors = [output for output in outputs if output.output_type == "error"]
    meant_to_fail = "raises-exception" in metadata.get("tags", [])
    if not metadata.get("nbgrader", {}).get("grade"):
        if meant_to_fail:
            return []
        return [f"{where} failed: {error.ename}: {error.evalue}" for error in errors]
    found = [
        f"{where} failed with {error.ename}: {error.evalue}"
        for error in errors
        if error.ename != NOT_ATTEMPTED
    ]
    if not errors:
        found.append(f"{where} passed although nothing was written")
    if any(output.output_type == "stream" and output.name == "stderr" for output in outputs):
        found.append(f"{where} wrote to stderr, which nbgrader takes for a failure")
    return found
