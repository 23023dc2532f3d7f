"""Who is in the class and what the gradebook says of each, for the instructor's page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from course_lib.teaching.classroom.folder import Classroom
from course_lib.teaching.classroom.record import assign_penalty, why_kept_back
from course_lib.teaching.grade.overview import Person

if TYPE_CHECKING:
    from nbgrader.api import Gradebook, SubmittedAssignment

FORMGRADER = "http://localhost:8888/formgrader"
"""Where formgrader is while `jupyter lab` runs in the class's folder."""


def people_of(room: Classroom, book: Gradebook, assignment: str) -> list[Person]:
    """Return everybody who is in the gradebook, in the order of their logins.

    Who has handed in nothing has no points; penalties are worked out again, as before an export.
    """
    graded = _submissions(book, assignment)
    if [one for one in graded if assign_penalty(room, one)]:
        book.db.expire_all()
        graded = _submissions(book, assignment)
    found = {one.student.id: one for one in graded}
    people = []
    for student in sorted(book.students, key=lambda one: str(one.id)):
        login, names = str(student.id), (student.first_name, student.last_name)
        name = " ".join(filter(None, names))
        if (one := found.get(student.id)) is None:
            people.append(Person(login, name))
            continue
        (notebook,) = (part for part in one.notebooks if part.name == assignment)
        lost = float(one.late_submission_penalty or 0)
        checks = {
            str(cell.name): None if cell.auto_score is cell.manual_score is None else cell.score
            for cell in notebook.grades
        }
        points, why = max(0.0, float(one.score) - lost), why_kept_back(one)
        link = f"{FORMGRADER}/submissions/{notebook.id}/"
        people.append(Person(login, name, points, lost, why, link, checks))
    return people


def _submissions(book: Gradebook, assignment: str) -> list[SubmittedAssignment]:
    """Return an assignment's submissions with their points, in three queries for all of them."""
    from nbgrader.api import Assignment, SubmittedAssignment, SubmittedNotebook
    from sqlalchemy.orm import selectinload, undefer

    sums = undefer(SubmittedAssignment.score), undefer(SubmittedAssignment.needs_manual_grade)
    points = selectinload(SubmittedAssignment.notebooks).selectinload(SubmittedNotebook.grades)
    query = book.db.query(SubmittedAssignment).options(points, *sums)
    query = query.join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
    return list(query.filter(Assignment.name == assignment).all())
