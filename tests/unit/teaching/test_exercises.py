"""Every exercise of every lab: the reference passes, the stub waits, the mutants fail.

A lab joins by `course_lib/teaching/checks/labNN.py` and a file `mutants_labNN.py` beside this one,
which holds `MUTANTS`: exercise id → {wrong version: a piece of the message that names the case
which broke it}; `edits` makes them of functions, texts of SQL and pipelines. A lab whose checks
need a database may define `STUBS` (exercise id → object) where the stub is not a plain function,
and any lab `RIGHT` (exercise id → right answers in another style), for test_draws.py.
"""

import importlib.util
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from course_lib.teaching import CheckFailed, Lab, NotAttempted
from course_lib.teaching.checks import Exercise, load
from course_lib.teaching.checks.probe import Probe
from course_lib.teaching.lab.checking import run_check
from course_lib.teaching.lab.reference import reference
from course_lib.teaching.notebooks.release import SQL_STUB
from tests.blackbox.test_exercises_are_called import exercises
from tests.unit.teaching.partly_right import PARTLY_RIGHT

SOURCES = Path(__file__).resolve().parents[3] / "solutions"
LABS = [lab for lab in sorted(path.name[:2] for path in SOURCES.glob("[0-9]*.py")) if load(lab)]
EXERCISES = [
    pytest.param(lab, exercise, id=exercise.id) for lab in LABS for exercise in load(lab).values()
]


def mutants_of(lab: str) -> ModuleType:
    path = Path(__file__).with_name(f"mutants_lab{lab}.py")
    module = ModuleType(path.stem)
    if path.exists():  # otherwise `test_an_exercise_is_complete` says what is missing
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


def wrong_versions(lab: str) -> dict[str, dict[Any, str]]:
    return getattr(mutants_of(lab), "MUTANTS", {})


MUTANTS = [
    pytest.param(lab, exercise_id, wrong, names, id=f"{exercise_id}-{wrong.__name__}")
    for lab in LABS
    for exercise_id, versions in wrong_versions(lab).items()
    for wrong, names in versions.items()
]


@cache
def session(lab: str) -> Lab:
    return Lab(lab)


def stub(lab: str, exercise: Exercise) -> Any:
    given = getattr(mutants_of(lab), "STUBS", {})
    if exercise.id in given:
        return given[exercise.id]
    if isinstance(reference(lab, exercise), str):
        return f"\n{SQL_STUB}\n"
    namespace: dict[str, Any] = {}
    name = exercise.name.split(".")[-1]
    exec(f"def {name}(*args, **kwargs):\n    raise NotImplementedError()", namespace)
    return namespace[name]


@pytest.mark.parametrize(("lab", "exercise"), EXERCISES)
def test_the_reference_passes(lab: str, exercise: Exercise, capfd: pytest.CaptureFixture[str]):
    known, probes = session(lab), []

    def check(probe: Probe) -> None:
        probes.append(probe)
        exercise.check(probe)

    noted, right = replace(exercise, check=check), reference(lab, exercise)
    run_check(noted, right, exercises=known.exercises, connect=known.connect)
    assert capfd.readouterr().err == ""
    assert len(probes[0].parts) > 1
    assert sum(part.points for part in probes[0].parts) == exercise.points


@pytest.mark.parametrize(("lab", "exercise"), EXERCISES)
def test_the_untouched_stub_is_said_to_be_not_attempted(lab: str, exercise: Exercise):
    with pytest.raises(NotAttempted, match=f"^{exercise.id} not attempted yet$"):
        session(lab).check(exercise.id, stub(lab, exercise))


@pytest.mark.parametrize(("lab", "exercise_id", "wrong", "names"), MUTANTS)
def test_a_wrong_version_fails_and_the_message_names_the_case(
    lab: str, exercise_id: str, wrong: Any, names: str, capfd: pytest.CaptureFixture[str]
):
    """And of some that are partly right it is known how many points they get."""
    with pytest.raises(CheckFailed) as failed:
        session(lab).check(exercise_id, wrong)
    points = PARTLY_RIGHT.get(exercise_id, {}).get(wrong.__name__, failed.value.earned)
    assert failed.value.earned == points
    assert names in str(failed.value)
    assert "hint 1 of" in str(failed.value)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(("lab", "exercise"), EXERCISES)
def test_an_exercise_is_complete(lab: str, exercise: Exercise):
    assert exercise.id.split(".")[0] == str(int(lab)), "the id begins with the lab's number"
    assert exercise.points > 0
    assert len(exercise.hints) >= 2, "hints grow in detail"
    wrong = {one.__name__ for one in wrong_versions(lab).get(exercise.id, {})}
    assert len(wrong) >= 3, f"see mutants_lab{lab}.py"
    assert PARTLY_RIGHT.get(exercise.id, {}).keys() <= wrong, "see partly_right.py"


@pytest.mark.parametrize("lab", LABS)
def test_the_exercises_of_a_lab_count_ten_points(lab: str):
    assert sum(exercise.points for exercise in load(lab).values()) == 10


def test_an_exercise_names_the_function_of_the_library_that_its_cell_imports():
    shown = {exercise_id: named for _, exercise_id, named in exercises()}
    known = {one.id: one.library for lab in LABS for one in load(lab).values()}
    assert known == {
        exercise_id: f"{named[0][0]}:{named[0][1]}" if named else None
        for exercise_id, named in shown.items()
    }
