"""What learners read about their answers: the comments on the cells that they wrote.

nbgrader shows them in formgrader, where a person can write another one, and puts them into the
page that `nbgrader generate_feedback` makes. They are Markdown; what a learner's code said is
indented, so that nothing in it is markup.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from course_lib.teaching.classroom.syntax import with_line
from course_lib.teaching.grade.marking import Grade, Mark, checks_of
from course_lib.teaching.grade.master import Master, MasterCell
from course_lib.teaching.grade.overview import UNSEEN

WORDS = {
    "passed": "passed",
    "partly": "partly right",
    "failed": "not right yet",
    "not attempted": "not attempted",
    "timeout": "it took too long",
    "budget": "the time was used up",
    "died": "it ended the kernel",
    "memory": "it took too much memory",
    "not run": "it could not be run",
}


OFFER = re.compile(r"\n(?:hint \d+ of \d+: |lab\.hint\().*\Z", re.DOTALL)
"""The end of what a check of the course's says, about its hints."""

LONGEST = 20_000
"""Characters of a text of somebody else's that are shown."""


def comments(master: Master, grade: Grade) -> dict[str, str]:
    """Return a comment for each cell that a learner writes, by grade id; empty where all is well.

    Comments belong to answers, and points to checks: an answer's comment is about its checks.
    """
    marks = {mark.grade_id: mark for mark in grade.marks}
    said: dict[str, list[str]] = {
        cell.grade_id: [] for cell in master.cells if cell.role in ("answer", "manual")
    }
    told: set[str] = set()
    for cell in master.answers:
        for check in checks_of(master, cell):
            if check.grade_id not in told:
                told.add(check.grade_id)
                said[cell.grade_id].append(_comment(marks[check.grade_id], check, master, grade))
    for cell in master.checks:
        if cell.role == "manual" and marks[cell.grade_id].state == "not attempted":
            said[cell.grade_id].append("No response.")
    new = [note for note in grade.notes if note not in {mark.said for mark in grade.marks}]
    if new and said:
        notes = "\n".join(f"- {_line(note)}" for note in new)
        said[next(iter(said))].append(f"About the file:\n\n{notes}")
    return {name: "\n\n".join(filter(None, parts)) for name, parts in said.items()}


def hints_of(master: Master, cell: MasterCell) -> Sequence[str]:
    """Return the hints of the exercise that a check checks; none for other masters."""
    if not master.lab or not cell.exercise:
        return ()
    from course_lib.teaching.checks import load

    exercise = load(master.lab).get(cell.exercise)
    return exercise.hints if exercise else ()


def shown(text: str) -> str:
    """Return text of somebody else's as it can be shown: what cannot be seen is replaced."""
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]} …"
    return UNSEEN.sub("\ufffd", text)


def _comment(mark: Mark, cell: MasterCell, master: Master, grade: Grade) -> str:
    if mark.state == "passed":
        return ""
    name = f"Exercise {cell.exercise}" if cell.exercise else mark.grade_id
    words = WORDS.get(mark.state, "a person will look at it")
    given = "" if mark.points is None else f" ({mark.points:g} of {mark.max:g})"
    parts = [f"**{name}: {words}**{given}"]
    hints = hints_of(master, cell) if mark.state != "undecided" else ()
    said = with_line(without_hidden(mark, cell), grade.answers)
    if hints:
        said = OFFER.sub("", said)  # they are all below
    if said and not said.endswith("not attempted yet"):
        lines = shown(said).splitlines()
        parts.append("\n".join(f"    {line}" for line in lines))
    if hints:
        parts.append("\n".join(f"{i}. Hint: {hint}" for i, hint in enumerate(hints, start=1)))
    return "\n\n".join(parts)


def _line(note: str) -> str:
    """Return a note that may hold names of a learner's: in one line, and as code."""
    return "`" + " ".join(shown(note).replace("`", "'").split()) + "`"


def without_hidden(mark: Mark, cell: MasterCell) -> str:
    """Return what a check said, unless the words are those of a hidden one."""
    said = mark.said.removeprefix("AssertionError: ")
    if cell.source != cell.stub and mark.state == "failed" and said and said not in cell.stub:
        if mark.said.startswith("AssertionError"):
            return "a check that is not in your notebook failed"
    return mark.said
