"""Collecting: what an LMS gives for download becomes `submitted/<login>/<assignment>/`.

`finding` reads it and tells whose each notebook is, `placing` writes them. A notebook's bytes are
copied as they are.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from course_lib.errors import InputError
from course_lib.files import told_if_not_written
from course_lib.teaching.classroom.extensions import own_dates
from course_lib.teaching.classroom.finding import (
    Collected,
    HandIn,
    Reader,
    alike,
    fitting,
    is_of,
    owner,
    within_outer,
)
from course_lib.teaching.classroom.folder import Classroom
from course_lib.teaching.classroom.given import Given
from course_lib.teaching.classroom.naming import compiled
from course_lib.teaching.classroom.placing import place
from course_lib.teaching.classroom.roster import Roster, is_login

if TYPE_CHECKING:
    from nbgrader.api import Gradebook


def collect(
    room: Classroom, assignment: str, given: Iterable[Path], *, pattern: str = ""
) -> Collected:
    """Put submissions into the class's folder.

    Parameters
    ----------
    room, assignment
        Where to.
    given
        Archives (`.zip`), folders or notebooks.
    pattern
        A regular expression as `nbgrader zip_collect` takes it, with the groups `student_id` and,
        if wanted, `timestamp`; it is searched in each path.

    Raises
    ------
    InputError
        Something that was given is not there or holds no notebook, or the pattern cannot be used,
        or fits no path.
    """
    own = compiled(pattern)
    with room.gradebook() as book:
        roster = Roster.of(book)
        due = _due_dates(room, book, assignment)
        others = {one.name for one in book.assignments} - {assignment}
    said = Collected()
    given_out = Given(room.place("release", ".", assignment) / f"{assignment}.ipynb")
    found: dict[str, list[HandIn]] = defaultdict(list)
    with (
        told_if_not_written(room.root, "Make room, or say who may write there, and collect again."),
        tempfile.TemporaryDirectory(dir=room.root, prefix=".collecting-") as scratch,
    ):
        reader = Reader(Path(scratch), said)
        for path in given:
            files = within_outer(list(reader.read(path)), roster, assignment, own)
            if own is not None:
                files = fitting(files, own, path, said, given_out)
            for file in files:
                if is_of(others, file, own):
                    said.left_out.append(f"{'/'.join(file.parts)}: of another assignment")
                    continue
                login, hand_in = owner(file, roster, own)
                if not login:
                    said.unknown.append(hand_in.name)
                elif is_login(login):
                    found[login].append(hand_in)
                else:
                    said.left_out.append("/".join(file.parts))
            if not files:
                unread = f": {'; '.join(said.left_out[:3])}" if said.left_out else ""
                raise InputError(
                    f"{path} holds no notebooks that can be read{unread}",
                    hint="Name a folder or a zip file with one notebook or one folder a learner.",
                )
        for login in alike(found, roster):
            del found[login]
            said.left_out.append(f"{login}: another login differs from it by case only")
        for login, hand_ins in sorted(found.items()):
            with told_if_not_written(room.place("submitted", login, assignment)):
                own_due = due.get(login, due[""])
                place(room, assignment, login, hand_ins, (due[""], own_due), said, given_out)
    if roster.ids:
        said.new = [login for login in said.placed if login not in roster.ids]
    said.unknown = sorted(set(said.unknown))
    return said


def _due_dates(room: Classroom, book: Gradebook, assignment: str) -> dict[str, datetime | None]:
    """Return when an assignment is due: for everybody (""), and for whom has an extension."""
    known = book.find_assignment(assignment)
    due: dict[str, datetime | None] = {"": known.duedate}
    if known.duedate:
        due |= {one.student.id: one.duedate for one in known.submissions if one.extension}
        due |= own_dates(room, assignment)
    return due
