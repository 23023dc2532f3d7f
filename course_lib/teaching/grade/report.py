"""The report of a run: the grades of an assignment, and the files in which they are kept.

Each learner has a file, written whole or not at all as soon as the grade is there: a run that is
stopped has lost nothing, and a run of a few learners takes nothing away from the others.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter

from course_lib.files import write_atomically
from course_lib.teaching.grade.fence import Fence
from course_lib.teaching.grade.marking import Grade
from course_lib.teaching.grade.plagiarism import Copy

_AS_JSON = TypeAdapter(Grade)

LEARNERS = "learners"
"""The folder of those files, in the report's."""


@dataclass(frozen=True)
class GradeReport:
    """All grades of an assignment.

    Attributes
    ----------
    name, title
        Of the master, and what the page calls it.
    fence
        What was between the submissions and the machine.
    seed
        What the audits' arguments were drawn with.
    grades
        One a learner, in the order of their names.
    copies
        Answers that are alike.
    waiting
        Learners who were not reached, because the run was stopped.
    seconds
        Of this run.
    changes
        Of learners who had points before and have others now: both.
    """

    name: str
    title: str
    fence: Fence
    seed: str
    grades: tuple[Grade, ...]
    copies: tuple[Copy, ...] = ()
    waiting: tuple[str, ...] = ()
    seconds: float = 0.0
    changes: Mapping[str, tuple[float, float]] = field(default_factory=dict)


def write_grade(grade: Grade, folder: Path) -> None:
    """Keep a grade in the report's folder."""
    text = _AS_JSON.dump_json(grade, indent=1) + b"\n"
    write_atomically(folder / LEARNERS / f"{grade.learner}.json", text)


def read_grades(folder: Path) -> Mapping[str, Grade]:
    """Return the grades that are kept in a report's folder, by learner; a damaged file is none."""
    found: dict[str, Grade] = {}
    kept = (folder / LEARNERS).glob("*.json")
    for path in sorted(kept, key=lambda one: one.stat().st_mtime_ns):  # the newest counts
        try:
            grade = _AS_JSON.validate_json(path.read_bytes())
        except (OSError, ValueError):
            continue
        found[grade.learner] = grade
    return found


def forget_grades(folder: Path, *, keep: Collection[str]) -> None:
    """Remove the grades of all but some learners from a report's folder."""
    for learner in read_grades(folder).keys() - set(keep):
        (folder / LEARNERS / f"{learner}.json").unlink(missing_ok=True)
