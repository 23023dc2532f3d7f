"""The same class gets the same grades and flags, however much else the machine has to do."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from course_lib.teaching.grade import Grade, Limits
from course_lib.teaching.grade.plagiarism import COURSE
from tests.grading.classroom import IN_ITS_AUDIT
from tests.grading.conftest import grade_lab, lab_master

pytestmark = pytest.mark.long
LIMITS = Limits(cell=5, budget=60)

BUSY = """
import time
def work(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
"""
SLOW = BUSY + "mine = {0}\ndef {0}(*args, **named):\n    {1}\n    return mine(*args, **named)\n"
PRINTS = "print('x' * 50_000_000)\nfor _ in range(500_000):\n    print('y' * 100)\n"
PRINTS += SLOW.format("split_recursively", "print('x' * 500_000)")
"""50 MB at once, in lines, and more than that in calls."""

WRITTEN = {  # what is written below the right answer to 1.1, whose check may take 3 s
    "slow": SLOW.format("split_recursively", "work(0.002)"),
    "slow cell": BUSY + "work(3.5)",
    "prints": PRINTS,
    "never ends": SLOW.format("split_recursively", "work(1e6)"),
}


@contextmanager
def load(processes: int) -> Iterator[None]:
    """Keep the machine busy with so many endless loops."""
    command = [sys.executable, "-c", "while True: pass"]
    busy = [subprocess.Popen(command) for _ in range(processes)]
    try:
        yield
    finally:
        for one in busy:
            one.kill()
            one.wait()


def graded(folder: Path, busy: int) -> dict[str, Grade]:
    """Grade the class while the machine does something else."""
    right = lab_master("01").solutions
    name = next(one for one, text in right.items() if "def split_recursively" in text)
    answers = {who: right | {name: f"{right[name]}\n{more}"} for who, more in WRITTEN.items()}
    with load(busy):
        return {one.learner: one for one in grade_lab(folder, "01", answers, LIMITS)}


def flags_of(one: Grade) -> list[str]:
    """Return the flags but for those that name the answers of this test, which are the course's."""
    return [flag.says for flag in one.flags if COURSE not in flag.says]


def test_a_class_gets_the_same_grades_and_flags_three_times_under_load(tmp_path: Path) -> None:
    runs = [graded(tmp_path / str(busy), busy) for busy in (0, 2, 4)]
    told = [
        {who: ([m.points for m in one.marks], flags_of(one)) for who, one in run.items()}
        for run in runs
    ]
    assert told[0] == told[1] == told[2]
    assert told[0] == {who: ([0 if who == "never ends" else 3, 3, 4], []) for who in WRITTEN}
    assert all("did not come to an end" in run["never ends"].marks[0].said for run in runs)


def test_an_audit_that_does_not_end_takes_the_points_and_is_a_sentence(tmp_path: Path) -> None:
    """With the points it would be a way to have them; 1.3 is judged with the course's version."""
    right = lab_master("01").solutions
    name = next(one for one, text in right.items() if "def find_cut" in text)
    answers = {
        login: right | {name: right[name] + IN_ITS_AUDIT.format(hangs)}
        for login, hangs in (("held", "sum(itertools.count())"), ("stopped", "while True: pass"))
    }
    held, stopped = grade_lab(tmp_path, "01", answers, Limits(cell=2, budget=60))
    for one in (held, stopped):
        assert [mark.points for mark in one.marks] == [3, 0, 4], one
        assert all("find_cut" in flag or " uses " in flag for flag in flags_of(one)), one
    said = held.marks[1].said, stopped.marks[1].said
    assert "no end after 10 s of work" in said[0] and "did not come to an end" in said[1]
