"""A rehearsal: 200 submissions of three labs, from Canvas's zips to Canvas's grades.

It does what an instructor does who is used to nbgrader, with the same commands. At the end it looks
whether anything was lost.
"""

from __future__ import annotations

import csv
import json
import os
import random
import subprocess
import sys
import zipfile
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from nbgrader.api import Gradebook

from course_lib.settings import project_root
from course_lib.teaching.classroom import accept
from course_lib.teaching.grade import Master, lab_masters, read_master
from tests.grading.conftest import needs_fence

LABS = ("01", "02", "16")
LAB_WORDS = [word for lab in LABS for word in ("--lab", lab)]
LATE = 0.05
"""The share of submissions that Canvas calls late."""

WRONG = "raise ValueError('I do not know')"
NAMES = ("Ada", "Zoë", "Mia", "=Jan", "Noor", "José", "Lin", 'Eva "E."', "Tom", "Åsa")


@dataclass
class Rehearsal:
    """A class, what was handed in, and what was done.

    Attributes
    ----------
    folder
        Where everything is.
    expected
        By lab and login, the points that the answers are worth.
    """

    folder: Path
    count: int = 200
    masters: dict[str, Master] = field(default_factory=dict)
    expected: dict[str, dict[str, float]] = field(default_factory=lambda: defaultdict(dict))
    late: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.random = random.Random(1)
        self.room = self.folder / "class"
        for path in lab_masters(LABS):
            self.masters[path.stem[:2]] = read_master(path, lab=path.stem[:2])
        self.learners = {
            f"learner{number:03}": f"{self.random.choice(NAMES)} Nº{number}"
            for number in range(-(-self.count // len(LABS)))
        }

    def run(self) -> list[str]:
        """Do all of it; return what was lost, which should be nothing."""
        self.run_program(
            "course", "class", "init", self.room, "--roster", self.roster(), *LAB_WORDS
        )
        self.set_due_dates()
        for lab in LABS:
            self.grade(lab, self.zip_of(lab))
        before = self.scores()
        overridden = self.override_two()
        lab, login = sorted(self.late)[0]
        self.grade(lab, self.hand_in_again(lab, login), "--resume")
        after = self.scores()
        self.accept_all()
        self.run_program("nbgrader", "export", "--to", "canvas.csv")
        return self.lost(before, after, overridden, (lab, login))

    def lost(
        self,
        before: dict[tuple[str, str], float],
        after: dict[tuple[str, str], float],
        overridden: dict[tuple[str, str], float],
        again: tuple[str, str],
    ) -> list[str]:
        """Return what is not as it has to be."""
        found = []
        for lab, grades in self.expected.items():
            for login, points in grades.items():
                key = lab, login
                if before.get(key) != points and key != again:
                    found.append(f"{key} had {before.get(key)} and not {points}")
                wanted = overridden.get(key, self.masters[lab].points if key == again else points)
                if after.get(key) != wanted:
                    found.append(f"{key} has {after.get(key)} and not {wanted}")
        with (self.room / "canvas.csv").open(encoding="utf-8", newline="") as file:
            head, _, *rows = csv.reader(file)
        exported = {row[3]: dict(zip(head, row, strict=True)) for row in rows}
        for (lab, login), points in after.items():
            cell = exported.get(login, {}).get(self.masters[lab].name, "")
            if cell == "" or abs(float(cell) - points) > 1e-6:
                found.append(f"{(lab, login)} was exported as {cell!r} and not {points}")
        if sum(map(len, self.expected.values())) != self.count or len(after) != self.count:
            found.append(f"{len(after)} of {self.count} submissions have a grade")
        names = " ".join(row[0] for row in rows)
        if "Nº" not in names or any(row[0].startswith("=") for row in rows):
            found.append("names were not exported as they are")
        return found

    def roster(self) -> Path:
        """Write the roster, as a registrar's office might."""
        path = self.folder / "roster.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter=";")
            writer.writerow(["login", "name", "email", "lms_user_id"])
            for number, (login, name) in enumerate(self.learners.items()):
                writer.writerow([login, name, f"{login}@example.org", 7000 + number])
        return path

    def set_due_dates(self) -> None:
        """Set yesterday, as one does in formgrader."""
        due = datetime.now(UTC).replace(tzinfo=None) - timedelta(days=1)
        with self.gradebook() as book:
            for master in self.masters.values():
                book.update_or_create_assignment(master.name, duedate=due)

    def zip_of(self, lab: str) -> Path:
        """Write what Canvas gives for download: one file a learner, some of them late."""
        master, place = self.masters[lab], LABS.index(lab)
        path = self.folder / f"submissions-{lab}.zip"
        share = self.count // len(LABS) + (place < self.count % len(LABS))
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for number, login in enumerate(list(self.learners)[:share]):
                wanted = {cell.grade_id for cell in master.answers if self.random.random() < 0.8}
                late = self.random.random() < LATE or number == 3
                if late:
                    self.late.add((lab, login))
                self.expected[lab][login] = self.worth(lab, wanted)
                text = json.dumps(self.written(lab, wanted))
                archive.writestr(self.canvas_name(lab, login, number, late), text)
        return path

    def canvas_name(self, lab: str, login: str, number: int, late: bool) -> str:
        """Return the name that Canvas makes of a learner's file."""
        mark = "LATE_" if late else ""
        return f"{login}_{mark}{7000 + number}_{9000 + number}_{self.masters[lab].name}-1.ipynb"

    def worth(self, lab: str, right: set[str]) -> float:
        """Return the points for right answers to some exercises, where each has its own check."""
        return sum(
            cell.points
            for cell in self.masters[lab].checks
            if f"exercise-{cell.grade_id.removeprefix('check-')}" in right
        )

    def written(self, lab: str, right: set[str]) -> dict[str, Any]:
        """Return a lab's notebook with right answers to some exercises, and wrong ones."""
        master = self.masters[lab]
        path = project_root() / "labs" / master.path.name
        sheet: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        answers = {cell.grade_id: cell for cell in master.answers}
        for cell in sheet["cells"]:
            name = cell["metadata"].get("nbgrader", {}).get("grade_id", "")
            if name in right:
                cell["source"] = answers[name].source
            elif name in answers and self.random.random() < 0.5:
                stub = answers[name].stub
                cell["source"] = stub.replace("raise NotImplementedError()", WRONG)
        return sheet

    def override_two(self) -> dict[tuple[str, str], float]:
        """Give two learners other points, as one does in formgrader; return their scores."""
        lab = LABS[0]
        chosen = [one for one in self.expected[lab] if (lab, one) not in self.late][:2]
        name, check = self.masters[lab].name, self.masters[lab].checks[0]
        found = {}
        with self.gradebook() as book:
            for login in chosen:
                book.find_grade(check.grade_id, name, name, login).manual_score = 0.5
                book.db.commit()
                found[lab, login] = book.find_submission(name, login).score
        return found

    def hand_in_again(self, lab: str, login: str) -> Path:
        """Write a later archive with one late learner's second attempt, which is right."""
        path = self.folder / "again.zip"
        every = {cell.grade_id for cell in self.masters[lab].answers}
        number = list(self.learners).index(login)
        with zipfile.ZipFile(path, "w") as archive:
            name = self.canvas_name(lab, login, number, True).replace("-1.ipynb", "-2.ipynb")
            archive.writestr(name, json.dumps(self.written(lab, every)))
        return path

    def accept_all(self) -> None:
        """Decide that nobody cheated, as `course class accept` does."""
        with self.gradebook() as book:
            for master in self.masters.values():
                for one in book.assignment_submissions(master.name):
                    accept(book, master.name, one.student.id)

    def scores(self) -> dict[tuple[str, str], float]:
        """Return what the gradebook holds."""
        with self.gradebook() as book:
            return {
                (lab, str(one.student.id)): float(one.score)
                for lab, master in self.masters.items()
                for one in book.assignment_submissions(master.name)
            }

    def gradebook(self) -> Gradebook:
        """Open the gradebook."""
        return Gradebook(f"sqlite:///{self.room / 'gradebook.db'}")

    def grade(self, lab: str, given: Path, *words: str) -> None:
        """Collect and grade what was handed in for a lab."""
        self.run_program("course", "grade", given, "--lab", lab, "--class", self.room, *words)

    def run_program(self, name: str, *words: str | Path) -> None:
        """Run a command of the course, or of nbgrader in the class's folder."""
        program = Path(sys.executable).with_name(name)
        path = f"{program.parent}{os.pathsep}{os.environ.get('PATH', '')}"
        done = subprocess.run(
            [program, *map(str, words)], cwd=self.room if self.room.is_dir() else self.folder,
            capture_output=True, encoding="utf-8",
            env={**os.environ, "PATH": path, "PYTHONPATH": str(project_root())},
        )  # fmt: skip
        assert done.returncode == 0, f"{name} {words}: {done.stdout}{done.stderr}"


@pytest.mark.long
@needs_fence
def test_a_class_is_graded_from_zips_to_an_export_and_nothing_is_lost(tmp_path: Path) -> None:
    assert not Rehearsal(tmp_path).run()
