import json
import subprocess
import sys

import pytest

from course_lib.teaching.build import Project, stale_notebooks
from course_lib.teaching.build.untouched import untouched_labs
from course_lib.teaching.run.worker import SCORECARD

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


def test_the_scorecards_of_all_solutions_agree() -> None:
    rows: dict[str, dict[str, list[str]]] = {}
    for source in PROJECT.sources():
        notebook = json.loads(PROJECT.solution_notebook(source).read_text(encoding="utf-8"))
        outputs = (out for cell in notebook["cells"] for out in cell.get("outputs", ()))
        for output in outputs:
            if SCORECARD in output.get("data", {}):
                for row in output["data"]["text/plain"][1:]:
                    said = rows.setdefault(row[:2], {}).setdefault(row.rstrip(), [])
                    said.append(source.lab)
    differing = {lab: found for lab, found in rows.items() if len(found) > 1}
    assert differing == {}, "build the labs again whose row is the older one"


@pytest.mark.parametrize("lab", LABS)
def test_an_untouched_lab_fails_in_its_check_cells_and_nowhere_else(lab: str) -> None:
    assert untouched_labs([lab]) == {lab: []}
