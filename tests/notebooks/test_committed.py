"""Each lab is executed as a learner gets it, once in a test run; its solution is run by nbval.

Nothing is written in it, every cell is run, and errors are allowed: it fails in its check cells,
each with "not attempted yet", and nowhere else. What comes after an exercise works with the
library's function until the learner's own passes. `make build CHECK=1` says whether the notebooks
are what their sources give, and `tests/blackbox/test_notebooks.py` what they look like.
"""

from functools import partial

import nbformat
import pytest

from course_lib.teaching.notebooks.cells import first_line
from course_lib.teaching.notebooks.execute import execute
from course_lib.teaching.notebooks.project import Project
from course_lib.teaching.notebooks.workers import Job, OnCell, run_jobs

PROJECT = Project()
LABS = [source.lab for source in PROJECT.sources()]


@pytest.fixture(scope="session")
def untouched(request: pytest.FixtureRequest) -> dict[str, list[str]]:
    """What is wrong with each lab that was asked for: two at a time, since some of them wait."""
    asked = {
        item.callspec.params["lab"]
        for item in request.session.items
        if "untouched" in getattr(item, "fixturenames", ())
    }
    work = []
    for source in PROJECT.sources(sorted(asked)):
        notebook = nbformat.read(PROJECT.lab_notebook(source), as_version=4)
        work.append(Job(source.lab, len(notebook.cells), partial(_faults_of, notebook)))
    return dict(run_jobs(work, at_once=2, root=PROJECT.root, title="untouched"))


@pytest.mark.timeout(1800)  # the first of them waits for all
@pytest.mark.parametrize("lab", LABS)
def test_an_untouched_lab_fails_in_its_check_cells_and_nowhere_else(
    lab: str, untouched: dict[str, list[str]]
) -> None:
    assert untouched[lab] == []


def _faults_of(notebook: nbformat.NotebookNode, on_cell: OnCell) -> list[str]:
    if error := execute(notebook, PROJECT.labs, on_cell, allow_errors=True):
        return [error]
    return [fault for cell in notebook.cells if cell.cell_type == "code" for fault in _faults(cell)]


def _faults(cell: nbformat.NotebookNode) -> list[str]:
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
        if error.ename != "NotAttempted"
    ]
    if not errors:
        found.append(f"{where} passed although nothing was written")
    if any(output.output_type == "stream" and output.name == "stderr" for output in outputs):
        found.append(f"{where} wrote to stderr, which nbgrader takes for a failure")
    return found
