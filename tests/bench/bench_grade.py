"""Submissions a minute, against nbgrader's autograde on the same notebooks.

nbgrader lives in an environment of its own; the notebooks it runs have our interpreter as kernel,
as ours have.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from course_lib.settings import project_root
from course_lib.teaching.classroom import (
    Classroom,
    add_assignment,
    grade_assignment,
    make_class,
)
from course_lib.teaching.grade import Options, find_fence, lab_masters
from course_lib.teaching.grade.master import read_master
from tests.bench.measure import Row
from tests.bench.peers import NBGRADER, PeerError, peer_python

LIGHT, HEAVY = "01", "05"
"""A lab that is text alone, and one of vectors, whose other cells call the model."""

OURS, OURS_HEAVY, THEIRS = 80, 40, 3
MOST_SECONDS, MOST_ALONE = 0.6, 5.0
"""What an instructor waits for: a class of 200 within two minutes, and one submission."""


def measure() -> list[Row]:
    """Grade a light lab both ways, and a heavy one; everybody hands in the solution."""
    with tempfile.TemporaryDirectory(prefix="bench-grade-") as name:
        folder = Path(name)
        seconds, _ = _ours(LIGHT, OURS, folder / "class")
        ours = seconds / OURS
        alone, _ = _ours(LIGHT, 1, folder / "alone")
        seconds, first = _ours(HEAVY, OURS_HEAVY, folder / "heavy")
        heavy = (seconds - first) / (OURS_HEAVY - 1)
        (path,) = lab_masters([LIGHT])
        theirs = _nbgrader(path, folder)
    note = f"{60 / ours:.0f} a minute with {os.cpu_count()} cores"
    return [
        _limit("a submission, light", ours, MOST_SECONDS, note),
        _limit("a submission, vectors", heavy, MOST_SECONDS, f"{60 / heavy:.0f} after the first"),
        _limit("one alone, light", alone, MOST_ALONE, "the start and the pages included"),
        Row("grade", "a submission, light", "nbgrader autograde", ours, theirs, "s", theirs / ours,
            10.0, note),
    ]  # fmt: skip


def _limit(what: str, seconds: float, most: float, note: str) -> Row:
    return Row("grade", what, "the limit", seconds, most, "s", most / seconds, 1.0, note)


def _ours(lab: str, count: int, folder: Path) -> tuple[float, float]:
    """Return the seconds of a whole run, gradebook included, and after how many the first came.

    The master was tried before: that is done once, and remembered.
    """
    (path,) = lab_masters([lab])
    room = make_class(folder)
    master = read_master(path, lab=lab)
    add_assignment(room, master)
    options = Options(find_fence())
    _submit(room, path, 0)
    grade_assignment(room, master, options)
    for number in range(1, count):
        _submit(room, path, number)
    begun = time.time()
    report = grade_assignment(room, master, options)
    seconds = time.time() - begun
    learners = (room.report(master.name) / "learners").iterdir()
    if [one.score for one in report.grades] != [10.0] * count:
        raise PeerError("our own grader did not give full marks to the solution")
    return seconds, min(path.stat().st_mtime for path in learners) - begun


def _submit(room: Classroom, path: Path, number: int) -> None:
    place = room.place("submitted", f"learner{number:03}", path.stem)
    place.mkdir(parents=True)
    shutil.copy(path, place)


def _nbgrader(path: Path, folder: Path) -> float:
    """Return nbgrader's seconds for a submission: the same notebook for `THEIRS` learners."""
    course = folder / "nbgrader"
    source = course / "source" / "lab" / path.name
    source.parent.mkdir(parents=True)
    shutil.copy(path, source)
    kernel = course / "jupyter" / "kernels" / "python3" / "kernel.json"
    kernel.parent.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    about = {"argv": argv, "display_name": "Python 3", "language": "python"}
    kernel.write_text(json.dumps(about), encoding="utf-8")
    _run(["generate_assignment", "lab", "--create", "--force"], course)
    for number in range(THEIRS):
        target = course / "submitted" / f"learner{number}" / "lab"
        target.mkdir(parents=True)
        shutil.copy(path, target)
    begun = time.monotonic()
    _run(["autograde", "lab"], course)
    seconds = time.monotonic() - begun
    if len(list(course.glob(f"autograded/*/lab/{path.name}"))) != THEIRS:
        raise PeerError("nbgrader did not grade everybody")
    return seconds / THEIRS


def _run(arguments: list[str], course: Path) -> None:
    python = peer_python(NBGRADER)
    environment = {
        **os.environ,
        "PYTHONPATH": str(project_root()),
        "COURSE_ROOT": str(project_root()),
        "JUPYTER_PATH": str(course / "jupyter"),
        # It starts alembic by that name.
        "PATH": f"{python.parent}{os.pathsep}{os.environ.get('PATH', '')}",
    }
    done = subprocess.run(
        [str(python), "-m", "nbgrader", *arguments, f"--course-dir={course}"],
        cwd=course, env=environment, capture_output=True, encoding="utf-8", timeout=600,
    )  # fmt: skip
    if done.returncode:
        raise PeerError(f"nbgrader {arguments[0]}: {done.stderr.strip().splitlines()[-1]}")
