"""Bringing a class up to what the course has now: `source/`, `release/`, and what is new in them.

Grades that were given are never changed by it: where they would be, nothing is done.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from course_lib.errors import CourseError
from course_lib.teaching.classroom.folder import CONFIG, Classroom
from course_lib.teaching.classroom.hidden import source_of, with_hidden_checks
from course_lib.teaching.classroom.setup import make_assignment
from course_lib.teaching.classroom.templates import CONFIGURATION
from course_lib.teaching.grade import Master, read_master
from course_lib.teaching.grade.release import read_notebook

_SETTING = re.compile(r"^c\.([\w.]+) =", re.MULTILINE)


@dataclass(frozen=True)
class AssignmentUpdate:
    """What came of an assignment.

    Attributes
    ----------
    name
        The assignment's.
    changes
        What is new, one text each; empty where the class has it all.
    graded
        How many submissions have grades that the changes would touch, so that nothing was done.
    version
        With which version of the course it was made, if so.
    """

    name: str
    changes: tuple[str, ...]
    graded: int = 0
    version: str = ""


def update_assignment(room: Classroom, master: Master) -> AssignmentUpdate:
    """Make `source/` and `release/` again where the master has changed and no grade is touched.

    Raises
    ------
    GradeError
        nbgrader refuses the master, or the gradebook cannot be used.
    """
    from course_lib.teaching.classroom.versions import kept_of

    with suppress(CourseError, OSError):  # of a damaged copy nothing is taken over
        master = with_hidden_checks(room, master)
    others, release = list[str](), room.place("release", ".", master.name)
    try:
        earlier = read_master(source_of(room, master.name), lab=master.lab)
        others = graded_changes(earlier, master)
        changes = [*others, *text_changes(earlier, master)]
        given = {cell.source for cell in read_notebook(release / f"{master.name}.ipynb").cells}
        if not given.issuperset(cell.stub for cell in master.cells):  # a header may be added
            changes = changes or ["release/ was not what learners get"]
    except (CourseError, OSError):  # gone, or damaged: it is made again
        changes = ["source/ or release/ had no notebook that can be read"]
    if not changes:
        return AssignmentUpdate(master.name, ())
    kept = kept_of(room, master.name)
    if kept.submissions and (others or not kept.fits(master)):
        return AssignmentUpdate(master.name, tuple(changes), kept.submissions, kept.version)
    make_assignment(room, master)
    return AssignmentUpdate(master.name, tuple(changes))


def graded_changes(earlier: Master, now: Master) -> list[str]:
    """Return what has changed of checks, points, and the cells that learners write in."""
    before = {one.grade_id: one.points for one in (*earlier.checks, *earlier.answers)}
    after = {one.grade_id: one.points for one in (*now.checks, *now.answers)}
    found = [f"{name} is new" for name in after if name not in before]
    found += [f"{name} is gone" for name in before if name not in after]
    return found + [
        f"{name}: {before[name]:g} points, now {points:g}"
        for name, points in after.items()
        if name in before and before[name] != points
    ]


def text_changes(earlier: Master, now: Master) -> list[str]:
    """Return which cells have another text, or come in another order."""
    before = {one.grade_id: (one.source, one.stub) for one in earlier.cells if one.grade_id}
    found = [
        f"{one.grade_id} has another text"
        for one in now.cells
        if one.grade_id in before and before[one.grade_id] != (one.source, one.stub)
    ]
    plain = [[one.source for one in of.cells if not one.grade_id] for of in (earlier, now)]
    return found + ["text and code that are not graded"] * (plain[0] != plain[1])


def missing_settings(room: Classroom) -> Sequence[str]:
    """Return what the configuration of a new class sets and this one's does not."""
    text = (room.root / CONFIG).read_text(encoding="utf-8", errors="replace")
    return [name for name in _SETTING.findall(CONFIGURATION) if f"c.{name}" not in text]
