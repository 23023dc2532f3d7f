"""A rehearsal: 60 submissions of three labs, from Canvas's zips to Canvas's grades.

It does what an instructor does who is used to nbgrader, with the same commands. At the end it looks
whether anything was lost.
"""

import csv
import json
import os
import random
import subprocess
import sys
import zipfile
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from course_lib.settings import project_root
from course_lib.teaching.grade import Master, lab_masters, read_master
from tests.grading.classroom import learners
from tests.grading.conftest import needs_fence

LABS = {"01": 21, "02": 20, "16": 19}
"""How many hand each in."""

WRONG = "raise ValueError('I do not know')"
NAMES = ("Ada", "Zoë", "Mia", "=Jan", "Noor", "José", "Lin", 'Eva "E."', "Tom", "Åsa")
LOGINS = [f"learner{number:03}" for number in range(max(LABS.values()))]

Scores = dict[tuple[str, str], float]


def zip_of(folder: Path, master: Master, rights: dict[str, set[str]]) -> Path:
    """Write what Canvas gives for download: one file a learner, the fourth of them late."""
    sheet = json.loads((project_root() / "labs" / master.path.name).read_text(encoding="utf-8"))
    path = folder / f"{master.name} {len(rights)}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for login, right in rights.items():
            number, late = LOGINS.index(login), "LATE_" * (login == LOGINS[3])
            texts = {
                name: text if name in right else
                master.stubs[name].replace("raise NotImplementedError()", WRONG)
                for name, text in master.solutions.items()
            }  # fmt: skip
            name = f"{login}_{late}{7000 + number}_{9000 + number}_{master.name}-1.ipynb"
            archive.writestr(name, json.dumps(learners(sheet, texts)))
    return path


def worth(master: Master, right: set[str]) -> float:
    """Return the points for right answers to some exercises, where each has its own check."""
    named = {cell.grade_id.replace("check", "exercise"): cell.points for cell in master.checks}
    return sum(named[name] for name in right)


def run(folder: Path, name: str, *words: str | Path) -> None:
    """Run a command of the course, or of nbgrader."""
    program = Path(sys.executable).with_name(name)
    path = f"{program.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    done = subprocess.run(
        [program, *map(str, words)], cwd=folder, capture_output=True, encoding="utf-8",
        env={**os.environ, "PATH": path, "PYTHONPATH": str(project_root())},
    )  # fmt: skip
    assert done.returncode == 0, f"{name} {words}: {done.stdout}{done.stderr}"


@pytest.mark.long
@needs_fence
def test_a_class_is_graded_from_zips_to_an_export_and_nothing_is_lost(tmp_path: Path) -> None:
    drawn, room, expected = random.Random(1), tmp_path / "class", Scores()
    masters = {path.stem[:2]: read_master(path, lab=path.stem[:2]) for path in lab_masters([*LABS])}
    with (tmp_path / "roster.csv").open("w", encoding="utf-8", newline="") as file:
        rows = [(one, f"{drawn.choice(NAMES)} Nº{n}", 7000 + n) for n, one in enumerate(LOGINS)]
        csv.writer(file, delimiter=";").writerows([("login", "name", "lms_user_id"), *rows])
    labs = [word for lab in LABS for word in ("--lab", lab)]
    run(tmp_path, "course", "class", "init", room, "--roster", "roster.csv", *labs)
    database = f"sqlite:///{room / 'gradebook.db'}"

    def scores() -> Scores:
        with Gradebook(database) as book:
            found = {lab: book.assignment_submissions(one.name) for lab, one in masters.items()}
            return {(lab, one.student.id): one.score for lab in found for one in found[lab]}

    for lab, master in masters.items():
        with Gradebook(database) as book:
            yesterday = datetime.now(UTC).replace(tzinfo=None) - timedelta(days=1)
            book.update_or_create_assignment(master.name, duedate=yesterday)
        rights = {
            login: {name for name in master.solutions if drawn.random() < 0.8}
            for login in islice(LOGINS, LABS[lab])
        }
        expected |= {(lab, login): worth(master, right) for login, right in rights.items()}
        given = zip_of(tmp_path, master, rights)
        run(tmp_path, "course", "grade", given, "--lab", lab, "--class", room)
    assert scores() == expected and len(expected) == 60

    master, chosen = masters["01"], LOGINS[5]
    with Gradebook(database) as book:  # other points, as one gives them in formgrader
        check = book.find_grade(master.checks[0].grade_id, master.name, master.name, chosen)
        check.manual_score = 0.5
        book.db.commit()
        expected["01", chosen] = book.find_submission(master.name, chosen).score
    again = zip_of(tmp_path, master, {LOGINS[3]: {*master.solutions}})
    run(tmp_path, "course", "grade", again, "--lab", "01", "--class", room, "--resume")
    expected["01", LOGINS[3]] = master.points
    assert scores() == expected
    for lab, count in LABS.items():
        run(tmp_path, "course", "class", "accept", *LOGINS[:count], "--lab", lab, "--class", room)
    run(room, "nbgrader", "export", "--to", "canvas.csv")
    with (room / "canvas.csv").open(encoding="utf-8", newline="") as file:
        head, _, *rows = csv.reader(file)
    exported = {row[3]: dict(zip(head, row, strict=True)) for row in rows}
    for (lab, login), points in expected.items():
        assert float(exported[login][masters[lab].name]) == pytest.approx(points)
    assert "Nº" in rows[0][0] and not any(row[0].startswith("=") for row in rows)
