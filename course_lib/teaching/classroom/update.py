"""Bringing a class up to what the course has now: `source/`, `release/`, and what is new in them.

Grades that were given are never changed by it: where they would be, nothing is done.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from course_lib.errors import CourseError
from course_lib.teaching.classroom.folder import CONFIG, Classroom
from course_lib.teaching.classroom.hidden import with_hidden_checks
from course_lib.teaching.classroom.setup import CONFIGURATION, make_assignment
from course_lib.teaching.grade import Master, read_master
from course_lib.teaching.grade.notebooks import read_notebook

_SETTING = re.compile(r"^c\.([\w.]+) =", re.MULTILINE)


@dataclass(frozen=True)
class Update:
    """What came of an assignment.

    Attributes
    ----------
    name
        The assignment's.
    changes
        What is new, one text each; empty where the class has it all.
    graded
        How many submissions have grades that the changes would touch, so that nothing was done.
    """

    name: str
    changes: tuple[str, ...]
    graded: int = 0


def update_assignment(room: Classroom, master: Master) -> Update:
    """Make `source/` and `release/` again where the master has changed and no grade is touched.

    Raises
    ------
    GradeError
        nbgrader refuses the master, or the gradebook cannot be used.
    """
    with suppress(CourseError, OSError):  # of a damaged copy nothing is taken over
        master = with_hidden_checks(room, master)
    place = room.place("source", ".", master.name) / f"{master.name}.ipynb"
    earlier = None
    with suppress(CourseError, OSError):  # gone, or damaged: it is made again
        earlier = read_master(place, lab=master.lab)
    changes = ["source/ had no notebook that can be read"]
    if earlier is not None:
        changes = [*graded_changes(earlier, master), *text_changes(earlier, master)]
    release = room.place("release", ".", master.name) / place.name
    if not changes and not _is_what_learners_get(release, master):
        changes = ["release/ was not what learners get"]
    if not changes:
        return Update(master.name, ())
    with room.gradebook() as book:
        known = book.assignment_submissions(master.name)
        count, asked = len(known), set[tuple[str, float]]()
        if known:
            notebook = book.find_notebook(master.name, master.name)
            cells = [*notebook.grade_cells, *notebook.task_cells]
            asked = {(str(one.name), float(one.max_score)) for one in cells}
    same = asked == {(one.grade_id, one.points) for one in master.checks}
    if count and not (same and (earlier is None or not graded_changes(earlier, master))):
        return Update(master.name, tuple(changes), count)
    make_assignment(room, master)
    return Update(master.name, tuple(changes))


def _is_what_learners_get(release: Path, master: Master) -> bool:
    """Tell whether a released notebook has the cells of the master: a header may be added."""
    with suppress(CourseError, OSError):
        given = {cell.source for cell in read_notebook(release).cells}
        return all(cell.stub in given for cell in master.cells)
    return False


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
    others = len({*plain[0]} ^ {*plain[1]})
    if others or (plain[0] != plain[1] and not found):
        found.append("text and code that are not graded")
    return found


def missing_settings(room: Classroom) -> Sequence[str]:
    """Return what the configuration of a new class sets and this one's does not."""
    text = (room.root / CONFIG).read_text(encoding="utf-8", errors="replace")
    return [name for name in _SETTING.findall(CONFIGURATION) if f"c.{name}" not in text]
