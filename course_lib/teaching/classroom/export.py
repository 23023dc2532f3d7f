"""What Canvas and Moodle import, as nbgrader's exporter plugins.

    course nbgrader export --to canvas.csv --assignment='["01_recursive_splitter"]'
    course nbgrader export --exporter=… --to moodle.csv

Both take an empty cell for a change, so a learner without a grade has no line, or in a table of
several assignments an empty cell that the LMS leaves as it is.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.plugins import ExportPlugin
from traitlets import Bool

from course_lib.errors import CourseError
from course_lib.files import told_if_not_written
from course_lib.teaching.classroom.folder import Classroom, told_if_unusable
from course_lib.teaching.classroom.record import RELEASE, assign_penalty, why_kept_back
from course_lib.teaching.notebooks.project import write_atomically


class LmsExporter(ExportPlugin):  # type: ignore[misc]
    """An exporter that keeps back what no person has decided yet."""

    everything = Bool(
        False,
        help="Whether submissions that need a person are exported as well, with the points that "
        "they have so far.",
    ).tag(config=True)

    name = ""

    def export(self, gradebook: Gradebook) -> None:
        """Write the file and say how many are in it and who was kept back."""
        try:
            with told_if_unusable(self.parent.coursedir.db_url):
                self._export(gradebook)
        except CourseError as error:  # nbgrader would show where in the program it came up
            raise SystemExit(str(error)) from error

    def _export(self, gradebook: Gradebook) -> None:
        known = {one.name: one for one in gradebook.assignments}
        chosen = [str(one) for one in self.assignment] or sorted(known)
        if unknown := [one for one in chosen if one not in known]:
            raise SystemExit(f"the gradebook has no assignment {unknown[0]}")
        directory = self.parent.coursedir
        room = Classroom(Path(directory.root), self.config)
        for name in chosen:
            for one in gradebook.assignment_submissions(name):
                assign_penalty(room, one)  # scores may have changed since it was worked out
        gradebook.db.expire_all()
        kept_back: list[str] = []
        students = [
            one
            for one in gradebook.students
            if not self.student or one.id in map(str, self.student)
        ]
        rows = []
        for student in students:
            scores = [self._score(gradebook, name, student.id, kept_back) for name in chosen]
            if any(score is not None for score in scores):
                rows.append((student, scores))
        target = Path(self.to or self.name)
        table = self.table([known[name] for name in chosen], rows)
        with told_if_not_written(target):
            write_atomically(target, as_csv(table))
        print(f"{len(rows)} of {len(students)} learners in {os.fspath(target)}")
        if kept_back:
            print(f"{len(kept_back)} kept back until you have looked: {', '.join(kept_back)}")
            print(RELEASE)

    def table(self, assignments: Sequence[Any], rows: Sequence[Any]) -> list[list[object]]:
        """Return the lines of the file."""
        raise NotImplementedError

    def _score(
        self, gradebook: Gradebook, assignment: str, learner: str, kept_back: list[str]
    ) -> float | None:
        try:
            submission = gradebook.find_submission(assignment, learner)
        except MissingEntry:
            return None
        if (why := why_kept_back(submission)) and not self.everything:
            kept_back.append(f"{learner} ({assignment}: {why})")
            return None
        return max(0.0, float(submission.score - submission.late_submission_penalty))


class CanvasExporter(LmsExporter):
    """What Canvas imports (Grades, Import): by its id of the learner, or else by the login."""

    name = "canvas.csv"

    def table(self, assignments: Sequence[Any], rows: Sequence[Any]) -> list[list[object]]:
        """Return the lines of the file."""
        head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
        points = ["    Points Possible", "", "", "", ""]
        return [
            [*head, *(one.name for one in assignments)],
            [*points, *(float(one.max_score) for one in assignments)],
            *(
                [_name(student), student.lms_user_id or "", "", student.id, "", *scores]
                for student, scores in rows
            ),
        ]


class MoodleExporter(LmsExporter):
    """What Moodle imports (Grades, Import, CSV file), mapped by user name or e-mail address."""

    name = "moodle.csv"

    def table(self, assignments: Sequence[Any], rows: Sequence[Any]) -> list[list[object]]:
        """Return the lines of the file."""
        return [
            ["username", "email", *(one.name for one in assignments)],
            *([student.id, student.email or "", *scores] for student, scores in rows),
        ]


def as_csv(rows: Sequence[Sequence[object]]) -> str:
    r"""Return a table as CSV that no spreadsheet takes for a program.

    Examples
    --------
    >>> as_csv([["Zoë, =1+1", "=1+1", 2.5, None]])
    '"Zoë, =1+1",\'=1+1,2.5,\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        writer.writerow([_cell(value) for value in row])
    return text.getvalue()


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.10g}"
    text = str(value).encode("utf-8", "replace").decode("utf-8")
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def _name(student: Any) -> str:
    names = [one for one in (student.last_name, student.first_name) if one]
    return ", ".join(names) or str(student.id)
