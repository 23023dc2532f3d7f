"""Submissions a minute, against nbgrader's autograde and plain nbval on the same notebooks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from course_lib.settings import project_root
from course_lib.teaching.grade import Order, find_fence, grade_all, lab_masters, read_master
from tests.bench.measure import Row
from tests.bench.peers import PeerError

OURS = 40
THEIRS = 2
LAB = "01"


def measure() -> list[Row]:
    """Grade a light lab three ways; the solution itself is what everybody hands in."""
    (path,) = lab_masters([LAB])
    with tempfile.TemporaryDirectory(prefix="bench-grade-") as name:
        folder = Path(name)
        handed_in = folder / "handed-in"
        handed_in.mkdir()
        for number in range(OURS):
            shutil.copy(path, handed_in / f"learner{number:03}.ipynb")
        # Their start and the master's trial are spread over a class, as they would be.
        master = read_master(path, lab=LAB)
        begun = time.monotonic()
        book = grade_all(Order(handed_in, folder / "out", master, find_fence()))
        ours = (time.monotonic() - begun) / OURS
        if any(one.score != master.points for one in book.grades):
            raise PeerError("our own grader did not give full marks to the solution")
        one = folder / "one"
        one.mkdir()
        shutil.copy(path, one / "learner.ipynb")
        begun = time.monotonic()
        grade_all(Order(one, folder / "out-one", master, find_fence(), jobs=1))
        alone = time.monotonic() - begun
        rows = [Row("grade", "one alone", "limit", alone, 2.5, "s", 2.5 / alone, 1.0)]
        for peer, seconds, goal in (
            ("nbgrader autograde", _nbgrader(path, folder), 10.0),
            ("nbval", _nbval(path), None),
        ):
            note = f"{60 / ours:.0f} a minute with {os.cpu_count()} cores"
            rows.append(
                Row("grade", "a submission", peer, ours, seconds, "s", seconds / ours, goal, note)
            )
    return rows


def _nbgrader(path: Path, folder: Path) -> float:
    """Return nbgrader's seconds for a submission: the same notebook for `THEIRS` learners."""
    course = folder / "nbgrader"
    source = course / "source" / "lab" / path.name
    source.parent.mkdir(parents=True)
    shutil.copy(path, source)
    _run(["generate_assignment", "lab", "--create", "--force"], course)
    for number in range(THEIRS):
        target = course / "submitted" / f"learner{number}" / "lab"
        target.mkdir(parents=True)
        shutil.copy(path, target)
    begun = time.monotonic()
    _run(["autograde", "lab"], course)
    return (time.monotonic() - begun) / THEIRS


def _run(arguments: list[str], course: Path) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": str(project_root()),
        "COURSE_ROOT": str(project_root()),
    }
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments, f"--course-dir={course}"],
        cwd=course, env=environment, capture_output=True, encoding="utf-8", timeout=600,
    )  # fmt: skip
    if done.returncode:
        raise PeerError(f"nbgrader {arguments[0]}: {done.stderr.strip().splitlines()[-1]}")


def _nbval(path: Path) -> float:
    """Return the seconds that nbval takes for the notebook, start included."""
    command = [sys.executable, "-m", "pytest", "--nbval-lax", "-q", "-n0", "-p", "no:cacheprovider"]
    begun = time.monotonic()
    done = subprocess.run(
        [*command, str(path)], cwd=project_root(), capture_output=True, timeout=600
    )
    if done.returncode:
        raise PeerError("nbval failed on the solution")
    return time.monotonic() - begun
