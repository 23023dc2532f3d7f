"""Ways to points without the work (`cheats.md`): each has none, or is held back from the export."""

import ast
import json
import re
import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from course_lib.loader.recursive import find_cut
from course_lib.settings import project_root
from course_lib.teaching.checks import load
from course_lib.teaching.grade import Grade, Master, Options, grade_all, lab_masters, read_master
from course_lib.teaching.grade.library import answers_of, leave_out
from course_lib.teaching.lab.checking import run_check
from course_lib.teaching.notebooks.release import released
from course_lib.teaching.taught import by_module, find_answer
from tests.grading.classroom import hand_in, handed_in, learners, master_notebook, write_master
from tests.grading.conftest import any_fence, needs_fence

BOOK = (Path(__file__).with_name("cheats.md")).read_text(encoding="utf-8")
CLASSES = dict(part.split("\n", 1) for part in re.split(r"^# (?=Lab|A)", BOOK, flags=re.M)[1:])
ANSWER = re.compile(r"^## (.+?): (.+?)$.*?^```python\n(.*?)^```$", re.M | re.S)

LOOKED_FOR, FORGED, *_ = reversed(list(CLASSES)[:2])


def by_heart() -> str:
    """Return an answer that knows the results of all calls that the check makes."""
    known: dict[str, Any] = {}

    def seen(*args: Any, **named: Any) -> int:
        known[repr((args, named))] = find_cut(*args, **named)
        return int(known[repr((args, named))])

    run_check(load("01")["1.2"], seen)
    return (
        f"KNOWN = {known!r}\ndef find_cut(*args, **named):\n    return KNOWN[repr((args, named))]"
    )


def master_of(title: str, folder: Path) -> tuple[Master, Any]:
    """Return what a class is graded with, and the notebook that its learners get."""
    if lab := title[4:6] if title.startswith("Lab") else "":
        (path,) = lab_masters([lab])
        sheet = json.loads((project_root() / "labs" / path.name).read_text(encoding="utf-8"))
        return read_master(path, lab=lab), sheet
    return read_master(write_master(folder)), released(master_notebook())


@cache
def graded(title: str) -> dict[str, Grade]:
    """Return what is made of the cheats under a heading: all in one class, each by its name."""
    answers = [(exercise, name, text) for exercise, name, text in ANSWER.findall(CLASSES[title])]
    if title == FORGED:
        answers.append(("exercise-1-2", "knows-all-calls", by_heart()))
    with TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "in").mkdir()
        master, sheet = master_of(title, folder)
        for exercise, name, text in answers:
            hand_in(folder / "in", name, learners(sheet, {exercise: text}))
        options = Options(any_fence(), seed="7")
        report = grade_all(handed_in(folder / "in"), master, folder / "out", options)
    return {one.learner: one for one in report.grades}


@needs_fence
@pytest.mark.parametrize(
    "title", [FORGED, *(pytest.param(one, marks=pytest.mark.long) for one in list(CLASSES)[1:])]
)
def test_a_cheat_has_no_points_or_is_held_back(title: str) -> None:
    found = graded(title)
    assert len(found) == CLASSES[title].count("## ") + (title == FORGED)
    for name, one in found.items():
        assert one.flags or not one.score, (name, one)


@needs_fence
@pytest.mark.long
def test_what_leads_to_the_courses_function_leads_to_one_that_is_left_out() -> None:
    found = {name: one.marks[1] for name, one in graded(LOOKED_FOR).items()}
    for name in ("takes-it-when-it-is-there", "asks-a-child"):
        assert not found[name].points
        assert "answer to this lab" in found[name].said, found[name]


def test_a_check_that_was_made_to_pass_has_the_points_of_the_judge_outside() -> None:
    mark = graded(FORGED)["patches-the-judge"].marks[1]
    assert (mark.points, mark.state) == (0, "failed") and "find_cut" in mark.said


def test_an_answer_that_knows_all_calls_of_the_notebook_differs_on_newly_drawn_ones() -> None:
    one = graded(FORGED)["knows-all-calls"]
    assert one.marks[1].state == "passed"
    (flag,) = one.flags
    assert flag.says.startswith("check-1-2: right for known calls alone: a newly drawn call")


@pytest.mark.parametrize("lab", [f"{number:02d}" for number in range(1, 17)])
def test_nothing_of_a_labs_answers_is_in_the_library_that_submissions_see(
    lab: str, tmp_path: Path
) -> None:
    exercises = load(lab).values()
    texts = answers_of(exercises)
    for module, names in by_module(one.library for one in exercises).items():
        place = project_root() / f"{module.replace('.', '/')}.py"
        for path in place.parent.glob("*.*"):
            shutil.copy(path, tmp_path)
        leave_out(tmp_path / place.name, names)
        left = "".join(path.read_text(encoding="utf-8") for path in tmp_path.glob("*.*"))
        for name in names:
            answer = find_answer(texts[f"{module}:{name}"], name)
            assert answer is not None
            lines = ast.unparse(answer).splitlines()
            text = getattr(getattr(answer, "value", None), "value", "\n".join(lines[-2:]))
            assert str(text).strip() not in left, f"{module}:{name}"
