"""What the gradebook has of an assignment, and with which version of the course it was made.

The version is in a table of ours. nbgrader makes it when it opens a gradebook, so this module is
imported before.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from nbgrader.api import Base, MissingEntry
from sqlalchemy import Column, String

from course_lib.teaching.classroom.folder import Classroom
from course_lib.teaching.grade import Master
from course_lib.teaching.version import course_version


class MadeWith(Base):  # type: ignore[misc]
    """A row of the table."""

    __tablename__ = "course_version"

    assignment = Column(String(128), primary_key=True)
    version = Column(String(128), nullable=False)


@dataclass(frozen=True)
class Kept:
    """What the gradebook has.

    Attributes
    ----------
    points
        Of each check, by grade id; none where the assignment is not known.
    submissions
        How many are graded with these checks.
    version
        Of the course, when the assignment was made last; empty where the class is older.
    """

    points: dict[str, float] = field(default_factory=dict)
    submissions: int = 0
    version: str = ""

    def fits(self, master: Master) -> bool:
        """Tell whether a master has these checks, with these points."""
        return self.points == {cell.grade_id: cell.points for cell in master.checks}


def kept_of(room: Classroom, assignment: str) -> Kept:
    """Return what the gradebook has of an assignment."""
    with room.gradebook() as book:
        try:
            notebook = book.find_notebook(assignment, assignment)
        except MissingEntry:
            return Kept()
        cells = [*notebook.grade_cells, *notebook.task_cells]
        points = {str(one.name): float(one.max_score) for one in cells}
        made_with = book.db.get(MadeWith, assignment)
        return Kept(points, len(notebook.submissions), made_with.version if made_with else "")


def what_is_needed(version: str) -> str:
    """Return how to grade an assignment that was made with another version than this one.

    Examples
    --------
    >>> print(what_is_needed("0.1.0, commit 2c59d065f09a of 2026-11-29"))  # doctest: +ELLIPSIS
    It was made with 0.1.0, commit 2c59d065f09a of 2026-11-29; the course here is ...
    Grade with that version (`git switch --detach 2c59d065f09a` and `make setup`), or make a new ...
    """
    made, commit = version or "an earlier version", version.partition("commit ")[2].split()
    way = f" (`git switch --detach {commit[0]}` and `make setup`)" if commit else ""
    return (
        f"It was made with {made}; the course here is {course_version()}.\n"
        f"Grade with that version{way}, or make a new class."
    )
