import json
import subprocess
import sys

import pytest

from course_lib.teaching.build import Project, stale_notebooks
from course_lib.teaching.build.untouched import untouched_labs

PROJECT = Project()
LABS = [source.lab for source in PROJECT.sources()]


def test_every_notebook_is_what_its_source_gives() -> None:
    assert stale_notebooks() == [], "run `course build`"


@pytest.mark.parametrize("folder", ["labs", "solutions"])
def test_no_name_in_the_notebooks_is_undefined(folder: str) -> None:
    notebooks = sorted((PROJECT.root / folder).glob("*.ipynb"))
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F821"]
    found = subprocess.run([*command, *notebooks], capture_output=True, encoding="utf-8")
    assert found.returncode == 0, found.stdout


@pytest.mark.parametrize("lab", LABS)
def test_nbgrader_accepts_the_lab(lab: str) -> None:
    from nbgrader.nbgraderformat import read

    (source,) = PROJECT.sources([lab])
    for path in (PROJECT.lab_notebook(source), PROJECT.solution_notebook(source)):
        with path.open(encoding="utf-8") as file:
            notebook = read(file, as_version=4)  # validates
        graded = [c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade")]
        assert len(graded) == len(PROJECT.checks(lab))


@pytest.mark.parametrize("lab", LABS)
def test_the_learners_notebook_holds_no_output(lab: str) -> None:
    (source,) = PROJECT.sources([lab])
    notebook = json.loads(PROJECT.lab_notebook(source).read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code)


@pytest.mark.parametrize("lab", LABS)
def test_an_untouched_lab_fails_in_its_check_cells_and_nowhere_else(lab: str) -> None:
    assert untouched_labs([lab]) == {lab: []}
