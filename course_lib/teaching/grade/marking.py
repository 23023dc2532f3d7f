"""From what each cell did to points, and to what a person has to look at.

A check has its points where its item passed under nbval. What is not clear is never counted as
nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from course_lib.teaching.grade.added import Added
from course_lib.teaching.grade.doubts import UNKNOWN, Failed, doubt
from course_lib.teaching.grade.flags import Flag
from course_lib.teaching.grade.master import Master, MasterCell, checks_of
from course_lib.teaching.grade.merge import Merged
from course_lib.teaching.grade.running import CellRun

Status = Literal["graded", "needs a person"]

NOT_ASKED = "its answer could not be judged: "


@dataclass(frozen=True)
class Mark:
    """What one check gave.

    Attributes
    ----------
    points
        None where a person has to decide.
    said
        What the check said, or why there is nothing to say.
    """

    grade_id: str
    points: float | None
    max: float
    state: str
    said: str = ""


@dataclass(frozen=True)
class Grade:
    """What one submission gave.

    Attributes
    ----------
    learner
        As its `Submission` has it.
    marks
        One a check, in the master's order.
    flags
        Reasons for a person to look; they cost no points, and hold the grade back.
    notes
        What was noticed when the answers were put into the master's notebook.
    answers
        What the learner wrote, by grade id; untouched ones left out.
    outputs
        What answers and checks put out, as text, by grade id.
    added
        The learner's own cells, which a person reads.
    seconds
        That it took.
    digest
        Of all that the grade depends on: a run that resumes keeps a grade whose digest is the same.
    decided
        What a person has decided about flags; see `classroom.record`.
    """

    learner: str
    status: Status
    marks: tuple[Mark, ...]
    flags: tuple[Flag, ...] = ()
    notes: tuple[str, ...] = ()
    answers: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    digest: str = ""
    added: tuple[Added, ...] = ()
    decided: tuple[tuple[str, str, str], ...] = ()

    @property
    def score(self) -> float:
        """The points that are decided."""
        return tidy(sum(mark.points or 0.0 for mark in self.marks))


def mark(master: Master, merged: Merged, runs: Sequence[CellRun]) -> tuple[Mark, ...]:
    """Return the marks of a submission.

    Parameters
    ----------
    master, merged
        What was asked and what was answered.
    runs
        What each cell did.
    """
    unclear = dict[str, str]()
    for cell in master.answers:
        if why := merged.undecided.get(cell.grade_id):
            unclear |= dict.fromkeys((one.grade_id for one in checks_of(master, cell)), why)
    return tuple(
        _by_hand(cell, merged)
        if cell.role == "manual"
        else Mark(cell.grade_id, None, cell.points, "undecided", unclear[cell.grade_id])
        if cell.grade_id in unclear
        else _by_check(master, merged, cell, runs)
        for cell in master.checks
    )


def _by_hand(cell: MasterCell, merged: Merged) -> Mark:
    """Return the mark of what a person grades: nothing where nothing was written for it."""
    kinds = {one.kind == "code" for one in merged.own.added}
    if cell.grade_id in merged.undecided or cell.grade_id not in merged.untouched:
        why = merged.undecided.get(cell.grade_id, "graded by hand")
    elif cell.is_task and kinds:
        why = "graded by hand: a task is answered in added cells"
    elif (cell.kind == "code") in kinds:
        why = "nothing is in its cell, and cells were added"
    else:
        return Mark(cell.grade_id, 0.0, cell.points, "not attempted", "nothing was written")
    return Mark(cell.grade_id, None, cell.points, "undecided", why)


def _by_check(master: Master, merged: Merged, check: MasterCell, runs: Sequence[CellRun]) -> Mark:
    """Return the mark of a check that has run, or why a person looks at it."""
    given = _checked(check, runs)
    about = [cell for cell in master.answers if cell.code.binds & check.code.reads]
    if about and merged.untouched.issuperset(cell.grade_id for cell in about):
        return replace(given, state="not attempted") if given.state == "failed" else given
    if given.points == given.max:
        return given
    answers = [(cell, merged.code(cell)) for cell in about]
    why = doubt(Failed(given.said, given.state, bool(given.points), answers, merged))
    return Mark(given.grade_id, None, given.max, "undecided", why) if why else given


def outputs_of(runs: Sequence[CellRun]) -> dict[str, str]:
    """Return what answers and checks put out, by grade id: text and no markup."""
    return {
        run.step.cell.grade_id: run.text + run.said
        for run in runs
        if run.step.cell.grade_id and run.text + run.said
    }


def ungraded(master: Master, learner: str, reason: str) -> Grade:
    """Return the grade of what could not be run: a person has to decide it all."""
    marks = tuple(Mark(c.grade_id, None, c.points, "undecided", reason) for c in master.checks)
    return Grade(learner, "needs a person", marks, notes=(reason,))


def status_of(marks: Sequence[Mark]) -> Status:
    """Return whether everything is decided."""
    return "needs a person" if any(one.points is None for one in marks) else "graded"


def tidy(points: float) -> float:
    """Return points without the dust of binary fractions.

    Examples
    --------
    >>> tidy(0.1 + 0.2)
    0.3
    """
    return round(points, 4)


def _checked(cell: MasterCell, runs: Sequence[CellRun]) -> Mark:
    """Return the mark of a check as it ran; an answer whose own cell went wrong is the cause."""
    name, run = cell.grade_id, next(one for one in runs if one.step.cell is cell)
    if run.state == "garbled":
        return Mark(name, None, cell.points, run.state, run.said)
    if run.state == "ok" and run.passed and cell.exercise and run.verdict is None:
        return Mark(name, None, cell.points, "undecided", f"{NOT_ASKED}{run.unjudged}")
    earned = run.verdict.earned / run.verdict.exercise.points if run.verdict else 0.0
    if earned or (run.state == "ok" and run.passed):
        points = min(_partial(run.value, cell.points), tidy(cell.points * (earned or 1.0)))
        state = "passed" if points == cell.points else "partly"
        return Mark(name, points, cell.points, state, run.said)
    said = run.said or "its output is not what nbval expects"
    state = run.state
    if state == "error" and run.ename == "NotAttempted":
        state = "not attempted"
    missing = set(UNKNOWN.findall(run.said))
    for one in runs:
        wrong = one.step.cell.role == "answer" and one.state != "ok"
        if wrong and missing & one.step.cell.code.binds:
            said, state = f"{one.step.name}: {one.said}", one.state
            break
    return Mark(name, 0.0, cell.points, "failed" if state in ("error", "ok") else state, said)


def _partial(value: str, most: float) -> float:
    """Return nbgrader's partial credit: the number that the check's last line gives, if any."""
    try:
        points = float(value)
    except ValueError:
        return most
    return tidy(points) if math.isfinite(points) and 0 <= points <= most else most
