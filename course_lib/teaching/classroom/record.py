"""From a grade to the gradebook, in one transaction: what the grader says, and no more.

Scores, extra credit and comments that a person gave are never written. A person is asked about
each flag once: about a check, what was handed in for it, and a kind of flag. A decision is made in
formgrader or by `course class accept`, so the gradebook has it; a grade carries it on, through
regrades that have no flag, until it is asked again. Where there is no flag and the grader's score
has changed since a person gave points, the cell is marked as one that needs a person again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from course_lib.errors import InputError
from course_lib.teaching.classroom.folder import Classroom
from course_lib.teaching.grade import Grade, Master
from course_lib.teaching.grade.flags import flagged_checks
from course_lib.teaching.grade.marking import Mark
from course_lib.teaching.grade.master import checks_of
from course_lib.teaching.names import bound_names, read_names

if TYPE_CHECKING:
    from nbgrader.api import Grade as GradeCell
    from nbgrader.api import Gradebook, SubmittedAssignment, SubmittedNotebook


RELEASE = (
    "Give points in formgrader (Manual Grading), or take one's points as they are: course class "
    "accept LOGIN --lab LAB --class FOLDER"
)
"""How a grade is exported that was kept back."""


class FlagKey(NamedTuple):
    """What a flag asks: about a check, the digest of its answer, and what kind of flag it is."""

    check: str
    answer: str
    kind: str


def record(
    book: Gradebook,
    master: Master,
    grade: Grade,
    comments: Mapping[str, str],
    *,
    before: Grade | None = None,
) -> Grade:
    """Write a grade into the gradebook; return it with what a person has decided until then.

    Parameters
    ----------
    book, master
        Where to; the assignment and its notebook bear the master's name.
    grade, comments
        What the grader found, and what the learner reads, by grade id of the answer.
    before
        The grade that was recorded before, if any: a person is asked about flags of other kinds
        than it has, and about other answers.
    """
    book.update_or_create_student(grade.learner)
    with book.db.no_autoflush:  # SQLAlchemy would warn of what nbgrader adds half made
        submission = book.update_or_create_submission(master.name, grade.learner)
    (notebook,) = (one for one in submission.notebooks if one.name == master.name)
    earlier = flag_keys(master, before) if before else set()
    kept = decided(earlier, before, notebook)
    waiting = flag_keys(master, grade) - kept
    checks, marks = {one.check for one in waiting}, {mark.grade_id: mark for mark in grade.marks}
    grade = replace(grade, decided=tuple(sorted(kept)))
    for given in notebook.grades:
        mark = marks[given.name]
        is_open = given.name in checks or _is_open(given, mark, master, grade, before)
        given.auto_score, given.needs_manual_grade = mark.points, is_open
    for comment in notebook.comments:
        comment.auto_comment = comments.get(comment.name) or None
    # A person takes flags down, and they stay down until there are others.
    notebook.flagged = notebook.flagged or bool(waiting - earlier)
    book.db.commit()
    return grade


def _is_open(
    given: GradeCell, mark: Mark, master: Master, grade: Grade, before: Grade | None
) -> bool:
    """Tell whether a person gives points, or gave them for something else than is there now."""
    if given.manual_score is None:
        return mark.points is None
    answer = answer_digest(master, grade, given.name)
    if mark.points is not None and any(one[:2] == (given.name, answer) for one in grade.decided):
        return False
    is_other = before is not None and (
        answer != answer_digest(master, before, given.name)
        or (mark.points is None and grade.added != before.added)  # a text may be in one of these
    )
    return bool(given.needs_manual_grade or is_other or given.auto_score != mark.points)


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


def flag_keys(master: Master, grade: Grade) -> set[FlagKey]:
    """Return what the flags of a grade ask a person."""
    return {
        FlagKey(check, answer_digest(master, grade, check), flag.kind)
        for flag in grade.flags
        for check in flagged_checks(master, flag)
    }


def decided(asked: set[FlagKey], before: Grade | None, notebook: SubmittedNotebook) -> set[FlagKey]:
    """Return what a person has decided, of what the grade `before` asked and earlier ones did."""
    waiting = {
        cell.name
        for cell in notebook.grades
        if cell.needs_manual_grade or (notebook.flagged and cell.manual_score is None)
    }
    kept = before.decided if before else ()
    return {FlagKey(*one) for one in kept} | {one for one in asked if one.check not in waiting}


def answer_digest(master: Master, grade: Grade, check: str) -> str:
    """Return the digest of the answers that a check is about, with added cells that they use."""
    about = {check: None}  # it may be an answer itself, that a person grades
    for one in master.answers:
        if any(cell.grade_id == check for cell in checks_of(master, one)):
            about[one.grade_id] = None
    texts = [grade.answers[name] for name in about if name in grade.answers]
    read = set[str]().union(*map(read_names, texts))
    for cell in reversed(grade.added):
        if cell.kind == "code" and bound_names(cell.source) & read:
            texts.append(cell.source)
            read |= read_names(cell.source)
    return hashlib.sha256(json.dumps(texts).encode("utf-8")).hexdigest()[:16]
