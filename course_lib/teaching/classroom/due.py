"""When an assignment is due, for all or for one learner, and what that does to points.

Times are read from what was handed in and from the gradebook whenever something is graded, so that
a date that changed later counts for everybody.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from pydantic import TypeAdapter

from course_lib.errors import InputError
from course_lib.files import write_atomically
from course_lib.teaching.classroom.folder import Classroom
from course_lib.teaching.classroom.record import assign_penalty
from course_lib.teaching.classroom.stamps import STAMP, time_of

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

Changes = dict[str, tuple[float, float]]
"""By login, the points before and after."""

EXTENSIONS = "extensions.json"
"""Until when learners may hand in who have a date of their own, in the class's folder.

nbgrader's gradebook has a place for it once there is a submission; an extension is given before.
"""

_AS_JSON = TypeAdapter(dict[str, dict[str, datetime]])

NONE = "none"
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d)?))?(?: (\S+))?")


def parse_due(text: str) -> datetime | None:
    """Return a due date in UTC and without a zone, as nbgrader has it; None for `none`.

    A date without a time means its last minute; a time without a zone is this computer's.

    Examples
    --------
    >>> parse_due("2026-12-01 12:00 Europe/Paris"), parse_due("2026-12-01 UTC")
    (datetime.datetime(2026, 12, 1, 11, 0), datetime.datetime(2026, 12, 1, 23, 59))
    """
    if text.strip().lower() == NONE:
        return None
    try:
        date, time, zone = _TIME.fullmatch(text.strip()).groups()  # type: ignore[union-attr]
        told = datetime.fromisoformat(f"{date} {time or '23:59'}")
        aware = told.replace(tzinfo=ZoneInfo(zone)) if zone else told.astimezone()
        return aware.astimezone(UTC).replace(tzinfo=None)
    except (AttributeError, ValueError, LookupError, OSError) as error:
        raise InputError(
            f"{text!r} is not a time",
            hint='Write it as "2026-12-01 23:59", followed by a zone if it is not this '
            f"computer's, such as UTC or Europe/Paris; {NONE} takes a date away.",
        ) from error


def set_due(
    room: Classroom, assignment: str, due: datetime | None, learners: Collection[str] = ()
) -> Changes:
    """Set when an assignment is due and work penalties out again; return whose points changed.

    Parameters
    ----------
    room, assignment
        What is due.
    due
        In UTC; None takes the date away.
    learners
        Whose date it is; everybody's when left out.

    Raises
    ------
    InputError
        The assignment or a learner is not known, or there is no date to extend.
    """
    from nbgrader.api import MissingEntry

    with room.gradebook() as book, changes(book, assignment) as changed:
        try:
            known = book.find_assignment(assignment)
        except MissingEntry:
            raise InputError(
                f"the class has no assignment {assignment}", hint="course class init makes it."
            ) from None
        if strangers := sorted({*learners} - {one.id for one in book.students}):
            raise InputError(
                f"{strangers[0]} is not in the class",
                hint="course class init --roster adds learners.",
            )
        if not learners:
            known.duedate = due
        elif known.duedate is None:
            raise InputError(
                f"{assignment} has no due date that somebody may go beyond",
                hint="Set it first: the same command without a login.",
            )
        book.db.commit()
        if learners:
            _keep_dates(room, assignment, learners, due)
            for one in known.submissions:
                if due is None and one.student.id in learners:
                    book.grant_extension(assignment, one.student.id)
        keep_times(room, book, assignment)
    return changed


def keep_times(room: Classroom, book: Gradebook, assignment: str) -> None:
    """Take down when everybody handed in and may, and what that costs; scores stay as they are."""
    own = own_dates(room).get(assignment, {})
    for one in book.assignment_submissions(assignment):
        login = one.student.id
        stamp = room.place("submitted", login, assignment) / STAMP
        with suppress(InputError):  # whose stamp cannot be read is graded again, and says so
            if stamp.is_file():
                one.timestamp = time_of(stamp)
                if (folder := room.place("autograded", login, assignment)).is_dir():
                    write_atomically(folder / STAMP, stamp.read_bytes())
        book.db.commit()
        if login in own and one.assignment.duedate:
            later = own[login] - one.assignment.duedate
            book.grant_extension(assignment, login, minutes=later.total_seconds() / 60)
        elif one.extension and not one.assignment.duedate:
            book.grant_extension(assignment, login)  # none: nbgrader would add it to no date
        assign_penalty(room, one)
    book.db.expire_all()


@contextmanager
def changes(book: Gradebook, assignment: str) -> Iterator[Changes]:
    """Give what is filled, at the end, with whose points are not what they were."""
    changed: Changes = {}
    before = _points(book, assignment)
    yield changed
    book.db.expire_all()
    after = _points(book, assignment)
    for who in before.keys() & after.keys():
        if before[who] != after[who]:
            changed[who] = (before[who], after[who])


def _points(book: Gradebook, assignment: str) -> dict[str, float]:
    """Return what each learner has who was graded, as it is exported."""
    return {
        one.student.id: max(0.0, round(float(one.score - one.late_submission_penalty), 10))
        for one in book.assignment_submissions(assignment)
        if any(cell.score is not None for book_ in one.notebooks for cell in book_.grades)
    }


def _keep_dates(
    room: Classroom, assignment: str, learners: Collection[str], due: datetime | None
) -> None:
    """Keep a date of their own for some learners; None takes it away."""
    dates = own_dates(room)
    own = dates.setdefault(assignment, {})
    for who in learners:
        own.pop(who, None)
    if due is not None:
        own.update(dict.fromkeys(learners, due))
    write_atomically(room.root / EXTENSIONS, _AS_JSON.dump_json(dates, indent=1) + b"\n")


def own_dates(room: Classroom) -> dict[str, dict[str, datetime]]:
    """Return by assignment who has a date of their own, and which, in UTC."""
    path = room.root / EXTENSIONS
    if not path.is_file():
        return {}
    try:
        return _AS_JSON.validate_json(path.read_bytes())
    except (ValueError, OSError) as error:
        raise InputError(
            f"{path} cannot be read: {error}",
            hint="Remove it, and give the extensions again: course class due.",
        ) from error
