"""What a person decides on a flag stays decided: by exercise, answer and kind of flag."""

import csv
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from course_lib.settings import project_root
from course_lib.teaching.classroom import Classroom, accept, add_assignment, make_class
from course_lib.teaching.classroom.record import record
from course_lib.teaching.grade import Grade, Master, lab_masters, read_master
from course_lib.teaching.grade.added import Added
from tests.grading.classroom import RIGHT, learners
from tests.grading.conftest import needs_fence
from tests.grading.gradebooks import WORDS, copy_of, flag, graded, master_in

DRAWN = "check-double: right for known calls alone: double({}) gives 1, not 2"
IMPORTS = "double: imports marshal: import marshal"
POINTS = (3.0, 5.0, 2.0, 0.0)


def answered(*flags: str, double: str = RIGHT["double"], added: str = "") -> Grade:
    """Return bob's grade with flags, for an answer to `double` and a cell of his own."""
    cells = (Added(9, "code", added),) if added else ()
    answers = RIGHT | {"double": double, "essay": ""}
    one = graded("bob", *POINTS, flags=tuple(map(flag, flags)))
    return replace(one, answers=answers, added=cells)


@pytest.fixture
def room(empty: Classroom, tmp_path: Path) -> Classroom:
    """A class in which nobody is graded yet."""
    return copy_of(empty, tmp_path)


class Term:
    """bob's grades, one after the other, and what a person does between them."""

    def __init__(self, room: Classroom) -> None:
        self.room, self.master = room, master_in(room.root.parent)
        self.last: Grade | None = None

    def grade(self, one: Grade) -> tuple[bool, bool]:
        """Record a grade; tell whether a person is needed, and whether it is flagged."""
        with self.room.gradebook() as book:
            self.last = record(book, self.master, one, {}, before=self.last)
            done = book.find_submission(WORDS, "bob")
            return done.needs_manual_grade, done.notebooks[0].flagged

    def accept(self) -> None:
        with self.room.gradebook() as book:
            accept(book, WORDS, "bob")

    def give(self, points: float, check: str = "check-double") -> None:
        """Give points in formgrader."""
        with self.room.gradebook() as book:
            cell = book.find_grade(check, WORDS, WORDS, "bob")
            cell.manual_score, cell.needs_manual_grade = points, False
            book.db.commit()

    def score(self) -> float:
        with self.room.gradebook() as book:
            return float(book.find_submission(WORDS, "bob").score)


ASKED, HELD = (True, True), (False, False)


def test_a_decision_falls_with_the_answer_or_a_flag_of_another_kind_and_not_before(
    room: Classroom,
) -> None:
    term = Term(room)
    assert term.grade(answered(DRAWN.format(1))) == ASKED
    assert term.grade(answered(DRAWN.format(2))) == ASKED  # nobody has decided
    term.accept()
    for flags in ((DRAWN.format(3),), (), (DRAWN.format(4),)):
        assert term.grade(answered(*flags)) == HELD, flags
    other = answered(DRAWN.format(4), double="def double(x):\n    return 2 * x")
    assert term.grade(answered(DRAWN.format(4), IMPORTS)) == ASKED
    term.accept()
    assert term.grade(other) == ASKED
    term.accept()
    assert term.grade(answered(DRAWN.format(5), IMPORTS)) == HELD  # the first one again
    longest = replace(other, answers=other.answers | {"longest": "longest = max"})
    assert term.grade(longest) == HELD  # an exercise that the flag is not about


def test_a_helper_that_the_answer_uses_is_a_part_of_it_and_another_cell_is_not(
    room: Classroom,
) -> None:
    uses = "def double(x):\n    return twice(x)"
    helper, term = "def twice(x):\n    return {} * x", Term(room)
    first = answered(DRAWN.format(1), double=uses, added=helper.format(2))
    assert term.grade(first) == ASKED
    term.accept()
    assert term.grade(replace(first, added=(*first.added, Added(9, "code", "print(1)")))) == HELD
    assert term.grade(answered(DRAWN.format(1), double=uses, added=helper.format(3))) == ASKED


def test_points_given_on_a_flag_hold_whatever_the_grader_gives_later(room: Classroom) -> None:
    term = Term(room)
    assert term.grade(answered(DRAWN.format(1))) == ASKED
    term.give(1.5)
    with room.gradebook() as book:
        book.find_submission(WORDS, "bob").notebooks[0].flagged = False
        book.db.commit()
    fails = replace(answered(), marks=graded("bob", 0.0, *POINTS[1:]).marks)
    for one in (answered(DRAWN.format(2)), fails, answered(DRAWN.format(3))):
        assert (term.grade(one), term.score()) == (HELD, 8.5)
    term.give(4.0, "check-longest")  # on no flag: another score of the grader's is news
    fails = replace(answered(), marks=graded("bob", 3.0, 0.0, *POINTS[2:]).marks)
    assert (term.grade(fails), term.score()) == ((True, False), 7.5)


def test_a_submission_that_could_not_be_run_between_takes_no_decision_away(
    room: Classroom,
) -> None:
    failed = replace(graded("bob", None, None, None, None), answers={})
    term = Term(room)
    term.grade(answered(DRAWN.format(1)))
    term.accept()
    for points in (10, 8.5):
        assert term.grade(failed)[0]
        assert (term.grade(answered(DRAWN.format(2))), term.score()) == (HELD, points)
        term.give(1.5)


WRONG_IN_THE_SECOND_SHEET = """
import sys
mine = find_cut
def find_cut(*args, **named):
    frame = sys._getframe(1)
    while frame:
        if frame.f_code.co_name == "outcomes_of" and frame.f_locals["first"]:
            return -1
        frame = frame.f_back
    return mine(*args, **named)
"""


def course(folder: Path, *words: str | Path) -> str:
    """Run the command, which ends well, and return what it says."""
    program = Path(sys.executable).with_name("course")
    done = subprocess.run(
        [program, *map(str, words)], cwd=folder, capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def hand_in(room: Classroom, master: Master, answers: Mapping[str, Mapping[str, str]]) -> None:
    path = project_root() / "labs" / master.path.name
    sheet = json.loads(path.read_text(encoding="utf-8"))
    for login, written in answers.items():
        place = room.place("submitted", login, master.name)
        place.mkdir(parents=True)
        (place / path.name).write_text(json.dumps(learners(sheet, written)), encoding="utf-8")


@pytest.mark.long
@needs_fence
def test_who_was_accepted_stays_in_the_export_when_all_is_graded_with_another_seed(
    tmp_path: Path,
) -> None:
    (path,) = lab_masters(["01"])
    master, room = read_master(path, lab="01"), make_class(tmp_path / "class")
    add_assignment(room, master)
    name = next(one for one, text in master.solutions.items() if "def find_cut" in text)
    cheats = master.solutions[name] + WRONG_IN_THE_SECOND_SHEET
    hand_in(room, master, {"ann": {name: cheats}, "bob": {name: cheats}, "cy": {name: cheats}})
    lab = ("--lab", "01", "--class", room.root)
    said = course(tmp_path, "grade", *lab, "--seed", "1")
    assert "3 have flags, and are kept back: ann, bob, cy" in said
    flags = flags_of(room, master)
    course(tmp_path, "class", "accept", "bob", *lab)
    with room.gradebook() as book:  # as formgrader does
        cell = book.find_grade("check-1-2", master.name, master.name, "ann")
        cell.manual_score, cell.needs_manual_grade = 0.5, False
        book.find_submission(master.name, "ann").notebooks[0].flagged = False
        book.db.commit()
    said = course(tmp_path, "grade", *lab, "--seed", "2")
    assert "1 have flags, and are kept back: cy" in said
    again = flags_of(room, master)
    assert all(again.values()) and again["bob"] != flags["bob"]  # other calls were drawn
    course(tmp_path, "nbgrader", "--class", room.root, "export", "--to", "canvas.csv")
    with (room.root / "canvas.csv").open(encoding="utf-8", newline="") as file:
        exported = {row[3]: row[5] for row in csv.reader(file)}
    assert {who: exported.get(who) for who in again} == {"ann": "0.5", "bob": "3", "cy": None}


def flags_of(room: Classroom, master: Master) -> dict[str, list[str]]:
    kept = sorted((room.report(master.name) / "learners").iterdir())
    return {path.stem: json.loads(path.read_text(encoding="utf-8"))["flags"] for path in kept}
