"""Collecting: what an LMS gives for download becomes `submitted/<login>/<assignment>/`.

`finding` reads it and tells whose each notebook is, `placing` writes them. A notebook's bytes are
copied as they are.
"""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from course_lib.errors import InputError
from course_lib.files import told_if_not_written
from course_lib.teaching.classroom.due import own_dates
from course_lib.teaching.classroom.finding import (
    HandIn,
    HandInReader,
    alike,
    is_of,
    owner,
    within_outer,
)
from course_lib.teaching.classroom.folder import Classroom
from course_lib.teaching.classroom.given import Given
from course_lib.teaching.classroom.naming import compiled
from course_lib.teaching.classroom.placing import Placing
from course_lib.teaching.classroom.roster import Roster, is_login


@dataclass
class Collected:
    """What came of a collection: logins, and names of what could not be used.

    Attributes
    ----------
    placed
        Whose submission is now in the class's folder.
    late
        Those of them who are late: the LMS says so, or the time is after their due date.
    new
        Those of them who are not in the roster, where there is one.
    due_unknown
        Whether somebody is late and the gradebook has no due date, so that no time says so.
    older
        Whose submission here is newer than the one in this collection, and stays.
    kept
        Of whom nothing was taken, and what is here, if anything, stays; with the reason.
    unknown
        What an LMS calls people whom the roster does not have.
    unfit
        Notebooks of the lab with something written into them that the pattern does not fit.
    left_out
        Files that are neither notebooks nor archives, cannot be read, are of another assignment,
        or are not what the pattern is about.
    """

    placed: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    due_unknown: bool = False
    new: list[str] = field(default_factory=list)
    older: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    unfit: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


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
        for_all = book.find_assignment(assignment).duedate
        others = {one.name for one in book.assignments} - {assignment}
    due = {"": for_all, **(own_dates(room).get(assignment, {}) if for_all else {})}
    said = Collected()
    given_out = Given(room.place("release", ".", assignment) / f"{assignment}.ipynb")
    found: dict[str, list[HandIn]] = defaultdict(list)
    with (
        told_if_not_written(room.root, "Make room, or say who may write there, and collect again."),
        tempfile.TemporaryDirectory(dir=room.root, prefix=".collecting-") as scratch,
    ):
        reader = HandInReader(Path(scratch), roster)
        for path in given:
            files = list(reader.read(path))
            said.left_out += [file.left_out for file in files if file.left_out]
            files = [file for file in files if not file.left_out]
            files = within_outer(files, roster, assignment, own)
            if not files:
                unread = f": {'; '.join(said.left_out[:3])}" if said.left_out else ""
                raise InputError(
                    f"{path} holds no notebooks that can be read{unread}",
                    hint="Name a folder or a zip file with one notebook or one folder a learner.",
                )
            if own is not None:
                files = _fitting(files, own, path, given_out, said)
            for file in files:
                login, hand_in = owner(file, roster, own)
                if is_of(others, file, own):
                    said.left_out.append(f"{'/'.join(file.parts)}: of another assignment")
                elif not login:
                    said.unknown.append(hand_in.name)
                elif is_login(login):
                    found[login].append(hand_in)
                else:
                    said.left_out.append("/".join(file.parts))
        for login in alike(found, roster):
            del found[login]
            said.left_out.append(f"{login}: another login differs from it by case only")
        placing = Placing(room, assignment, due, given_out)
        for login, hand_ins in sorted(found.items()):
            with told_if_not_written(room.place("submitted", login, assignment)):
                placed = placing.place(login, hand_ins)
            said.left_out += placed.left_out
            getattr(said, placed.state).append(f"{login} ({placed.why})" if placed.why else login)
            if placed.late:
                said.late.append(placed.late)
                said.due_unknown = for_all is None
    if roster.ids:
        said.new = [login for login in said.placed if login not in roster.ids]
    said.unknown = sorted(set(said.unknown))
    return said


def _fitting(
    files: list[HandIn], own: re.Pattern[str], path: Path, given_out: Given, said: Collected
) -> list[HandIn]:
    """Return what the pattern fits, and name the rest."""
    fitting = [file for file in files if own.search("/".join(file.parts))]
    if not fitting:
        raise InputError(
            f"the pattern fits nothing in {path}, such as {'/'.join(files[0].parts)}",
            hint="It is searched in paths like this one, below what was given.",
        )
    for file in files:
        name = "/".join(file.parts)
        if file not in fitting and file.path and given_out.is_work(file.path):
            said.unfit.append(name)
        elif file not in fitting:
            said.left_out.append(f"{name}: the pattern does not fit")
    return fitting
