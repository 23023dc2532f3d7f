"""The notebooks as users get them: `labs/` to fill in, `solutions/`, and README's table."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbgrader.nbgraderformat import read as read_graded

ROOT = Path(__file__).parents[2]
NAMES = sorted(path.name for path in (ROOT / "labs").glob("*.ipynb"))
SCORECARD = "application/vnd.course.scorecard+json"

each_lab = pytest.mark.parametrize("name", NAMES)


def notebook(folder: str, name: str) -> Any:
    with (ROOT / folder / name).open(encoding="utf-8") as file:
        return read_graded(file, as_version=4)  # nbgrader validates what it reads


def about(cell: Any) -> dict[str, Any]:
    given: dict[str, Any] = cell.metadata.get("nbgrader", {})
    return given


def points(sheet: Any) -> dict[str, float]:
    graded = [about(cell) for cell in sheet.cells if about(cell).get("grade")]
    return {one["grade_id"]: one["points"] for one in graded}


def test_labs_are_numbered_from_00_to_16_and_have_a_solution_each() -> None:
    assert [name[:2] for name in NAMES] == [f"{n:02}" for n in range(17)]
    assert sorted(path.name for path in (ROOT / "solutions").glob("*.ipynb")) == NAMES


@each_lab
def test_a_lab_and_its_solution_are_valid_and_are_the_same_notebook(name: str) -> None:
    """Both have the cells that a learner fills in, and checks with points (lab 00: none)."""
    lab, solution = notebook("labs", name), notebook("solutions", name)
    for sheet in (lab, solution):
        nbformat.validate(sheet)
        ids = [cell.id for cell in sheet.cells]
        assert len(set(ids)) == len(ids)
        assert sheet.metadata.kernelspec.name == "python3"
        assert sheet.metadata.course.lab == name[:2]
        assert bool(points(sheet)) != name.startswith("00") and all(points(sheet).values())
    own = {cell.id: cell.source for cell in lab.cells}
    withheld = {"solution", "claim"}
    shown = {cell.id: cell.source for cell in solution.cells if not withheld & {*tags(cell)}}
    assert list(own) == list(shown) and points(lab) == points(solution)
    answers = {cell.id for cell in lab.cells if about(cell).get("solution")}
    assert {one for one in own if own[one] != shown[one]} == answers
    stubs = ("raise NotImplementedError()", "-- YOUR SQL HERE")
    assert all(any(stub in own[one] for stub in stubs) for one in answers)
    assert not any("BEGIN SOLUTION" in text for text in own.values())


def tags(cell: Any) -> list[str]:
    given: list[str] = cell.metadata.get("tags", [])
    return given


@each_lab
def test_a_lab_holds_no_output_and_a_solution_all_of_them(name: str) -> None:
    blank = [cell for cell in notebook("labs", name).cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in blank)
    ran = [cell for cell in notebook("solutions", name).cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in ran] == list(range(1, len(ran) + 1))
    assert any(cell.outputs for cell in ran)


@pytest.mark.parametrize("folder", ["labs", "solutions"])
def test_no_name_in_the_notebooks_is_undefined(folder: str) -> None:
    words = ("check", "--isolated", "--select", "F821")
    notebooks = [ROOT / folder / name for name in NAMES]
    command = [sys.executable, "-m", "ruff", *words, *notebooks]
    found = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert found.returncode == 0, found.stdout


def test_readmes_table_has_a_row_for_each_lab_with_its_title_promise_and_time() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    link = r"^\| \[\*\*(\d\d · .+?)\*\*\]\(labs/(\S+\.ipynb)\)<br>(.*?) \| (\d+ min) \|"
    rows = re.findall(link, text, re.MULTILINE)
    known = [(name, notebook("labs", name).metadata.course) for name in NAMES]
    assert sorted(rows) == [  # the core is in one table, and the electives in another
        (f"{one.lab} · {one.title}", name, one.promise, f"{one.minutes} min") for name, one in known
    ]


def test_the_whole_scorecard_is_shown_in_lab_00_alone() -> None:
    """Later labs show the line that changed; what the course reaches would be the same in each."""
    rows: dict[str, list[str]] = {}
    for name in NAMES:
        sheet = json.loads((ROOT / "solutions" / name).read_text(encoding="utf-8"))
        outputs = (output for cell in sheet["cells"] for output in cell.get("outputs", ()))
        for output in outputs:
            if SCORECARD in output.get("data", {}):
                first, *others = "".join(output["data"]["text/plain"]).splitlines()
                assert first.startswith(f"Lab {name[:2]}: recall@5 "), name
                rows[name[:2]] = re.findall(r"^(docs|manifests|code) ", "\n".join(others), re.M)
    assert rows.pop("00") == ["docs", "manifests", "code"]
    assert rows and not any(rows.values())
