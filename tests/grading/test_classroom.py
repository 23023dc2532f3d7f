"""A class in nbgrader's folders: what grading writes there, and what it leaves alone."""

import json
import os
import platform
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jupyter_core.paths
import pytest
from jupyter_client.kernelspec import KernelSpecManager
from nbgrader.api import Gradebook
from sqlalchemy import text

from course_lib.cli.grade import make
from course_lib.errors import InputError
from course_lib.settings import project_root
from course_lib.teaching.classroom import (
    Classroom,
    accept,
    add_assignment,
    add_to_roster,
    find_class,
    grade_assignment,
    make_class,
    missing_settings,
    parse_due,
    set_due,
    update_assignment,
)
from course_lib.teaching.classroom.due import own_dates
from course_lib.teaching.classroom.engine import master_of
from course_lib.teaching.classroom.folder import CONFIG
from course_lib.teaching.classroom.given import Given
from course_lib.teaching.classroom.hidden import source_of, with_hidden_checks
from course_lib.teaching.classroom.record import assign_penalty, record
from course_lib.teaching.classroom.roster import Learner
from course_lib.teaching.classroom.setup import make_assignment
from course_lib.teaching.classroom.templates import CONFIGURATION
from course_lib.teaching.classroom.update import AssignmentUpdate
from course_lib.teaching.classroom.versions import Kept, MadeWith, kept_of, what_is_needed
from course_lib.teaching.grade import (
    GradeError,
    GradeReport,
    Master,
    Options,
    lab_masters,
    read_master,
)
from course_lib.teaching.grade.added import Added
from course_lib.teaching.grade.fence import installed_fence
from course_lib.teaching.version import course_version
from tests.grading.classroom import RIGHT
from tests.grading.conftest import any_fence, needs_fence
from tests.grading.gradebooks import (
    WORDS,
    copy_of,
    flag,
    graded,
    master_in,
    new_class,
    scores,
    submit,
)

WRONG = RIGHT | {"double": "def double(x):\n    return 3 * x"}
ESSAY = {"essay": "It <script>alert(1)</script> **depends**."}


def grade(room: Classroom, *learners: str, **how: bool) -> GradeReport:
    master = master_in(room.root.parent)
    return grade_assignment(
        room, master, Options(any_fence(), jobs=1, **how), learners=learners or None
    )


@pytest.fixture(scope="module")
def ran(empty: Classroom, tmp_path_factory: pytest.TempPathFactory) -> Classroom:
    """A class of three that was graded once."""
    room = copy_of(empty, tmp_path_factory.mktemp("ran"))
    submit(room, {"ada": RIGHT | ESSAY, "bob": WRONG, "cleo": {}}, "2026-11-23 10:00:00 UTC")
    (room.place("submitted", "ada", WORDS) / "evil.HTML").write_text("<script>", encoding="utf-8")
    grade(room)
    return room


@pytest.fixture
def room(ran: Classroom, tmp_path: Path) -> Classroom:
    """A copy of that class."""
    return copy_of(ran, tmp_path)


@pytest.fixture
def fresh(empty: Classroom, tmp_path: Path) -> Classroom:
    """A copy of the class without submissions."""
    return copy_of(empty, tmp_path)


def test_an_essay_waits_for_a_person_and_times_are_in_the_gradebook(room: Classroom) -> None:
    assert scores(room) == {"ada": (10, True), "bob": (7, False), "cleo": (0, False)}
    with room.gradebook() as book:
        assert book.find_grade("essay", WORDS, WORDS, "ada").auto_score is None
        assert book.find_comment("essay", WORDS, WORDS, "cleo").comment == "No response."
        assert book.find_submission(WORDS, "ada").timestamp == datetime(2026, 11, 23, 10)


def test_what_a_person_reads_of_a_submission_is_text_and_nothing_else(room: Classroom) -> None:
    place = room.place("autograded", "ada", WORDS)
    assert sorted(path.name for path in place.iterdir()) == ["timestamp.txt", f"{WORDS}.ipynb"]
    text = (place / f"{WORDS}.ipynb").read_text(encoding="utf-8")
    assert "return x + x" in text and "**depends**" in text and "<script" not in text
    kinds = {
        key for cell in json.loads(text)["cells"] for one in cell.get("outputs", ()) for key in one
    }
    assert kinds <= {"output_type", "name", "text"}


def test_a_second_run_takes_nobody_away(room: Classroom) -> None:
    cheap = "def longest(words):\n    return max(words, key=len) if len(words) != 2 else words[1]"
    submit(room, {"bob": RIGHT, "dan": RIGHT | {"longest": cheap}})
    path = room.root.parent / f"{WORDS}.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    hidden = "\n### BEGIN HIDDEN TESTS\nassert longest(['b', 'a']) == 'b'\n### END HIDDEN TESTS"
    checks = notebook["cells"][6]["source"] = [*notebook["cells"][6]["source"], hidden]
    path.write_text(json.dumps(notebook), encoding="utf-8")
    for path in room.place("autograded", "bob", WORDS).iterdir():
        path.chmod(0o444)  # as nbgrader leaves them
    report = grade(room, "bob", "dan")
    assert [one.learner for one in report.grades] == ["ada", "bob", "cleo", "dan"]
    assert scores(room) == {
        "ada": (10, True), "bob": (10, False), "cleo": (0, False), "dan": (5, False),
    }  # fmt: skip
    assert report.changes == {"bob": (7, 10)}
    # nbgrader's own ways of grading take the master from `source/`.
    source = room.place("source", ".", WORDS)
    assert "".join(checks) in {one.source for one in master_of(WORDS, source).checks}
    assert "'b', 'a'" not in (room.root / "release" / WORDS / f"{WORDS}.ipynb").read_text("utf-8")
    (kept,) = (room.root / "gradebook-copies").iterdir()
    with Gradebook(f"sqlite:///{kept}") as book:
        assert book.find_submission(WORDS, "bob").score == 7
    text = (room.place("autograded", "bob", WORDS) / f"{WORDS}.ipynb").read_text(encoding="utf-8")
    assert "3 * x" not in text


def test_the_page_says_what_the_gradebook_says_and_who_is_missing(room: Classroom) -> None:
    """bob has other points by hand and is late, ada's essay waits, dan handed in nothing."""
    with room.gradebook() as book:
        add_to_roster(book, [Learner("bob", "Bob", "<b>"), Learner("dan", "Dan", "Dee")])
        book.update_or_create_assignment(WORDS, duedate=datetime(2026, 11, 22))
        grade_cell = book.find_grade("check-double", WORDS, WORDS, "bob")
        grade_cell.manual_score = 2.5
        number = book.find_submission(WORDS, "bob").notebooks[0].id
        book.db.commit()
    config = room.root / "nbgrader_config.py"
    zero = config.read_text(encoding="utf-8").replace('"none"\n', '"zero"\n')
    config.write_text(zero, encoding="utf-8")
    grade(find_class(room.root), resume=True)
    page = (room.report(WORDS) / "index.html").read_text(encoding="utf-8")
    link = f"http://localhost:8888/formgrader/submissions/{number}/"
    row = (
        '<tr><td><a href="{}">{}</a></td><td class="n">{}</td><td class="n">{}</td><td>{}</td></tr>'
    )
    assert row.format(link, "Bob &lt;b&gt; (bob)", "0", "9.5", "") in page
    assert '>ada</a></td><td class="n">0</td><td class="n">10</td><td>not decided</td>' in page
    assert "1: Dan Dee (dan)" in page and "<b>" not in page
    assert '<td>check-double</td><td class="n">33%</td>' in page


def test_hidden_checks_of_a_lab_are_those_of_the_class(fresh: Classroom) -> None:
    (path,) = lab_masters(["01"])
    master = read_master(path, lab="01")
    notebook = json.loads(path.read_text(encoding="utf-8"))
    hidden = "### BEGIN HIDDEN TESTS\nassert find_cut('a b', 0, 3) == 2\n### END HIDDEN TESTS"
    check = next(one for one in notebook["cells"] if one["id"] == "check-1-1")
    check["source"] = f"{hidden}\nlab.check('1.1', find_cut) # as it was in an older version"
    source = source_of(fresh, master.name)
    source.parent.mkdir(parents=True)
    source.write_text(json.dumps(notebook), encoding="utf-8")
    used = with_hidden_checks(fresh, master)
    first, *others = used.checks
    assert first.source == f"{hidden}\n{master.checks[0].source}" and others == master.checks[1:]
    assert first.stub == master.checks[0].stub and used.digest != master.digest
    assert with_hidden_checks(fresh, used) == used
    assert update_assignment(fresh, master).changes
    assert with_hidden_checks(fresh, master).checks[0].source == first.source


def test_a_time_stamp_that_cannot_be_read_needs_a_person_and_stops_nobody_else(
    fresh: Classroom,
) -> None:
    submit(fresh, {"ada": RIGHT}, "yesterday")
    submit(fresh, {"bob": RIGHT}, "2026-11-23 10:00:00 UTC")
    ada, bob = grade(fresh).grades
    assert (ada.status, ada.notes) == ("needs a person", ("its timestamp.txt cannot be read",))
    assert bob.score == 10 and scores(fresh)["ada"] == (0, True)


def test_what_a_person_did_stays_when_it_is_graded_again(fresh: Classroom) -> None:
    master = master_in(fresh.root.parent)
    first = graded("ada", 3.0, 0.0, 2.0, None, flags=(flag("check-double: uses sys"),))
    with fresh.gradebook() as book:
        record(book, master, first, {"longest": "not right yet"})
        submission = book.find_submission(WORDS, "ada")
        (notebook,) = submission.notebooks
        assert notebook.flagged and submission.needs_manual_grade
        waiting = {one.name for one in notebook.grades if one.needs_manual_grade}
        assert waiting == {"check-double", "essay"}
        by_name = {one.name: one for one in notebook.grades}
        by_name["check-longest"].manual_score, by_name["check-longest"].extra_credit = 4.5, 0.5
        by_name["essay"].manual_score, by_name["essay"].needs_manual_grade = 3.0, False
        (comment,) = (one for one in notebook.comments if one.name == "longest")
        comment.manual_comment = "See me."
        book.db.commit()
        record(book, master, first, {"longest": "still not right"}, before=first)
        assert submission.needs_manual_grade  # nobody has decided on the flag
        assert accept(book, WORDS, "ada") == 13
        kept = first
        for _ in range(2):
            kept = record(book, master, first, {"longest": "still not right"}, before=kept)
    assert scores(fresh) == {"ada": (13, False)}
    with fresh.gradebook() as book:
        assert book.find_comment("longest", WORDS, WORDS, "ada").comment == "See me."
        (notebook,) = book.find_submission(WORDS, "ada").notebooks
        assert not notebook.flagged
        flags = (flag("check-double: uses sys"), flag("check-double: uses gc"))
        flagged = graded("ada", 3.0, 5.0, 2.0, None, flags=flags)
        kept = record(book, master, flagged, {}, before=kept)
        given = {one.name: (one.score, one.needs_manual_grade) for one in notebook.grades}
        assert given == {
            "check-double": (3, True), "check-longest": (5, True), "check-later": (2, False),
            "essay": (3, False),
        }  # fmt: skip
        assert notebook.flagged
        other = graded("ada", 3.0, 5.0, 2.0, None, essay="Something else.")
        record(book, master, other, {}, before=kept)
        assert book.find_grade("essay", WORDS, WORDS, "ada").needs_manual_grade
        assert notebook.flagged  # until a person takes it down
        essay = book.find_grade("essay", WORDS, WORDS, "ada")
        for cells, needed in ((other.added, False), ((Added(9, "markdown", "More."),), True)):
            essay.needs_manual_grade = False
            record(book, master, replace(other, added=cells), {}, before=other)
            assert essay.needs_manual_grade is needed


def test_a_new_class_makes_the_fenced_kernel_known_to_the_environments_jupyter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its `nbgrader_config.py` names it, and other tools take it by its name."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(jupyter_core.paths, "ENV_JUPYTER_PATH", [str(tmp_path / "share/jupyter")])
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    make(tmp_path / "class", labs=["01"])
    assert 'kernel_name = "course-fenced"' in (tmp_path / "class" / CONFIG).read_text("utf-8")
    place = KernelSpecManager().get_kernel_spec("course-fenced").resource_dir
    assert Path(place).is_relative_to(tmp_path / "share")


def test_git_leaves_a_class_alone_wherever_it_is(empty: Classroom, tmp_path: Path) -> None:
    room = copy_of(empty, tmp_path)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    status = ["git", "-C", str(tmp_path), "status", "--porcelain", "-uall", str(room.root)]
    assert subprocess.run(status, check=True, capture_output=True).stdout == b""
    (room.root / ".gitignore").write_text("", encoding="utf-8")
    make_class(room.root)  # an instructor's own stays
    assert b"gradebook.db" in subprocess.run(status, check=True, capture_output=True).stdout


def test_a_class_may_have_a_percent_sign_in_its_path(tmp_path: Path) -> None:
    assert new_class(tmp_path / "100 % of it").root.is_dir()


def test_an_answer_in_a_newer_python_needs_a_person(fresh: Classroom) -> None:
    submit(fresh, {"ada": RIGHT | {"double": "def double(x):\n    return x +* x"}, "bob": RIGHT})
    path = fresh.place("submitted", "ada", WORDS) / f"{WORDS}.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for version, said in (("3.99.1", "needs a person"), ("3.11.0", "graded")):
        notebook["metadata"]["language_info"] = {"name": "python", "version": version}
        path.write_text(json.dumps(notebook), encoding="utf-8")
        ada = next(one for one in grade(fresh, "ada").grades if one.learner == "ada")
        by_name = {mark.grade_id: mark for mark in ada.marks}
        told = by_name["check-double"]
        if said == "needs a person":
            assert told.points is None and "run with 3.99.1" in told.said
            assert f"Python {platform.python_version()} cannot read it" in told.said
            assert by_name["check-longest"].points == 5
        else:
            assert told.points == 0


PER_DAY = """
from nbgrader.plugins import BasePlugin

class PerDay(BasePlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return 2.0 * total_seconds_late / 86400
"""


def test_a_late_submission_loses_what_the_plugin_of_the_class_says(fresh: Classroom) -> None:
    (fresh.root / "per_day_plugin.py").write_text(PER_DAY, encoding="utf-8")
    with (fresh.root / "nbgrader_config.py").open("a", encoding="utf-8") as file:
        file.write('c.AssignLatePenalties.plugin_class = "per_day_plugin.PerDay"\n')
    room = find_class(fresh.root)
    master, grade = master_in(fresh.root.parent), graded("ada", 3.0, 5.0, 2.0, 0.0)
    with room.gradebook() as book:
        book.update_or_create_assignment(WORDS, duedate=datetime(2026, 11, 20))
        for day, lost in ((23, 6), (30, 10), (20, 0)):
            record(book, master, grade, {})
            book.find_submission(WORDS, grade.learner).timestamp = datetime(2026, 11, day)
            book.db.commit()
            assign_penalty(room, book.find_submission(WORDS, "ada"))
            book.db.expire_all()
            assert book.find_submission(WORDS, "ada").late_submission_penalty == lost


def test_a_time_or_a_date_that_changes_later_counts_for_what_is_graded_already(
    room: Classroom,
) -> None:
    config = room.root / "nbgrader_config.py"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace('"none"\n', '"zero"\n'), encoding="utf-8")
    room = find_class(room.root)
    with pytest.raises(InputError, match="no due date"):
        set_due(room, WORDS, datetime(2026, 11, 25), ["bob"])
    assert set_due(room, WORDS, datetime(2026, 11, 24)) == {}
    for login in ("ada", "bob"):
        stamp = room.place("submitted", login, WORDS) / "timestamp.txt"
        stamp.write_text("2026-11-24 10:00:00 UTC", encoding="utf-8")
    seconds = {one.learner: one.seconds for one in grade(room, resume=True).grades}
    with room.gradebook() as book:
        add_to_roster(book, [Learner("dan")])
        bob = book.find_submission(WORDS, "bob")
        assert bob.timestamp == datetime(2026, 11, 24, 10) and bob.late_submission_penalty == 7
    shown = room.place("autograded", "bob", WORDS) / "timestamp.txt"
    assert shown.read_text(encoding="utf-8") == "2026-11-24 10:00:00 UTC"
    assert set_due(room, WORDS, datetime(2026, 11, 25), ["bob", "dan"]) == {"bob": (0, 7)}
    submit(room, {"dan": {}}, "2026-11-24 12:00:00 UTC")
    assert {one.learner: one.seconds for one in grade(room, "ada", resume=True).grades} == seconds
    with room.gradebook() as book:
        for login, hours in (("ada", 10), ("bob", 0)):
            assert book.find_submission(WORDS, login).total_seconds_late == hours * 3600
        assert own_dates(room)[WORDS]["dan"] == datetime(2026, 11, 25)
    assert set_due(room, WORDS, None, ["bob"]) == {"bob": (7, 0)}
    assert set_due(room, WORDS, None) == {"ada": (0, 10), "bob": (0, 7)}
    with pytest.raises(InputError, match="eve is not in the class"):
        set_due(room, WORDS, datetime(2026, 11, 25), ["eve"])


def test_a_due_date_is_a_time_in_a_zone() -> None:
    assert parse_due("2026-12-01 12:00 Europe/Paris") == datetime(2026, 12, 1, 11)
    local = datetime(2026, 12, 1, 23, 59).astimezone(UTC).replace(tzinfo=None)
    assert parse_due("2026-12-01") == parse_due("2026-12-01 23:59") == local
    assert parse_due("none") is None
    for wrong in ("tomorrow", "2026-13-01", "2026-12-01 12:00 Paris", "1.12.2026"):
        with pytest.raises(InputError, match="is not a time"):
            parse_due(wrong)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda whole: b"", "no such table"),
        (lambda whole: whole[: len(whole) // 2], "malformed"),
        (lambda whole: b"PK not a database" * 100, "not a database"),
    ],
    ids=["empty", "cut off", "another file"],
)
def test_a_damaged_gradebook_is_refused_and_stays_as_it_is(fresh, damage, said) -> None:
    submit(fresh, {"ada": RIGHT})
    file = fresh.root / "gradebook.db"
    file.write_bytes(damage(file.read_bytes()))
    before = file.read_bytes()
    with pytest.raises(GradeError, match=said) as caught:
        grade(fresh)
    assert "copy" in caught.value.hint
    assert file.read_bytes() == before and not (fresh.root / "autograded").exists()


def test_a_gradebook_that_another_program_locks_is_one_error_with_a_way_out(
    fresh: Classroom,
) -> None:
    with closing(sqlite3.connect(fresh.root / "gradebook.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(GradeError, match="locked") as caught, fresh.gradebook() as book:
            book.db.execute(text("PRAGMA busy_timeout = 0"))
            add_to_roster(book, [Learner("ada")])
    assert "close formgrader" in caught.value.hint


def test_what_nbgrader_says_against_a_master_is_told(fresh: Classroom) -> None:
    shutil.rmtree(fresh.root / "release")
    (fresh.root / "release").touch()
    with pytest.raises(GradeError, match=r"nbgrader does not take words: \w+Error: .*release"):
        make_assignment(fresh, master_in(fresh.root.parent))


def test_a_gradebook_that_is_gone_is_not_made_anew_over_a_class(room: Classroom) -> None:
    (room.root / "gradebook.db").unlink()
    make_class(room.root)
    with pytest.raises(GradeError, match="there is no gradebook"):
        grade(room)


def test_other_checks_than_those_that_were_graded_with_are_refused(room: Classroom) -> None:
    path = room.root.parent / f"{WORDS}.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    notebook["cells"][4]["metadata"]["nbgrader"]["points"] = 30
    path.write_text(json.dumps(notebook), encoding="utf-8")
    with pytest.raises(GradeError, match="other checks now") as told:
        grade(room)
    assert f"It was made with {course_version()}; the course here is" in str(told.value)


def test_a_class_knows_the_version_that_its_grades_need(room: Classroom) -> None:
    """In its folder, where learners and hand-ins have it too, and in its gradebook."""
    for step in ("source", "release"):
        path = room.place(step, ".", WORDS) / f"{WORDS}.ipynb"
        metadata = json.loads(path.read_text(encoding="utf-8"))["metadata"]
        assert metadata["course_version"] == course_version()
    assert kept_of(room, WORDS).version == course_version() and kept_of(room, "another") == Kept()
    with room.gradebook() as book:
        old = "0.0.9, commit 0123456789ab of 2025-12-01"
        book.db.merge(MadeWith(assignment=WORDS, version=old))
        book.db.commit()
    told = update_assignment(room, change(room, 4, "", points=30))
    assert told.graded == 3
    said = what_is_needed(told.version)
    assert "0.0.9, commit 0123456789ab of 2025-12-01" in said and course_version() in said
    assert "git switch --detach 0123456789ab" in said
    with pytest.raises(GradeError, match="git switch --detach 0123456789ab"):
        grade(room)
    with room.gradebook() as book:  # a class that is older than these versions has no such table
        book.db.execute(text("DROP TABLE course_version"))
        book.db.commit()
    assert kept_of(room, WORDS).version == "" and kept_of(room, WORDS).submissions == 3
    with pytest.raises(GradeError, match="made with an earlier version"):
        grade(room)


def change(room: Classroom, place: int, text: str, **nbgrader: Any) -> Master:
    """Change a cell of the master, and return it."""
    path = room.root.parent / f"{WORDS}.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    notebook["cells"][place]["source"] += text
    if nbgrader:
        notebook["cells"][place]["metadata"]["nbgrader"] |= nbgrader
    path.write_text(json.dumps(notebook), encoding="utf-8")
    return read_master(path)


def release_of(room: Classroom) -> str:
    return (room.place("release", ".", WORDS) / f"{WORDS}.ipynb").read_text(encoding="utf-8")


def test_a_class_that_is_updated_has_what_the_course_has(fresh: Classroom) -> None:
    master = master_in(fresh.root.parent)
    assert update_assignment(fresh, master) == AssignmentUpdate(WORDS, ())
    change(fresh, 0, " and more words")
    told = update_assignment(fresh, change(fresh, 4, "\n# more", points=7))
    assert told == AssignmentUpdate(WORDS, (
        "check-double: 3 points, now 7", "check-double has another text",
        "text and code that are not graded",
    ))  # fmt: skip
    assert "more words" in release_of(fresh) and "hidden -3" not in release_of(fresh)
    with fresh.gradebook() as book:
        assert book.find_assignment(WORDS).max_score == 18
    (fresh.place("source", ".", WORDS) / f"{WORDS}.ipynb").unlink()
    told = update_assignment(fresh, master)
    assert told.changes == ("source/ or release/ had no notebook that can be read",)
    config = fresh.root / "nbgrader_config.py"
    assert missing_settings(fresh) == []
    config.write_text("c = get_config()\nc.ExportApp.plugin_class = 'x'\n", encoding="utf-8")
    assert "GenerateFeedback.preprocessors" in missing_settings(fresh)
    assert "ExportApp.plugin_class" not in missing_settings(fresh)


def test_what_is_released_of_a_lab_is_what_is_in_labs(fresh: Classroom) -> None:
    """Lab 06 has gaps in SQL, for which nbgrader alone has no stub."""
    (path,) = lab_masters(["06"])
    master = read_master(path, lab="06")
    add_assignment(fresh, master)
    place = fresh.place("release", ".", master.name) / path.name
    text = place.read_text(encoding="utf-8")
    own = project_root() / "labs" / path.name
    assert given_cells(text) == given_cells(own.read_text(encoding="utf-8"))
    assert Given(place).is_untouched(own)
    assert "c.GenerateAssignment.preprocessors = PREPROCESSORS" in CONFIGURATION
    place.write_text(text.replace("-- YOUR SQL HERE", "# YOUR CODE HERE"), encoding="utf-8")
    told = update_assignment(fresh, master)
    assert told.changes == ("release/ was not what learners get",)
    assert place.read_text(encoding="utf-8") == text
    assert not update_assignment(fresh, master).changes


def given_cells(text: str) -> list[str]:
    return ["".join(one["source"]) for one in json.loads(text)["cells"]]


def test_an_update_touches_no_grade(room: Classroom) -> None:
    before = scores(room)
    told = update_assignment(room, change(room, 0, " and more words"))
    assert told == AssignmentUpdate(WORDS, ("text and code that are not graded",))
    assert "more words" in release_of(room) and scores(room) == before
    told = update_assignment(room, change(room, 4, "", points=30))
    had = course_version()
    assert told == AssignmentUpdate(
        WORDS, ("check-double: 3 points, now 30",), graded=3, version=had
    )
    (room.place("source", ".", WORDS) / f"{WORDS}.ipynb").unlink()
    assert update_assignment(room, master_in(room.root.parent)).graded == 3
    assert '"points": 30' not in release_of(room) and scores(room) == before


def test_what_is_no_class_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(GradeError, match="something else"):
        make_class(tmp_path)
    (tmp_path / "nbgrader_config.py").write_text("c = get_config(", encoding="utf-8")
    with pytest.raises(GradeError, match="cannot be read"):
        find_class(tmp_path)


GRADE_IT = """
import signal, sys
from pathlib import Path
from course_lib.errors import CourseError
from course_lib.teaching.classroom import *
from course_lib.teaching.grade import *
if __name__ == "__main__":
    # A shell starts what runs in the background with this signal ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    folder = Path(sys.argv[1])
    options = Options(find_fence(sandbox=sys.argv[2] != "none"), Limits(cell=50), jobs=1)
    try:
        master = read_master(folder / "words.ipynb")
        print(grade_assignment(find_class(folder / "class"), master, options).waiting)
    except CourseError as error:
        print(error)
"""


def start_grading(room: Classroom, *before: str) -> subprocess.Popen[str]:
    script = room.root.parent / "grade_it.py"
    script.write_text(GRADE_IT, encoding="utf-8")
    return subprocess.Popen(
        [*before, sys.executable, str(script), str(room.root.parent), any_fence().kind],
        stdout=subprocess.PIPE, text=True, cwd=project_root(),
    )  # fmt: skip


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_leaves_a_gradebook_of_what_was_done(fresh: Classroom) -> None:
    slow = RIGHT | {"double": "import time\ntime.sleep(60)"}
    submit(fresh, {"ada": RIGHT | ESSAY, "bob": slow, "cleo": slow})
    process = start_grading(fresh)
    try:
        while not (fresh.report(WORDS) / "learners" / "ada.json").exists():
            assert process.poll() is None
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=60)[0]
    finally:
        process.kill()
    assert "('bob', 'cleo')" in rest
    assert scores(fresh) == {"ada": (10, True)}


@pytest.mark.long
@needs_fence
def test_a_full_disk_is_said_and_takes_nothing_away(fresh: Classroom) -> None:
    """The class is on a file system in memory that has room for the gradebook and little else."""
    submit(fresh, {f"learner{number:02}": RIGHT | ESSAY for number in range(4)})
    size = sum(path.stat().st_size for path in fresh.root.rglob("*") if path.is_file())
    fence = installed_fence()
    assert fence is not None
    folder, copy = fresh.root.parent, fresh.root.parent / "kept"
    fresh.root.rename(copy)
    fresh.root.mkdir()
    kept = folder / "after"
    python = shlex.quote(sys.executable)
    inside = (
        f"cp -r {copy}/. {fresh.root} && {python} {folder}/grade_it.py {folder} none; "
        f"cp -r {fresh.root} {kept}"
    )
    (folder / "grade_it.py").write_text(GRADE_IT, encoding="utf-8")
    command = [fence.program, "--dev-bind", "/", "/", "--size", str(size + 100_000)]
    done = subprocess.run(
        [*command, "--tmpfs", str(fresh.root), "sh", "-c", inside],
        capture_output=True, text=True, cwd=project_root(), timeout=120,
    )  # fmt: skip
    assert "No space left" in done.stdout or "disk is full" in done.stdout, done
    assert "--resume" in done.stdout
    fresh.root.rmdir()
    kept.rename(fresh.root)
    recorded = scores(fresh)
    grade(fresh, resume=True)
    after = scores(fresh)
    assert len(recorded) < 4 == len(after) and set(after.values()) == {(10, True)}
