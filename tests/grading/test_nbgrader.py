"""nbgrader's own commands on a class: exports, its autograde within our fence, feedback."""

import contextlib
import csv
import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import httpx
import pytest
from nbgrader.apps.api import NbGraderAPI
from nbgrader.converters import GenerateFeedback
from nbgrader.utils import capture_log
from playwright.sync_api import Page, sync_playwright

from course_lib.errors import InputError
from course_lib.settings import project_root
from course_lib.teaching.classroom import (
    Classroom,
    accept,
    add_assignment,
    add_to_roster,
    grade_assignment,
    make_class,
)
from course_lib.teaching.classroom.autograded import write_autograded
from course_lib.teaching.classroom.feedback import make_feedback
from course_lib.teaching.classroom.record import record
from course_lib.teaching.classroom.roster import Learner
from course_lib.teaching.classroom.taken import Taken, write_taken
from course_lib.teaching.grade import Options, read_master
from course_lib.teaching.grade.report import read_grades
from course_lib.teaching.notebooks.release import released
from tests.blackbox.course import Course
from tests.grading.classroom import RIGHT, hand_in, learners, master_notebook, write_master
from tests.grading.conftest import any_fence, has_fence, needs_fence
from tests.grading.gradebooks import WORDS, copy_of, flag, graded, master_in, scores, submit
from tests.needs import needs

MOODLE = "--exporter=course_lib.teaching.classroom.export.MoodleExporter"
WRONG = RIGHT | {"double": "def double(x):\n    return 3 * x"}
ROSTER = (
    Learner("ada", "Ada", "Lovelace", "ada@example.org", "101"),
    Learner("zoe", "Zoë", 'Müller, "Z."', lms_user_id="102"),
    Learner("=cmd|' /C calc'!A0", "=1+1", "@evil"),
    Learner("flo"),
    Learner("una"),
    Learner("nobody"),
)


def nbgrader(room: Classroom, *words: str) -> str:
    """Run nbgrader in the class's folder, as an instructor does, and return what it says."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *words],
        cwd=room.root, capture_output=True, encoding="utf-8", timeout=300,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(project_root())},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def export(room: Classroom, *words: str) -> str:
    """Run `nbgrader export` in this process, which is quicker, and return what it says."""
    from nbgrader.apps import ExportApp

    said = io.StringIO()
    with contextlib.chdir(room.root), contextlib.redirect_stdout(said):
        app = ExportApp()
        app.initialize(list(words))
        app.start()
    return said.getvalue()


@pytest.fixture
def room(empty: Classroom, tmp_path: Path) -> Classroom:
    """A copy of it in which some are graded, one has a flag and one is undecided."""
    room = copy_of(empty, tmp_path)
    with room.gradebook() as book:
        add_to_roster(book, ROSTER)
        book.update_or_create_assignment(WORDS, duedate=datetime(2026, 11, 20))
        on_time, late = datetime(2026, 11, 19), datetime(2026, 11, 21)
        for grade, time in (
            (graded("ada", 3.0, 5.0, 2.0, 0.0), on_time),
            (graded("zoe", 3.0, 0.0, 2.0, 1.5), late),
            (graded("=cmd|' /C calc'!A0", 0.0, 0.0, 0.0, 0.0), None),
            (graded("flo", 3.0, 5.0, 2.0, 0.0, flags=(flag("check-longest: uses sys"),)), on_time),
            (graded("una", 3.0, 5.0, 2.0, None), on_time),
        ):
            record(book, master_in(tmp_path), grade, {})
            book.find_submission(WORDS, grade.learner).timestamp = time
        book.db.commit()
    return room


def test_nbgraders_commands_need_no_activated_environment(room: Classroom, tmp_path: Path) -> None:
    """`nbgrader db upgrade` starts alembic by its name, and there is no other place for it."""
    course = str(Path(sys.executable).with_name("course"))
    given = {name: value for name, value in os.environ.items() if name != "PATH"}

    def run(*words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [course, "nbgrader", *words], cwd=tmp_path, env={**given, "PATH": "/usr/bin:/bin"},
            capture_output=True, encoding="utf-8", timeout=300,
        )  # fmt: skip

    assert run("--class", str(room.root), "db", "upgrade").returncode == 0
    assert not (tmp_path / "gradebook.db").exists()


def table(path: Path) -> list[list[str]]:
    return list(csv.reader(path.read_text(encoding="utf-8").splitlines()))


def test_canvas_gets_who_is_decided_and_no_formulas(room: Classroom) -> None:
    said = export(room, "--to", "canvas.csv")
    assert table(room.root / "canvas.csv") == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", WORDS],
        ["    Points Possible", "", "", "", "", "14"],
        ["'@evil, =1+1", "", "", "'=cmd|' /C calc'!A0", "", "0"],
        ["Lovelace, Ada", "101", "", "ada", "", "10"],
        ['Müller, "Z.", Zoë', "102", "", "zoe", "", "6.5"],
    ]
    assert "flo (words: flagged), una (words: not decided)" in said and "3 of 6" in said
    whole = export(room, "--LmsExporter.everything=True", "--to", "all.csv")
    assert "kept back" not in whole
    everybody = {row[3]: row[5] for row in table(room.root / "all.csv")}
    assert (everybody["flo"], everybody["una"]) == ("10", "10") and "nobody" not in everybody


def test_what_a_person_has_looked_at_is_exported(room: Classroom) -> None:
    with room.gradebook() as book:
        assert accept(book, WORDS, "flo") == 10
        with pytest.raises(InputError, match="una has no points yet for essay"):
            accept(book, WORDS, "una")
        with pytest.raises(InputError, match="nobody has no grade for words"):
            accept(book, WORDS, "nobody")
        essay = book.find_grade("essay", WORDS, WORDS, "una")
        essay.manual_score, essay.needs_manual_grade = 2.0, False  # as formgrader does
        book.db.commit()
    assert "kept back" not in export(room, MOODLE)
    assert {row[0]: row[2] for row in table(room.root / "moodle.csv")}["una"] == "12"


def test_feedback_is_held_back_as_the_export_is(room: Classroom) -> None:
    """ada's and zoe's pages are made and come back to the LMS; flo has a flag, una an essay."""
    notebook = json.loads((room.place("release", ".", WORDS) / f"{WORDS}.ipynb").read_text("utf-8"))
    for login in ("ada", "zoe", "flo", "una"):
        write_autograded(notebook, room.place("autograded", login, WORDS), WORDS)
        (page := room.place("feedback", login, WORDS)).mkdir(parents=True)
        (page / f"{WORDS}.html").write_text("earlier", encoding="utf-8")
    (room.place("submitted", "zoe", WORDS)).mkdir(parents=True)
    write_taken(Taken("mullerzoe_LATE_102_9002_"), room.place("submitted", "zoe", WORDS))
    made = make_feedback(room, WORDS)
    assert made.kept_back == {"flo": "flagged", "una": "not decided"}
    assert [*made.pages] == ["ada", "zoe"] and made.not_in_it == ("ada",)
    assert (
        sorted(path.name for path in (room.root / "feedback").rglob("*.html")) == ["words.html"] * 2
    )
    page = made.pages["zoe"].read_bytes()
    assert b"earlier" not in page and b"6.5 / 14" in page
    assert made.archive is not None
    with zipfile.ZipFile(made.archive) as archive:
        assert archive.namelist() == ["mullerzoe_LATE_102_9002_words.html"]
        assert archive.read("mullerzoe_LATE_102_9002_words.html") == page
    for login, why in (("zoe", ""), ("flo", "flo gets no feedback on words yet: flagged")):
        directory = room.course_directory(assignment_id=WORDS, student_id=login)
        said = capture_log(GenerateFeedback(coursedir=directory, config=room.config, force=True))
        assert said["success"] is not bool(why) and why in said.get("log", "")
    assert not (room.root / "feedback" / "flo" / WORDS / f"{WORDS}.html").exists()


def test_moodle_gets_the_same_by_its_names(room: Classroom) -> None:
    export(room, MOODLE)
    assert table(room.root / "moodle.csv") == [
        ["username", "email", WORDS],
        ["'=cmd|' /C calc'!A0", "", "0"],
        ["ada", "ada@example.org", "10"],
        ["zoe", "", "6.5"],
    ]


def test_an_export_that_cannot_be_written_says_so(room: Classroom) -> None:
    with pytest.raises(SystemExit, match=r"x\.csv cannot be written"):
        export(room, MOODLE, "--to", "gradebook.db/x.csv")


def test_assignments_of_several_notebooks_are_exported_too(room: Classroom) -> None:
    with room.gradebook() as book, book.db.no_autoflush:
        book.add_assignment("ps1", duedate=datetime(2026, 11, 20))
        for name in ("problem1", "problem2"):
            book.add_notebook(name, "ps1")
            book.add_grade_cell("test", name, "ps1", max_score=2, cell_type="code")
        done = book.add_submission("ps1", "ada", timestamp="2026-11-22 10:00:00 UTC")
        for notebook in done.notebooks:
            (grade,) = notebook.grades
            grade.auto_score, grade.needs_manual_grade = 1.5, False
        book.db.commit()
    export(room, MOODLE)
    assert table(room.root / "moodle.csv")[0] == ["username", "email", "ps1", WORDS]
    assert ["ada", "ada@example.org", "3", "10"] in table(room.root / "moodle.csv")
    assert ["zoe", "", "", "6.5"] in table(room.root / "moodle.csv")


@pytest.mark.parametrize("points", [(2, 3, 2), (6, 4, 2)], ids=sum)
def test_a_lab_counts_what_its_checks_count_in_grades_gradebook_and_exports(
    points: tuple[int, ...], tmp_path: Path
) -> None:
    """Labs of 7 and of 12 points; what is wrong costs the points of its check."""
    notebook = master_notebook()
    checks = [cell for cell in notebook.cells if cell.get("id", "").startswith("check-")]
    for cell, most in zip(checks, points, strict=True):
        cell.metadata["nbgrader"]["points"] = most
    master = read_master(write_master(tmp_path, notebook))
    room = make_class(tmp_path / "class")
    add_assignment(room, master)
    for login, answers in {"ada": RIGHT, "bob": WRONG}.items():
        (place := room.place("submitted", login, WORDS)).mkdir(parents=True)
        hand_in(place, WORDS, learners(released(notebook), answers))
    report = grade_assignment(room, master, Options(any_fence(), jobs=1))
    ada, bob = sum(points), sum(points[1:])
    assert [(one.score, sum(mark.max for mark in one.marks)) for one in report.grades] == [
        (ada, sum(points)),
        (bob, sum(points)),
    ]
    assert scores(room) == {"ada": (ada, False), "bob": (bob, False)}
    export(room, "--to", "canvas.csv")
    assert [row[-1] for row in table(room.root / "canvas.csv")] == [
        WORDS, str(sum(points)), str(ada), str(bob),
    ]  # fmt: skip
    export(room, MOODLE)
    assert table(room.root / "moodle.csv")[1:] == [["ada", "", str(ada)], ["bob", "", str(bob)]]


def test_late_penalties_are_worked_out_again_before_an_export(room: Classroom) -> None:
    """An override after the penalty was assigned would else go out with the old one."""
    config = room.root / "nbgrader_config.py"
    text = config.read_text(encoding="utf-8").replace('"none"\n', '"zero"\n')
    config.write_text(text, encoding="utf-8")
    export(room, MOODLE)
    with room.gradebook() as book:
        grade = book.find_grade("check-longest", WORDS, WORDS, "zoe")
        assert book.find_submission(WORDS, "zoe").late_submission_penalty == 6.5
        grade.manual_score = 5.0
        book.db.commit()
    export(room, MOODLE)
    assert ["zoe", "", "0"] in table(room.root / "moodle.csv")
    with room.gradebook() as book:
        book.find_submission(WORDS, "zoe").timestamp = datetime(2026, 11, 19)
        book.db.commit()
    export(room, MOODLE)
    assert ["zoe", "", "11.5"] in table(room.root / "moodle.csv")


@pytest.mark.long
@needs_fence
def test_autograde_runs_within_the_fence_and_feedback_says_why(empty: Classroom, tmp_path) -> None:
    room = copy_of(empty, tmp_path)
    burglar = (
        "from course_lib.settings import project_root\n"
        "def double(x):\n    open(project_root() / 'gone', 'w')"
    )
    prints = "def double(x):\n    print('<script>alert(2)</script>')\n    "
    shows = {"double": f"{prints}return x + x if x != 7 else 0"}
    essay = shows | {"essay": "<script>alert(1)</script>"}
    submit(
        room, {"ada": RIGHT | essay, "bob": RIGHT | {"double": burglar}}, "2026-11-23 10:00:00 UTC"
    )
    nbgrader(room, "autograde", WORDS)
    with contextlib.chdir(room.root):
        assert NbGraderAPI(room.course_directory()).get_autograded_students(WORDS) == {"ada", "bob"}
    source = room.place("source", ".", WORDS) / f"{WORDS}.ipynb"
    text = source.read_text(encoding="utf-8")
    source.write_text(text.replace("double(-3) == -6", "double(7) == 14"), encoding="utf-8")
    said = nbgrader(room, "autograde", WORDS, "--force", "--student", "ada")
    assert "ada: 10 points before, now 7" in said
    assert scores(room) == {"ada": (7, True), "bob": (7, True)}  # an essay, and a flag
    assert not (project_root() / "gone").exists()
    with room.gradebook() as book:
        assert [one.flagged for one in book.find_submission(WORDS, "bob").notebooks] == [True]
        accept(book, WORDS, "bob")
        essay = book.find_grade("essay", WORDS, WORDS, "ada")
        essay.manual_score, essay.needs_manual_grade = 2.0, False
        book.db.commit()
    assert "ada" in nbgrader(room, "generate_feedback", WORDS)
    pages = {
        login: (room.place("feedback", login, WORDS) / f"{WORDS}.html").read_text("utf-8")
        for login in ("ada", "bob")
    }
    assert "check-double: not right yet" in pages["bob"]
    assert "<script>alert" not in pages["ada"] and "alert(2)" in pages["ada"]


NO_NETWORK = "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"


@contextlib.contextmanager
def formgrader(room: Classroom) -> Iterator[str]:
    """Run `jupyter lab` in the class's folder, as its page says; give its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "jupyterlab", f"--port={port}", "--no-browser"]
    command += ["--allow-root", "--IdentityProvider.token="]
    log = room.root.parent / "log"
    with log.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(command, cwd=room.root, stdout=file, stderr=file)
    try:
        while True:
            with contextlib.suppress(httpx.TransportError):
                httpx.get(f"{address}/api")
                break
            assert process.poll() is None, "the server does not start"
            time.sleep(0.2)
        yield address
    finally:
        process.terminate()
        process.wait(30)
    said = log.read_text(encoding="utf-8", errors="replace")
    assert "formgrader | extension was" in said and not re.search(r"\[E |Unwritable|Trace", said)


@contextlib.contextmanager
def tab() -> Iterator[Page]:
    """Give a tab of Chromium without a network; its pages raise no error."""
    with sync_playwright() as play:
        program = shutil.which("chromium")
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox", NO_NETWORK])
        page, errors = browser.new_page(), list[str]()
        page.on("pageerror", lambda error: errors.append(str(error)))
        yield page
        browser.close()
        assert errors == []


@pytest.mark.long
@needs("chromium")
def test_what_is_done_in_formgrader_survives_a_resumed_grading(
    empty: Classroom, tmp_path: Path
) -> None:
    """Points, a comment, and a flag that is taken down; there is no network."""
    room = copy_of(empty, tmp_path)
    fence = () if has_fence() else ("--no-sandbox",)
    essay = {"essay": "It depends."}
    submit(room, {"ada": RIGHT | essay, "bob": essay}, "2026-11-23 10:00:00 UTC")
    master = tmp_path / f"{WORDS}.ipynb"

    def grade(*words: str) -> str:
        place = ("--master", master, "--class", room.root)
        return Course({}).in_a_process("grade", *place, *fence, *words).ok()

    assert "2 need a person" in grade()
    with room.gradebook() as book:
        for one in book.assignment_submissions(WORDS):
            one.notebooks[0].flagged = True
        book.db.commit()
    with formgrader(room) as address, tab() as page:
        page.goto(f"{address}/formgrader/gradebook")
        page.get_by_role("link", name=WORDS, exact=True).click()
        page.wait_for_url(f"**/gradebook/{WORDS}")
        page.get_by_role("link", name=WORDS, exact=True).click()
        page.wait_for_url(f"**/gradebook/{WORDS}/{WORDS}")
        page.get_by_role("link", name="Submission #").first.click()
        page.wait_for_function("() => formgrader.grades?.loaded && formgrader.comments?.loaded")
        first = "ada" if "return x + x" in page.locator("body").inner_text() else "bob"
        page.keyboard.press("Control+Shift+F")
        page.get_by_text("Submission unflagged").wait_for()
        for field, text in (("#essay", "3.5"), ("#essay-comment", "Which case?")):
            with page.expect_response(lambda one: one.request.method == "PUT") as saved:
                page.locator(field).fill(text)
                page.locator(field).press("Tab")
            assert saved.value.ok

    def given(learner: str) -> tuple[float | None, bool, str]:
        with room.gradebook() as book:
            cell = book.find_grade("essay", WORDS, WORDS, learner)
            comment = book.find_comment("essay", WORDS, WORDS, learner).comment
            return cell.manual_score, cell.needs_manual_grade, comment or ""

    other = "bob" if first == "ada" else "ada"
    assert given(first) == (3.5, False, "Which case?") and given(other)[:2] == (None, True)
    points = scores(room)
    assert points[first] == ((10 if first == "ada" else 0) + 3.5, False)
    seconds = read_grades(room.report(WORDS))[first].seconds
    for changed in (False, True):  # the second time by a hidden check that the class has now
        text = master.read_text(encoding="utf-8")
        if changed:
            master.write_text(text.replace("double(-3) == -6", "double(5) == 10"), "utf-8")
        assert f"1 have flags, and are kept back: {other}" in grade("--resume")
        assert given(first) == (3.5, False, "Which case?") and scores(room) == points
        assert (read_grades(room.report(WORDS))[first].seconds != seconds) is changed
