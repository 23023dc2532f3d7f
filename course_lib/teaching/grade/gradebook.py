"""The gradebook as files: for people, for programs, for Canvas and for Moodle.

Points that a person has to decide are empty, and missing where an import might take them for 0.
Every file is written whole or not at all.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_lib.teaching.build.project import write_atomically
from course_lib.teaching.grade.marking import Grade, tidy

STATE = ".grades-state.json"


@dataclass(frozen=True)
class Gradebook:
    """All grades of a run.

    Attributes
    ----------
    name, title
        Of the master, and what the pages and exports call it.
    fence
        What stood between the submissions and the machine.
    engine
        ``forked`` or ``cold``.
    checks
        Grade id and points of each check, in their order.
    grades
        One a learner, in the order of their names.
    alike
        Answers that are the same but for names.
    waiting
        Learners who were not graded, because the run was stopped.
    """

    name: str
    title: str
    fence: str
    fence_kind: str
    engine: str
    checks: tuple[tuple[str, float], ...]
    grades: tuple[Grade, ...]
    alike: tuple[dict[str, Any], ...] = ()
    waiting: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def max(self) -> float:
        """The points that can be had."""
        return tidy(sum(points for _, points in self.checks))

    @property
    def graded(self) -> list[Grade]:
        """The grades that are decided."""
        return [one for one in self.grades if one.status == "graded"]


def write_gradebook(book: Gradebook, folder: Path) -> list[Path]:
    """Write all files but the pages, and return their paths."""
    texts = {
        "grades.csv": grades_csv(book),
        "grades.json": grades_json(book),
        "canvas.csv": canvas_csv(book),
        "moodle.csv": moodle_csv(book),
        STATE: _state(book),
    }
    for name, text in texts.items():
        write_atomically(folder / name, text)
    return [folder / name for name in texts if name != STATE]


def read_grades(folder: Path) -> dict[str, Grade]:
    """Return the grades that an earlier run wrote, by learner; none where there are none."""
    try:
        state = json.loads((folder / STATE).read_text(encoding="utf-8"))
        return {one["learner"]: Grade.from_dict(one) for one in state["grades"]}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def grades_csv(book: Gradebook) -> str:
    """Return a table with a line a learner and a column a check."""
    head = ["learner", *(name for name, _ in book.checks), "total", "max", "status", "flags"]
    rows: list[Sequence[object]] = [[*head, "notes", "seconds", "fence"]]
    for one in book.grades:
        points = [mark.points for mark in one.marks]
        rows.append([
            one.learner, *points, one.score if one.status == "graded" else None, one.max,
            one.status, "; ".join(one.flags),
            "; ".join(one.notes), one.seconds, book.fence_kind,
        ])  # fmt: skip
    return _csv(rows)


def grades_json(book: Gradebook) -> str:
    """Return the grades by learner."""
    by_learner = {
        one.learner: {
            "score": one.score,
            "max": one.max,
            "status": one.status,
            "checks": {mark.grade_id: mark.points for mark in one.marks},
            "flags": list(one.flags),
            "notes": list(one.notes),
            "seconds": one.seconds,
            "fence": book.fence_kind,
        }
        for one in book.grades
    }
    return json.dumps(by_learner, indent=1, ensure_ascii=False) + "\n"


def canvas_csv(book: Gradebook) -> str:
    """Return what Canvas imports (Grades, Import); learners are looked up by their login.

    Who has no grade yet is left out: an empty cell would take away a grade that is there.
    """
    head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", book.title]
    possible = ["    Points Possible", "", "", "", "", book.max]
    rows: list[Sequence[object]] = [head, possible]
    rows += [[one.learner, "", "", one.learner, "", one.score] for one in book.graded]
    return _csv(rows)


def moodle_csv(book: Gradebook) -> str:
    """Return what Moodle imports (Grades, Import, CSV file), mapped by user name.

    Who has no grade yet is left out: in a new column Moodle takes an empty cell for a grade.
    """
    rows: list[Sequence[object]] = [["username", book.title, f"{book.title} feedback"]]
    for one in book.graded:
        rows.append([one.learner, one.score, f"{one.score:g} of {one.max:g} points"])
    return _csv(rows)


def _state(book: Gradebook) -> str:
    return json.dumps({"grades": [one.as_dict() for one in book.grades]}, ensure_ascii=False)


def _csv(rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        writer.writerow([_cell(value) for value in row])
    return text.getvalue()


def _cell(value: object) -> str:
    """Return a value as a cell that no spreadsheet takes for a formula."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:g}"
    text = str(value).encode("utf-8", "replace").decode("utf-8")
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
