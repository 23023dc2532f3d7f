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
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar

from nbgrader.api import Gradebook
from nbgrader.plugins import ExportPlugin
from traitlets import Bool

from course_lib.errors import CourseError
from course_lib.files import told_if_not_written, write_atomically
from course_lib.teaching.classroom.folder import Classroom, told_if_unusable
from course_lib.teaching.classroom.people import people_of
from course_lib.teaching.classroom.record import RELEASE


class LmsExporter(ExportPlugin):  # type: ignore[misc]
    """An exporter that keeps back what no person has decided yet."""

    everything = Bool(
        False,
        help="Whether submissions that need a person are exported as well, with the points that "
        "they have so far.",
    ).tag(config=True)

    name = ""
    columns: ClassVar[Mapping[str, Callable[[Any], object]]] = {}
    maxima = ""
    """What begins the line of the greatest points, if there is one."""

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
        room = Classroom(Path(self.parent.coursedir.root), self.config)
        people = {
            name: {one.login: one for one in people_of(room, gradebook, name)} for name in chosen
        }
        wanted, kept_back = set(map(str, self.student)), list[str]()
        students = [one for one in gradebook.students if not wanted or one.id in wanted]
        rows = list[list[object]]()
        for student in students:
            found = {name: people[name][str(student.id)] for name in chosen}
            kept = {name for name, one in found.items() if one.why and not self.everything}
            kept_back += [f"{student.id} ({name}: {found[name].why})" for name in sorted(kept)]
            scores = [None if name in kept else one.points for name, one in found.items()]
            if any(score is not None for score in scores):
                rows.append([*(say(student) for say in self.columns.values()), *scores])
        heads: list[list[object]] = [[*self.columns, *chosen]]
        if self.maxima:
            empty, most = [""] * (len(self.columns) - 1), [known[name].max_score for name in chosen]
            heads.append([self.maxima, *empty, *map(float, most)])
        target = Path(self.to or self.name)
        with told_if_not_written(target):
            write_atomically(target, as_csv([*heads, *rows]))
        print(f"{len(rows)} of {len(students)} learners in {os.fspath(target)}")
        if kept_back:
            print(f"{len(kept_back)} kept back until you have looked: {', '.join(kept_back)}")
            print(RELEASE)


def _nothing(_: Any) -> str:
    return ""


def _name(student: Any) -> str:
    names = [one for one in (student.last_name, student.first_name) if one]
    return ", ".join(names) or str(student.id)


class CanvasExporter(LmsExporter):
    """What Canvas imports (Grades, Import): by its id of the learner, or else by the login."""

    name = "canvas.csv"
    columns: ClassVar = {
        "Student": _name, "ID": attrgetter("lms_user_id"), "SIS User ID": _nothing,
        "SIS Login ID": attrgetter("id"), "Section": _nothing,
    }  # fmt: skip
    maxima = "    Points Possible"


class MoodleExporter(LmsExporter):
    """What Moodle imports (Grades, Import, CSV file), mapped by user name or e-mail address."""

    name = "moodle.csv"
    columns: ClassVar = {"username": attrgetter("id"), "email": attrgetter("email")}


def as_csv(rows: Sequence[Sequence[object]]) -> str:
    r"""Return a table as CSV that no spreadsheet takes for a program.

    Examples
    --------
    >>> as_csv([["Zoë, =1+1", "=1+1", 2.5, None]])
    '"Zoë, =1+1",\'=1+1,2.5,\n'
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(_cell, row) for row in rows)
    return text.getvalue()


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.10g}"
    text = str(value).encode("utf-8", "replace").decode("utf-8")
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
