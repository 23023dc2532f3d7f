"""The log of a learner's work: who writes it, what is read from it, and which lab opens next."""

import json
import re
from pathlib import Path

import pytest

from course_lib.cli.course import progress
from course_lib.cli.grade import report_times
from course_lib.errors import CourseError, InputError
from course_lib.teaching import attempts
from course_lib.teaching.attempts import by_exercise, latest_lab, note, read_log
from course_lib.teaching.checks import load
from course_lib.teaching.checks.outcomes import CheckFailed, NotAttempted
from course_lib.teaching.classroom.times import class_times
from course_lib.teaching.lab import session
from course_lib.teaching.lab.session import start
from course_lib.teaching.notebooks.project import CORE


def cosine_similarity(a: object, b: object) -> float:
    raise NotImplementedError


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The log of a learner whose folder is a temporary one."""
    monkeypatch.setattr(attempts, "own_log", lambda: tmp_path / "attempts.jsonl")
    monkeypatch.setattr(session, "is_learners", lambda folder: True)
    return tmp_path / "attempts.jsonl"


def test_a_lab_notes_checks_and_hints_and_no_stub(log: Path) -> None:
    lab = start("05")
    with pytest.raises(NotAttempted):
        lab.check("5.1", cosine_similarity)
    with pytest.raises(CheckFailed):
        lab.check("5.1", lambda *given: 0.0)
    lab.hint("5.1")
    found = read_log(log)
    assert found["event"].tolist() == ["started", "failed", "hint"]
    assert found["exercise"].tolist() == ["", "5.1", "5.1"]
    row = by_exercise(found).loc["5.1"]
    assert (row["tries"], row["hints"], row["passed"]) == (1, 1, False)
    for _ in range(9):  # the last hint comes again and again
        lab.hint("5.1")
    hints = len(lab.exercises["5.1"].hints)
    assert by_exercise(read_log(log)).loc["5.1", "hints"] == hints
    assert latest_lab() == "05"


def test_elsewhere_nothing_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "own_log", lambda: tmp_path / "attempts.jsonl")
    lab = start("05")
    lab.hint("5.1")
    assert not (tmp_path / "attempts.jsonl").exists()


def test_what_is_no_line_of_a_log_is_named(tmp_path: Path) -> None:
    log = tmp_path / "attempts.jsonl"
    note("failed", "01", "1.1", log)
    with log.open("a", encoding="utf-8") as file:
        file.write("[1]\n")
    with pytest.raises(InputError, match="line 2 of .* is not a line of a log"):
        read_log(log)
    assert latest_lab(log) == ""


def test_a_class_is_summed_up(tmp_path: Path) -> None:
    events = {
        "ada": [(0, "failed"), (60, "hint"), (240, "passed"), (250, "failed")],
        "bo": [(0, "failed"), (30, "failed")],
        "cy": [(0, "passed")],
    }
    for who, lines in events.items():
        with (tmp_path / f"{who}.jsonl").open("w", encoding="utf-8") as file:
            for second, event in lines:
                at = f"2026-11-27T12:{second // 60:02}:{second % 60:02}+00:00"
                line = {"at": at, "lab": "10", "exercise": "10.1", "event": event}
                file.write(json.dumps(line) + "\n")
    note("passed", "09", "9.1", tmp_path / "cy.jsonl")
    table = class_times([tmp_path / f"{who}.jsonl" for who in events])
    assert table.index.tolist() == ["9.1", "10.1"]
    row = table.loc["10.1"]
    assert (row["learners"], row["passed"], row["failed"]) == (3, 2, 1)
    assert (row["median"], row["slowest"]) == (2, 4)


def test_a_classs_table_of_times_is_in_the_classs_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "nbgrader_config.py").write_text("c = get_config()\n", encoding="utf-8")
    log = tmp_path / "attempts.jsonl"
    note("passed", "01", "1.1", log)
    report_times([log], tmp_path / "class")
    table = tmp_path / "class" / "reports" / "times.csv"
    assert table.read_text(encoding="utf-8").startswith("exercise,learners,passed,failed")
    assert f"table: {table}" in capsys.readouterr().out.replace("\n", "")
    with pytest.raises(CourseError, match="holds no class"):
        report_times([log], tmp_path)


def test_progress_counts_the_core_and_the_electives_separately(log: Path, capsys) -> None:
    for lab, exercise in (("01", "1.1"), ("01", "1.1"), ("02", "2.3"), ("03", "3.1")):
        note("passed", lab, exercise, log)
    note("failed", "05", "5.1", log)
    progress()
    said = capsys.readouterr().out
    counted = re.findall(r"^(core|electives): (\d+) of (\d+) exercises passed$", said, re.MULTILINE)
    assert [row[:2] for row in counted] == [("core", "2"), ("electives", "1")]
    exercises = {lab: len(load(lab)) for lab in range(17)}
    core = sum(exercises[int(lab)] for lab in CORE)
    assert [int(row[2]) for row in counted] == [core, sum(exercises.values()) - core]
