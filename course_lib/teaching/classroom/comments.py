"""What learners read about their answers: the comments on the cells that they wrote.

nbgrader shows them in formgrader, where a person can write another one, and puts them into the
page that `nbgrader generate_feedback` makes. They are Markdown; what a learner's code said is
indented, so that nothing in it is markup.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from course_lib.teaching.checks import load
from course_lib.teaching.grade.marking import Grade, Mark
from course_lib.teaching.grade.master import Master, MasterCell, checks_of
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

RAISED = re.compile(r"\w*(?:Error|Exception|Iteration|Exit|Interrupt|Warning)(?=: |$)")
"""The name of an exception at the beginning of what a check said."""

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
                said[cell.grade_id].append(_comment(marks[check.grade_id], check, master))
    for cell in master.checks:
        if cell.role == "manual" and marks[cell.grade_id].state == "not attempted":
            said[cell.grade_id].append("No response.")
    new = [note for note in grade.notes if note not in {mark.said for mark in grade.marks}]
    if new and said:
        notes = "\n".join(f"- {_line(note)}" for note in new)
        said[next(iter(said))].append(f"About the file:\n\n{notes}")
    return {name: "\n\n".join(filter(None, parts)) for name, parts in said.items()}


def shown(text: str) -> str:
    """Return text of somebody else's as it can be shown: what cannot be seen is replaced."""
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]} …"
    return UNSEEN.sub("\ufffd", text)


def _comment(mark: Mark, cell: MasterCell, master: Master) -> str:
    if mark.state == "passed":
        return ""
    name = f"Exercise {cell.exercise}" if cell.exercise else mark.grade_id
    words = WORDS.get(mark.state, "a person will look at it")
    given = "" if mark.points is None else f" ({mark.points:g} of {mark.max:g})"
    parts = [f"**{name}: {words}**{given}"]
    hints: Sequence[str] = ()
    if master.lab and cell.exercise and mark.state != "undecided":
        hints = load(master.lab)[cell.exercise].hints
    said = without_hidden(mark, cell)
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
    """Return what a check said, unless the words are, or may be, those of a hidden one."""
    said = mark.said.removeprefix("AssertionError: ")
    if cell.source == cell.stub or mark.state != "failed" or not said or said in cell.stub:
        return mark.said
    raised = RAISED.match(mark.said)
    if not raised or raised[0] in ("NameError", "SyntaxError"):
        return mark.said
    failed = "failed" if raised[0] == "AssertionError" else f"ended with {raised[0]}"
    where = "is not" if raised[0] == "AssertionError" else "may not be"
    return f"a check that {where} in your notebook {failed}, which takes all of these points"
