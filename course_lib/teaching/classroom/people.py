"""Who is in the class and what the gradebook says of each, for the instructor's page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from course_lib.teaching.classroom.folder import Classroom
from course_lib.teaching.classroom.record import assign_penalty, why_kept_back
from course_lib.teaching.grade.overview import Person

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

FORMGRADER = "http://localhost:8888/formgrader"
"""Where formgrader is while `jupyter lab` runs in the class's folder."""


def people_of(room: Classroom, book: Gradebook, assignment: str) -> list[Person]:
    """Return everybody who is in the gradebook, in the order of their logins.

    Who has handed in nothing has no points; penalties are worked out again, as before an export.
    """
    for one in book.assignment_submissions(assignment):
        assign_penalty(room, one)
    book.db.expire_all()
    found = {one.student.id: one for one in book.assignment_submissions(assignment)}
    people = []
    for student in sorted(book.students, key=lambda one: str(one.id)):
        login, names = str(student.id), (student.first_name, student.last_name)
        name = " ".join(filter(None, names))
        if (one := found.get(student.id)) is None:
            people.append(Person(login, name))
            continue
        lost = float(one.late_submission_penalty or 0)
        checks = {
            str(cell.name): None if cell.auto_score is cell.manual_score is None else cell.score
            for notebook in one.notebooks
            for cell in notebook.grades
        }
        points, why = max(0.0, float(one.score) - lost), why_kept_back(one)
        link = f"{FORMGRADER}/submissions/{one.notebooks[0].id}/" if one.notebooks else ""
        people.append(Person(login, name, points, lost, why, link, checks))
    return people
