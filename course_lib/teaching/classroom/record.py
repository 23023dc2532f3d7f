"""From a grade to the gradebook, in one transaction: what the grader says, and no more.

Scores, extra credit and comments that a person gave are never written; where the grader's score
has changed since, the cell is marked as one that needs a person again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from course_lib.errors import InputError
from course_lib.teaching.classroom.folder import Classroom
from course_lib.teaching.grade import Grade

if TYPE_CHECKING:
    from nbgrader.api import Gradebook, SubmittedAssignment


RELEASE = (
    "Give points in formgrader (Manual Grading), or take one's points as they are: course class "
    "accept LOGIN --lab LAB --class FOLDER"
)
"""How a grade is exported that was kept back."""


def record(
    book: Gradebook,
    assignment: str,
    grade: Grade,
    comments: Mapping[str, str],
    *,
    time: datetime | None = None,
    before: Grade | None = None,
    flagged: Collection[str] = (),
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
    flagged
        The checks that the grade's flags are about: where there are other flags than before, each
        needs a person, until a person has given a grade.
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
    had = before.flags if before else ()
    is_new = bool(grade.flags) and grade.flags != had
    for given in notebook.grades:
        mark = marks[given.name]
        changed = given.auto_score != mark.points
        if before and grade.answers.get(given.name) != answers.get(given.name):
            changed = True  # a person grades it, and it is another answer now
        if before and mark.points is None and grade.added != before.added:
            changed = True  # and so it is where it was written into a cell of the learner's own
        given.auto_score = mark.points
        if is_new and given.name in flagged:
            given.needs_manual_grade = True
        elif given.manual_score is None:
            is_undecided = given.needs_manual_grade or notebook.flagged
            waits = bool(grade.flags) and given.name in flagged and is_undecided
            given.needs_manual_grade = mark.points is None or waits
        elif changed:
            given.needs_manual_grade = True
    for comment in notebook.comments:
        comment.auto_comment = comments.get(comment.name) or None
    # A person takes flags down, and they stay down until there are others.
    if is_new:
        notebook.flagged = True
    book.db.commit()
    return submission


def why_kept_back(submission: SubmittedAssignment) -> str:
    """Return why a grade is kept back until a person has looked at it; empty where it is not."""
    if not submission.needs_manual_grade:
        return ""
    return "flagged" if any(one.flagged for one in submission.notebooks) else "not decided"


def accept(book: Gradebook, assignment: str, learner: str) -> float:
    """Take the points of a submission as they are: a person has looked at it. Return its score.

    Raises
    ------
    InputError
        There is no such submission, or it has a cell without points.
    """
    from nbgrader.api import MissingEntry

    try:
        submission = book.find_submission(assignment, learner)
    except MissingEntry:
        raise InputError(
            f"{learner} has no grade for {assignment}", hint="Grade it first: course grade."
        ) from None
    cells = [cell for notebook in submission.notebooks for cell in notebook.grades]
    without = [cell.name for cell in cells if cell.auto_score is None and cell.manual_score is None]
    if without:
        raise InputError(
            f"{learner} has no points yet for {', '.join(without)}",
            hint="Give them in formgrader: Manual Grading.",
        )
    for cell in cells:
        cell.needs_manual_grade = False
    for notebook in submission.notebooks:
        notebook.flagged = False
    book.db.commit()
    return float(submission.score)


def assign_penalty(room: Classroom, submission: SubmittedAssignment) -> bool:
    """Have nbgrader's plugin work out what a late submission loses of its present score.

    Return whether there was anything to work out.
    """
    lost = any(one.late_submission_penalty is not None for one in submission.notebooks)
    if not (lost or submission.total_seconds_late):
        return False
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
    return True
