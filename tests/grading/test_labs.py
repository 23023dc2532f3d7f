"""Every lab that is built: its solution, untouched, with the first answer alone, and without it."""

import json
from pathlib import Path

import pytest

from course_lib.settings import project_root
from course_lib.teaching.grade import (
    Limits,
    Master,
    Options,
    Report,
    grade_all,
    read_master,
)
from course_lib.teaching.notebooks.release import WITHHELD
from tests.grading.classroom import handed_in
from tests.grading.conftest import any_fence

pytestmark = pytest.mark.long
LIMITS = Limits(cell=60, budget=240)


def labs_with_points() -> list[Path]:
    """Return the solutions of built labs that have something to grade."""
    return [
        path
        for path in sorted((project_root() / "solutions").glob("*.ipynb"))
        if '"grade": true' in path.read_text(encoding="utf-8")
        and (project_root() / "labs" / path.name).is_file()
    ]


def hand_in(folder: Path, master: Master) -> None:
    """Write four submissions of a lab."""
    folder.mkdir()
    sheet = (project_root() / "labs" / master.path.name).read_text(encoding="utf-8")
    partly = json.loads(sheet)
    answer = master.answers[0]
    for cell in partly["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == answer.grade_id:
            cell["source"] = answer.source
    right = json.loads(master.path.read_text(encoding="utf-8"))
    right["cells"] = [
        cell for cell in right["cells"] if WITHHELD.isdisjoint(cell["metadata"].get("tags", []))
    ]
    texts = {"right": json.dumps(right), "untouched": sheet, "partly": json.dumps(partly)}
    for cell in right["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == answer.grade_id:
            cell["source"] = answer.stub
    texts["later"] = json.dumps(right)
    for name, text in texts.items():
        (folder / f"{name}.ipynb").write_text(text, encoding="utf-8")


def points(book: Report) -> dict[str, list[float | None]]:
    return {one.learner: [mark.points for mark in one.marks] for one in book.grades}


@pytest.mark.parametrize("solution", labs_with_points(), ids=lambda path: path.stem)
def test_a_lab_gives_what_is_due(solution: Path, tmp_path: Path) -> None:
    master = read_master(solution, lab=solution.stem[:2])
    hand_in(tmp_path / "in", master)
    found = handed_in(tmp_path / "in")
    book = grade_all(found, master, tmp_path / "out", Options(any_fence(), LIMITS, jobs=1))
    assert {one.status for one in book.grades} == {"graded"}
    most = [cell.points for cell in master.checks]
    assert sum(most) == 10
    assert points(book) == {
        "right": most, "untouched": [0] * len(most), "partly": [most[0], *[0] * len(most[1:])],
        "later": [0, *most[1:]],
    }, book.grades  # fmt: skip
    flags = [flag for one in book.grades for flag in one.flags]
    assert all("the course's version" in flag for flag in flags), flags  # it was handed in
