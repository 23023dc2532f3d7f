"""From a grade to the gradebook, in one transaction: what the grader says, and no more.

Scores, extra credit and comments that a person gave are never written; where the grader's score
has changed since, the cell is marked as one that needs a person again.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from course_lib.teaching.classroom.folder import Classroom
from course_lib.teaching.grade import Grade

if TYPE_CHECKING:
    from nbgrader.api import Gradebook, SubmittedAssignment


def record(
    book: Gradebook,
    assignment: str,
    grade: Grade,
    comments: Mapping[str, str],
    *,
    time: datetime | None = None,
    before: Grade | None = None,
) -> SubmittedAssignment:
    """Write a grade into the gradebook.

    Parameters
    ----------
    book, assignment
        Where to; the assignment's notebook bears its name.
    grade, comments
        What the grader found, and what the learner reads, by grade id of the answer.
    time
        When it was handed in, in UTC.
    before
        The grade that was recorded before, if any.
    """
    from nbgrader.api import MissingEntry

    try:
        submission = book.find_submission(assignment, grade.learner)
    except MissingEntry:
        book.update_or_create_student(grade.learner)
        with book.db.no_autoflush:  # SQLAlchemy would warn of what nbgrader adds half made
            submission = book.add_submission(assignment, grade.learner)
    submission.timestamp = time
    (notebook,) = (one for one in submission.notebooks if one.name == assignment)
    marks = {mark.grade_id: mark for mark in grade.marks}
    answers = before.answers if before else {}
    for given in notebook.grades:
        mark = marks[given.name]
        changed = given.auto_score != mark.points
        if before and grade.answers.get(given.name) != answers.get(given.name):
            changed = True  # a person grades it, and it is another answer now
        given.auto_score = mark.points
        if given.manual_score is None:
            given.needs_manual_grade = mark.points is None
        elif changed:
            given.needs_manual_grade = True
    for comment in notebook.comments:
        comment.auto_comment = comments.get(comment.name) or None
    # A person takes flags down, and they stay down until there are others.
    if grade.flags and grade.flags != (before.flags if before else ()):
        notebook.flagged = True
    book.db.commit()
    return submission


def assign_penalty(room: Classroom, submission: SubmittedAssignment) -> None:
    """Have nbgrader's plugin work out what a late submission loses of its present score."""
    lost = any(one.late_submission_penalty is not None for one in submission.notebooks)
    if not (lost or submission.total_seconds_late):
        return
    from nbformat.v4 import new_notebook
    from nbgrader.preprocessors import AssignLatePenalties

    step = AssignLatePenalties(config=room.config)
    for name in [one.name for one in submission.notebooks]:
        about = {
            "notebook": name,
            "assignment": submission.name,
            "student": submission.student.id,
            "db_url": room.database,
        }
        step.preprocess(new_notebook(), {"nbgrader": about})
