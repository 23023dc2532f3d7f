"""Submissions that attack the grader, all graded in one run within the fence."""

import contextlib
import json
import os
import socket
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from course_lib.settings import project_root
from course_lib.teaching.grade import Limits, Order, find_fence, grade_all, read_master
from course_lib.teaching.grade.release import released
from tests.grading.classroom import RIGHT, hand_in, learners, master_notebook, write_master
from tests.grading.conftest import has_fence
from tests.grading.hostile import BURGLARS, CHEATS, DEADLY, ENDLESS, GREEDY

pytestmark = pytest.mark.long
LIMITS = Limits(cell=2.0, budget=15.0, memory=1 << 30)


needs_fence = pytest.mark.skipif(not has_fence(), reason="no bubblewrap that works")


class Run:
    """A finished run over many submissions."""

    def __init__(self, folder: Path, attacks: dict[str, dict[str, str]], *, cold: bool = False):
        self.folder = folder
        self.out = folder / "out"
        sheet = released(master_notebook())
        handed_in = folder / "handed-in"
        handed_in.mkdir()
        with socket.create_server(("127.0.0.1", 0)) as server:
            places = {
                "PROJECT": str(project_root()), "OUT": str(self.out), "SUBMISSIONS": str(handed_in),
                "MASTER": str(folder / "words.ipynb"), "PORT": server.getsockname()[1],
            }  # fmt: skip
            head = "".join(f"{name} = {value!r}\n" for name, value in places.items())
            for name, answers in attacks.items():
                answers = {key: head + text for key, text in answers.items()}
                hand_in(handed_in, name, learners(sheet, answers))
            hand_in(handed_in, "aa-right", learners(sheet, RIGHT))
            hand_in(handed_in, "zz-right", learners(sheet, RIGHT))
            master = read_master(write_master(folder))
            self.before = self.traces()
            # Two at a time, so that every one has neighbours.
            self.book = grade_all(
                Order(handed_in, self.out, master, find_fence(), LIMITS, cold=cold)
            )
            self.after = self.traces()
        self.by_name = {one.learner: one for one in self.book.grades}

    def traces(self) -> set[str]:
        """Return the long-lived processes of sandboxes and the files in places they may know."""
        family = psutil.Process().children(recursive=True)
        found = {
            f"process {one.pid}: {line}"
            for one in family
            if (line := " ".join(one.cmdline())) and "resource_tracker" not in line
        }
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


def run_of(factory: pytest.TempPathFactory, attacks: dict[str, dict[str, str]]) -> Run:
    return Run(factory.mktemp("run"), attacks)


def assert_nobody_else_was_touched(run: Run) -> None:
    for name in ("aa-right", "zz-right"):
        assert run.by_name[name].score == 10, run.by_name[name]
        assert run.by_name[name].status == "graded" and not run.by_name[name].flags
    left = {one for one in run.after - run.before if "course-was-here" in one or "process" in one}
    assert not left


@pytest.fixture(scope="module")
def endless(tmp_path_factory):
    return run_of(tmp_path_factory, ENDLESS)


@needs_fence
class TestEndless:
    @pytest.fixture
    def run(self, endless):
        return endless

    def test_each_ends_within_its_budget_and_harms_nobody(self, run) -> None:
        assert_nobody_else_was_touched(run)
        assert all(one.seconds < LIMITS.budget + 10 for one in run.book.grades)

    @pytest.mark.parametrize("name", sorted(set(ENDLESS) - {"threads-left-behind"}))
    def test_the_checks_that_are_not_about_it_keep_their_points(self, run, name) -> None:
        points = run.points(name)
        assert points["check-longest"] == 5 and points["check-later"] == 2
        if "cell" not in name and name != "waits-for-input":
            assert points["check-double"] == 0

    def test_threads_that_sleep_for_ever_cost_nothing(self, run) -> None:
        assert run.by_name["threads-left-behind"].score == 10


@pytest.fixture(scope="module")
def deadly(tmp_path_factory):
    return run_of(tmp_path_factory, DEADLY)


@needs_fence
class TestDeadly:
    @pytest.fixture
    def run(self, deadly):
        return deadly

    def test_each_ends_and_harms_nobody(self, run) -> None:
        assert_nobody_else_was_touched(run)

    @pytest.mark.parametrize("name", sorted(DEADLY))
    def test_a_process_that_dies_costs_the_cell_that_killed_it(self, run, name) -> None:
        points = run.points(name)
        assert points["check-longest"] == 5 and points["check-later"] == 2
        if name == "kill-everything":  # it reaches nobody, not even the process that forked it
            assert any("ends processes" in flag for flag in run.by_name[name].flags)
        elif "cell" not in name:
            assert points["check-double"] == 0


@pytest.fixture(scope="module")
def greedy(tmp_path_factory):
    lowest = [psutil.virtual_memory().available]
    done = threading.Event()

    def look() -> None:
        while not done.wait(0.2):
            lowest[0] = min(lowest[0], psutil.virtual_memory().available)

    before = lowest[0]
    looking = threading.Thread(target=look)
    looking.start()
    try:
        run = run_of(tmp_path_factory, GREEDY)
    finally:
        done.set()
        looking.join()
    run.took = before - lowest[0]
    return run


@needs_fence
class TestGreedy:
    @pytest.fixture
    def run(self, greedy):
        return greedy

    def test_each_ends_and_harms_nobody(self, run) -> None:
        assert_nobody_else_was_touched(run)

    def test_the_machine_keeps_its_memory(self, run) -> None:
        # Two sandboxes of at most 1 GB each beyond what they begin with, seen ten times a second.
        assert run.took < 5 << 30

    @pytest.mark.parametrize("name", sorted(set(GREEDY) - {"daemons", "output"}))
    def test_it_earns_nothing_and_takes_nothing_from_the_rest(self, run, name) -> None:
        points = run.points(name)
        assert not points["check-double"]
        assert points["check-longest"] == 5 and points["check-later"] == 2

    @pytest.mark.parametrize("name", ["daemons", "output"])
    def test_what_is_only_noisy_keeps_its_points(self, run, name) -> None:
        assert run.points(name)["check-double"] == 3

    def test_processes_are_flagged(self, run) -> None:
        assert any("starts processes" in flag for flag in run.by_name["daemons"].flags)


@pytest.fixture(scope="module")
def cheats(tmp_path_factory):
    return run_of(tmp_path_factory, CHEATS)


@needs_fence
class TestCheats:
    @pytest.fixture
    def run(self, cheats):
        return cheats

    def test_each_ends_and_harms_nobody(self, run) -> None:
        assert_nobody_else_was_touched(run)

    @pytest.mark.parametrize("name", sorted(CHEATS))
    def test_no_points_come_without_a_flag(self, run, name) -> None:
        one = run.by_name[name]
        earned = run.points(name)["check-double"]
        assert not earned or one.flags, one
        if name not in ("skips-by-comment",):
            assert one.flags

    @pytest.mark.parametrize(
        "name", sorted(set(CHEATS) - {"replaces-the-runner", "reads-the-check-from-the-stack"})
    )
    def test_the_check_it_wanted_to_pass_is_not_passed(self, run, name) -> None:
        assert not run.points(name)["check-double"]


@pytest.fixture(scope="module")
def burglars(tmp_path_factory):
    return run_of(tmp_path_factory, BURGLARS)


@needs_fence
class TestBurglars:
    @pytest.fixture
    def run(self, burglars):
        return burglars

    def test_each_ends_and_harms_nobody(self, run) -> None:
        assert_nobody_else_was_touched(run)

    @pytest.mark.parametrize(
        ("name", "told"),
        [
            ("writes-outside", "WROTE []"), ("reads-what-is-not-its-own", "SAW []"),
            ("reaches-for-the-network", "REACHED []"), ("reads-the-letter", "FOUND []"),
            ("looks-into-the-parent", "TOLD []"), ("reads-the-hidden-checks", "HIDDEN 0 OWN True"),
        ],
    )  # fmt: skip
    def test_it_found_nothing(self, run, name, told) -> None:
        assert told in run.said(name)

    def test_the_gradebook_and_the_submissions_are_still_there(self, run) -> None:
        told = json.loads((run.out / "grades.json").read_text(encoding="utf-8"))
        assert told["aa-right"]["score"] == told["deletes-the-gradebook"]["score"] == 10
        assert len(list((run.folder / "handed-in").iterdir())) == len(told) == len(BURGLARS) + 2

    def test_it_sees_its_own_processes_only(self, run) -> None:
        assert "PROCESSES 3" in run.said("looks-at-processes")

    def test_who_left_a_letter_keeps_the_points(self, run) -> None:
        assert run.by_name["leaves-a-letter"].score == 10

    @pytest.mark.parametrize("name", ["writes-outside", "reaches-for-the-network"])
    def test_attempts_are_flagged(self, run, name) -> None:
        assert run.by_name[name].flags


@pytest.mark.skipif(sys.platform != "linux", reason="Linux limits")
@needs_fence
def test_limits_bind_before_anything_dangerous_runs() -> None:
    """The proof of the fence is itself a test of every wall, with something harmless."""
    assert find_fence().kind == "bubblewrap"


@needs_fence
def test_a_run_over_a_folder_of_junk_grades_what_can_be_graded(tmp_path) -> None:
    handed_in = tmp_path / "in"
    handed_in.mkdir()
    sheet = released(master_notebook())
    hand_in(handed_in, "ada", learners(sheet, RIGHT))
    (handed_in / "bad.ipynb").write_bytes(b"\x00\xff{")
    (handed_in / "..evil=cmd").mkdir()
    (handed_in / "=1+1.ipynb").write_text(json.dumps(sheet), encoding="utf-8")
    for name in ("an\nn", "<b>bob", "turned\u202enna", "no-\udcff-text"):  # the last: no UTF-8
        with contextlib.suppress(OSError):  # not every file system takes them
            (handed_in / f"{name}.ipynb").write_text(json.dumps(sheet), encoding="utf-8")
    begun = time.monotonic()
    book = grade_all(
        Order(handed_in, tmp_path / "out", read_master(write_master(tmp_path)), find_fence())
    )
    assert time.monotonic() - begun < 60
    status = {one.learner: one.status for one in book.grades}
    assert status["ada"] == "graded" and status["bad"] == "needs a person"
    assert "'=1+1" in (tmp_path / "out" / "grades.csv").read_text(encoding="utf-8")
    assert not list(tmp_path.glob("*evil*"))
    if "an\ufffdn" in status:
        assert {"<b>bob", "turned\ufffdnna", "no-\ufffd-text"} <= status.keys()
    assert "<b>bob" not in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
