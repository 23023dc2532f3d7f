"""Grading an assignment of a class: what was handed in, through the grader, into the gradebook."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from course_lib.errors import InputError
from course_lib.files import told_if_not_written, write_atomically
from course_lib.teaching.classroom.autograded import autograded, write_autograded
from course_lib.teaching.classroom.comments import comments
from course_lib.teaching.classroom.due import changes, keep_times
from course_lib.teaching.classroom.folder import Classroom, keep_copy
from course_lib.teaching.classroom.hidden import with_hidden_checks
from course_lib.teaching.classroom.people import people_of
from course_lib.teaching.classroom.record import record
from course_lib.teaching.classroom.setup import add_assignment
from course_lib.teaching.classroom.stamps import STAMP, time_of
from course_lib.teaching.grade import (
    Grade,
    GradeError,
    GradeReport,
    Master,
    Options,
    Submission,
    grade_all,
)
from course_lib.teaching.grade.errors import CONTINUE
from course_lib.teaching.grade.overview import overview_page
from course_lib.teaching.grade.report import forget_grades, read_grades
from course_lib.teaching.grade.submissions import submission_in


def grade_assignment(
    room: Classroom,
    master: Master,
    options: Options,
    *,
    learners: Collection[str] | None = None,
) -> GradeReport:
    """Grade what was handed in and write it into the gradebook, learner by learner.

    What is there of a learner who is not graded now, and what a person did, stays as it is.

    Parameters
    ----------
    room, master
        The class, and what it was given; the assignment bears the master's name.
    options
        See there.
    learners
        Whose submissions; all when left out.

    Raises
    ------
    GradeError
        Nothing was handed in, or something is wrong with the gradebook, the master or the fence.
    """
    name = master.name
    master = with_hidden_checks(room, master)
    add_assignment(room, master)
    found = [one for one in submissions(room, name) if learners is None or one.learner in learners]
    if not found:
        raise GradeError(
            f"nothing was handed in for {name}: {room.root / 'submitted'} holds none of it",
            hint="`course class collect` puts it there, or name it: course grade FOLDER --lab …",
        )
    out = room.report(name)
    with room.gradebook() as book:
        with changes(book, name) as changed:
            known = {one.student.id for one in book.assignment_submissions(name)}
            before = {who: one for who, one in read_grades(out).items() if who in known}
            if known.intersection(one.learner for one in found):
                keep_copy(room)
            # What the gradebook does not have is graded again, whatever an earlier report says.
            forget_grades(out, keep=known)

            def keep(grade: Grade) -> Grade:
                place = room.place("autograded", grade.learner, name)
                with told_if_not_written(place, CONTINUE):
                    write_autograded(autograded(master, grade), place, name)
                said = comments(master, grade)
                return record(book, master, grade, said, before=before.get(grade.learner))

            try:
                report = grade_all(found, master, out, options, keep)
            finally:  # of those, too, who were not graded again
                keep_times(room, book, name)
        page = overview_page(report, master, people_of(room, book, name))
    with told_if_not_written(out, CONTINUE):
        write_atomically(out / "index.html", page)
    return replace(report, changes=changed)


def submissions(room: Classroom, assignment: str) -> list[Submission]:
    """Return what was handed in for an assignment, one a learner, in the order of their logins."""
    return [
        _submission(folder, assignment)
        for folder in sorted((room.root / "submitted").glob(f"*/{assignment}"))
        if folder.is_dir()
    ]


def _submission(folder: Path, assignment: str) -> Submission:
    found = submission_in(folder, folder.parent.name, preferred=assignment)
    try:
        time_of(folder / STAMP)
    except InputError:
        return replace(found, path=None, problem=f"its {STAMP} cannot be read")
    return found
