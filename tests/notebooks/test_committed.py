"""Each lab is executed as a learner gets it; its solution is run by nbval.

A lab that passed with the same cells, library and data is not executed again but by the long tests.
Nothing is written in it, every cell is run, and errors are allowed: it fails in its check cells,
each with "not attempted yet", and nowhere else. What comes after an exercise works with the
library's function until the learner's own passes. `make build CHECK=1` says whether the notebooks
are what their sources give, and `tests/blackbox/test_notebooks.py` what they look like.
"""

import hashlib
import json
import re
from functools import cache, partial
from pathlib import Path

import grimp
import nbformat
import pytest

from course_lib.settings import project_root
from course_lib.teaching.notebooks.cells import first_line
from course_lib.teaching.notebooks.execute import execute
from course_lib.teaching.notebooks.project import LabSource, Project
from course_lib.teaching.notebooks.workers import Job, OnCell, run_jobs

PROJECT = Project()
LABS = [source.lab for source in PROJECT.sources()]

HASHES = Path(__file__).with_name("untouched.json")
"""Lab → the hash with which it passed the last time; a run in which it passes writes it."""


@cache
def hash_of(source: LabSource) -> str:
    """Return a hash of a lab's cells and of all that they import, read or are checked with."""
    root, graph = project_root(), _graph()
    notebook = json.loads(PROJECT.lab_notebook(source).read_text(encoding="utf-8"))
    code = "\n".join("".join(cell["source"]) for cell in notebook["cells"])
    named = re.findall(r"^\s*(?:from|import) (course_lib[\w.]*)", code, re.MULTILINE)
    asked_for = (f"checks.lab{source.lab}", "lab.figures")  # by their names, while a lab runs
    named += [f"course_lib.teaching.{name}" for name in asked_for]
    named.append("course_lib.pipeline.components")
    modules = {name for name in named if name in graph.modules}
    for name in sorted(modules):
        modules |= graph.find_upstream_modules(name)
    files = {root / (name.replace(".", "/") + ".py") for name in modules}
    files |= {root / name.replace(".", "/") / "__init__.py" for name in modules}
    # What modules read: schemas, pages, the lab's own hints. And what the labs read.
    files = {file for file in files if file.is_file()}
    beside = {file for folder in {file.parent for file in files} for file in folder.iterdir()}
    hints = set((root / "course_lib/teaching/checks").glob("lab*.md"))
    files |= {file for file in beside - hints if file.suffix != ".py"}
    files |= {file for file in hints if file.stem == f"lab{source.lab}"}
    files |= {*(root / "data").rglob("*"), root / "requirements.lock"}
    files = {file for file in files if file.is_file() and "__pycache__" not in file.parts}
    digest = hashlib.sha256(code.encode("utf-8"))
    for file in sorted(files):
        digest.update(file.relative_to(root).as_posix().encode("utf-8") + file.read_bytes())
    return digest.hexdigest()


@cache
def _graph() -> grimp.ImportGraph:
    return grimp.build_graph("course_lib", cache_dir=None)


def passed_before() -> dict[str, str]:
    """Return the hashes that are committed."""
    found: dict[str, str] = json.loads(HASHES.read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="session")
def untouched(request: pytest.FixtureRequest) -> dict[str, list[str]]:
    """What is wrong with each lab that was asked for: two at a time, since some of them wait."""
    asked = {
        item.callspec.params["lab"]
        for item in request.session.items
        if item.path == Path(__file__)
        and (item.get_closest_marker("long") or not _is_known(item.callspec.params["lab"]))
    }
    sources = PROJECT.sources(sorted(asked)) if asked else []
    work = []
    for source in sources:
        notebook = nbformat.read(PROJECT.lab_notebook(source), as_version=4)
        work.append(Job(source.lab, len(notebook.cells), partial(_faults_of, notebook)))
    faults = dict(run_jobs(work, at_once=2, root=PROJECT.root, title="untouched"))
    passed = {one.lab: hash_of(one) for one in sources if faults[one.lab] == []}
    HASHES.write_text(
        json.dumps({**passed_before(), **passed}, indent=1, sort_keys=True) + "\n", "utf-8"
    )
    return faults


def _is_known(lab: str) -> bool:
    (source,) = PROJECT.sources([lab])
    return passed_before().get(lab) == hash_of(source)


@pytest.mark.timeout(1800)  # the first of them waits for all
@pytest.mark.parametrize("lab", LABS)
def test_an_untouched_lab_fails_in_its_check_cells_and_nowhere_else(
    lab: str, request: pytest.FixtureRequest
) -> None:
    if _is_known(lab):
        pytest.skip("neither the lab nor what it imports has changed; make test-long executes it")
    assert request.getfixturevalue("untouched")[lab] == []


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("lab", LABS)
def test_every_untouched_lab_fails_in_its_check_cells_and_nowhere_else(
    lab: str, untouched: dict[str, list[str]]
) -> None:
    assert untouched[lab] == []


def _faults_of(notebook: nbformat.NotebookNode, on_cell: OnCell) -> list[str]:
    if error := execute(notebook, PROJECT.labs, on_cell, allow_errors=True):
        return [str(error)]
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
