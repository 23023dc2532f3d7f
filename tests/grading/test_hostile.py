"""Submissions that attack the grader, all graded in one run within the fence."""

import contextlib
import json
import os
import socket
import threading
from pathlib import Path

import psutil
import pytest

from course_lib.settings import project_root
from course_lib.teaching.grade import (
    Limits,
    Options,
    find_fence,
    grade_all,
    read_master,
)
from course_lib.teaching.grade.overview import Person, overview_page
from course_lib.teaching.grade.report import read_grades
from course_lib.teaching.grade.running import PATIENCE
from course_lib.teaching.notebooks.release import released
from tests.grading.classroom import (
    RIGHT,
    hand_in,
    handed_in,
    learners,
    master_notebook,
    write_master,
)
from tests.grading.conftest import needs_fence
from tests.grading.hostile import BURGLARS, DEADLY, ENDLESS, FORGERS, GREEDY

pytestmark = pytest.mark.long
LIMITS = Limits(cell=4.0, budget=30.0, memory=1 << 30)


class Run:
    """A finished run over many submissions."""

    took = 0

    def __init__(self, folder: Path, attacks: dict[str, dict[str, str]]) -> None:
        self.folder = folder
        self.out = folder / "out"
        sheet = released(master_notebook())
        sent = folder / "handed-in"
        sent.mkdir()
        with socket.create_server(("127.0.0.1", 0)) as server:
            places = {
                "PROJECT": str(project_root()), "OUT": str(self.out), "SUBMISSIONS": str(sent),
                "MASTER": str(folder / "words.ipynb"), "PORT": server.getsockname()[1],
            }  # fmt: skip
            head = "".join(f"{name} = {value!r}\n" for name, value in places.items())
            for name, answers in attacks.items():
                answers = {key: head + text for key, text in answers.items()}
                hand_in(sent, name, learners(sheet, answers))
            hand_in(sent, "aa-right", learners(sheet, RIGHT))
            hand_in(sent, "zz-right", learners(sheet, RIGHT))
            master = read_master(write_master(folder))
            self.before = self.traces()
            # Two at a time, so that every one has neighbours.
            self.book = grade_all(handed_in(sent), master, self.out, Options(find_fence(), LIMITS))
            self.after = self.traces()
        self.by_name = {one.learner: one for one in self.book.grades}

    def traces(self) -> set[str]:
        """Return the long-lived processes of sandboxes and the files in places they may know."""
        found = set()
        for one in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):  # it has ended meanwhile
                line = " ".join(one.cmdline())
                if line and "resource_tracker" not in line:
                    found.add(f"process {one.pid}: {line}")
        for place in (
            "/",
            "/usr",
            "/etc",
            "/root",
            "/home",
            "/dev",
            "/dev/shm",
            str(project_root()),
        ):
            if os.path.isdir(place):
                found |= {os.path.join(place, name) for name in os.listdir(place)}
        return found

    def points(self, name: str) -> dict[str, float | None]:
        return {mark.grade_id: mark.points for mark in self.by_name[name].marks}

    def said(self, name: str, check: str = "check-double") -> str:
        return next(m.said for m in self.by_name[name].marks if m.grade_id == check)


ATTACKS = {**ENDLESS, **DEADLY, **GREEDY, **FORGERS, **BURGLARS}
NOISY = {"threads-left-behind", "daemons", "output"}
"""Attacks on nobody but time and space, which a limit holds and which cost no points."""

KEEPS_ITS_TIME = {"loop-in-a-cell", "waits-for-input"}
"""Attacks before the answer: whether the first check passes is left open."""

FOUND = {
    "writes-outside": "WROTE []",
    "reads-what-is-not-its-own": "SAW []",
    "reaches-for-the-network": "REACHED []",
    "reads-the-letter": "FOUND []",
    "looks-into-the-parent": "TOLD []",
    "reads-the-hidden-checks": "HIDDEN 0 OWN True",
    "looks-at-processes": "PROCESSES 3",
}
"""What those who look around are told; all of it is their own."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One class of all attacks, graded once; the least free memory is watched meanwhile."""
    lowest = [psutil.virtual_memory().available]
    done = threading.Event()

    def look() -> None:
        while not done.wait(0.2):
            lowest[0] = min(lowest[0], psutil.virtual_memory().available)

    before = lowest[0]
    looking = threading.Thread(target=look)
    looking.start()
    try:
        finished = Run(tmp_path_factory.mktemp("run"), ATTACKS)
    finally:
        done.set()
        looking.join()
    finished.took = before - lowest[0]
    return finished


@needs_fence
class TestAttacks:
    """What a run over all attacks gives; each sees its own results only."""

    def test_each_ends_within_its_budget_and_harms_nobody(self, run: Run) -> None:
        assert find_fence().kind == "bubblewrap"
        for name in ("aa-right", "zz-right"):
            assert run.by_name[name].score == 10, run.by_name[name]
            assert run.by_name[name].status == "graded" and not run.by_name[name].flags
        left = {
            one for one in run.after - run.before if "course-was-here" in one or "process" in one
        }
        assert not left
        assert all(one.seconds < PATIENCE * LIMITS.budget for one in run.book.grades)

    def test_the_machine_keeps_its_memory(self, run: Run) -> None:
        # Two sandboxes of at most 1 GB each beyond what they begin with, seen five times a second.
        assert run.took < 5 << 30

    @pytest.mark.parametrize("name", sorted({**ENDLESS, **DEADLY, **GREEDY}))
    def test_an_attack_costs_its_own_check_and_no_other(self, run: Run, name: str) -> None:
        points = run.points(name)
        if name in NOISY:
            assert points["check-double"] == 3
        elif name not in KEEPS_ITS_TIME:
            assert not points["check-double"]
        if name not in ("daemons", "output"):
            assert points["check-longest"] == 5 and points["check-later"] == 2

    @pytest.mark.parametrize("name", sorted(FORGERS))
    def test_no_points_come_without_a_flag(self, run: Run, name: str) -> None:
        one, earned = run.by_name[name], run.points(name)["check-double"]
        assert one.flags or not earned, one

    @pytest.mark.parametrize("name", sorted(BURGLARS))
    def test_a_burglar_finds_nothing(self, run: Run, name: str) -> None:
        if name in FOUND:
            assert FOUND[name] in run.said(name)
        else:  # it destroys or leaves something, and answers well
            assert run.by_name[name].score == 10

    def test_a_process_that_died_is_flagged(self, run: Run) -> None:
        assert "the process died" in " ".join(map(str, run.by_name["kill-everything"].flags))

    def test_the_gradebook_and_the_submissions_are_still_there(self, run: Run) -> None:
        told = read_grades(run.out)
        assert told["aa-right"].score == told["deletes-the-gradebook"].score == 10
        assert len(list((run.folder / "handed-in").iterdir())) == len(told) == len(ATTACKS) + 2


@needs_fence
def test_a_run_over_a_folder_of_junk_grades_what_can_be_graded(tmp_path) -> None:
    sent = tmp_path / "in"
    sent.mkdir()
    sheet = released(master_notebook())
    hand_in(sent, "ada", learners(sheet, RIGHT))
    (sent / "bad.ipynb").write_bytes(b"\x00\xff{")
    (sent / "..evil=cmd").mkdir()
    (sent / "=1+1.ipynb").write_text(json.dumps(sheet), encoding="utf-8")
    for name in ("an\nn", "<b>bob", "turned\u202enna", "no-\udcff-text"):  # the last: no UTF-8
        with contextlib.suppress(OSError):  # not every file system takes them
            (sent / f"{name}.ipynb").write_text(json.dumps(sheet), encoding="utf-8")
    master = read_master(write_master(tmp_path))
    book = grade_all(handed_in(sent), master, tmp_path / "out", Options(find_fence()))
    status = {one.learner: one.status for one in book.grades}
    assert status["ada"] == "graded" and status["bad"] == "needs a person"
    assert not list(tmp_path.glob("*evil*"))
    if "an\ufffdn" in status:
        assert {"<b>bob", "turned\ufffdnna", "no-\ufffd-text"} <= status.keys()
    people = [Person(one.learner, f"{one.learner} Doe", 0.0) for one in book.grades]
    page = overview_page(book, master, people)
    assert "ada Doe (ada)" in page and "<b>bob" not in page and "\u202e" not in page
