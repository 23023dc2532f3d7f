"""From what each cell did to points, and to what a person has to look at.

A check has its points where its item passed under nbval. What is not clear is never counted as
nothing.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from course_lib.teaching.grade.master import Master, MasterCell
from course_lib.teaching.grade.merge import Added, Merged
from course_lib.teaching.grade.running import CellRun
from course_lib.teaching.grade.statements import binding
from course_lib.teaching.names import bound_names, read_names
from course_lib.teaching.notebooks.cells import parse_code

Status = Literal["graded", "needs a person"]

UNKNOWN = re.compile(r"name '(\w+)' is not defined")

MAGIC = re.compile(r"\s*(%%\w+)")
"""What a cell begins with that hands its text to something else, such as ``%%sql``."""

AUDIT_FAILED = "the check passed, and the audit failed"


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
    """

    learner: str
    status: Status
    marks: tuple[Mark, ...]
    flags: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    answers: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    digest: str = ""
    added: tuple[Added, ...] = ()

    @property
    def score(self) -> float:
        """The points that are decided."""
        return tidy(sum(mark.points or 0.0 for mark in self.marks))


def mark(master: Master, merged: Merged, runs: Sequence[CellRun]) -> list[Mark]:
    """Return the marks of a submission.

    Parameters
    ----------
    master, merged
        What was asked and what was answered.
    runs
        What each cell did.
    """
    ran = {run.step.cell.grade_id: run for run in runs}
    unclear = undecided_checks(master, merged)
    marks = []
    for cell in master.checks:
        name, most = cell.grade_id, cell.points
        if cell.role == "manual":
            why = _by_hand(cell, merged)
            marks.append(
                Mark(name, None, most, "undecided", why)
                if why
                else Mark(name, 0.0, most, "not attempted", "nothing was written")
            )
        elif name in unclear:
            marks.append(Mark(name, None, most, "undecided", unclear[name]))
        else:
            given = _checked(cell, ran[name], _cause(ran[name], runs))
            untouched = _is_untouched(master, merged, cell)
            if given.state == "failed" and untouched:
                given = replace(given, state="not attempted")
            elif not untouched and (why := _unclear(master, merged, cell, given)):
                given = Mark(name, None, most, "undecided", why)
            marks.append(given)
    return marks


def _by_hand(cell: MasterCell, merged: Merged) -> str:
    """Return why a person grades a cell; empty where nothing was written for it."""
    if cell.grade_id in merged.undecided or cell.grade_id not in merged.untouched:
        return merged.undecided.get(cell.grade_id, "graded by hand")
    kinds = {one.kind == "code" for one in merged.added}
    if cell.is_task and kinds:
        return "graded by hand: a task is answered in added cells"
    return "nothing is in its cell, and cells were added" if (cell.kind == "code") in kinds else ""


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


def undecided_checks(master: Master, merged: Merged) -> dict[str, str]:
    """Return the checks that depend on an answer which is not clear, with the reason."""
    found: dict[str, str] = {}
    for cell in master.answers:
        if cell.grade_id in merged.undecided:
            reason = merged.undecided[cell.grade_id]
            found.update({one.grade_id: reason for one in checks_of(master, cell)})
    return found


def checks_of(master: Master, answer: MasterCell) -> list[MasterCell]:
    """Return the checks that an answer is about: those that read what it defines, else the next."""
    later = master.cells[master.cells.index(answer) + 1 :]
    checks = [one for one in later if one.role == "check"]
    names = bound_names(answer.source)
    return [one for one in checks if names & read_names(one.source)] or checks[:1]


def flagged_checks(master: Master, flags: Sequence[str]) -> set[str]:
    """Return the checks that flags are about: a flag begins with a check's or an answer's id.

    A flag of an added cell is about all of them.
    """
    found: set[str] = set()
    checks = {one.grade_id: {one.grade_id} for one in master.checks}
    about = checks | {
        one.grade_id: {check.grade_id for check in checks_of(master, one)}
        for one in master.answers
        if one.grade_id not in checks
    }
    for flag in flags:
        found |= about.get(re.split(r"[,:\s]", flag, maxsplit=1)[0], set(checks))
    return found


def tidy(points: float) -> float:
    """Return points without the dust of binary fractions.

    Examples
    --------
    >>> tidy(0.1 + 0.2)
    0.3
    """
    return round(points, 4)


def _is_untouched(master: Master, merged: Merged, check: MasterCell) -> bool:
    """Tell whether all answers that a check is about are as the learner got them."""
    read = read_names(check.source)
    about = [cell.grade_id for cell in master.answers if bound_names(cell.source) & read]
    return bool(about) and merged.untouched.issuperset(about)


def _unclear(master: Master, merged: Merged, check: MasterCell, given: Mark) -> str:
    """Return why a person looks at a check that did not pass; empty where its answer is wrong."""
    if given.points == given.max:
        return ""
    read = read_names(check.source)
    about = [cell for cell in master.answers if bound_names(cell.source) & read]
    sources = [merged.answers[cell.grade_id] for cell in about]
    if " waits for " in given.said and given.state == "not attempted":
        return f"something was written, and {given.said}"
    is_left = not given.points and (
        given.state == "not attempted" or "NotImplementedError" in given.said
    )
    if is_left and any(_differ(merged.answers[cell.grade_id], cell.stub) for cell in about):
        return "something was written, and what says that nothing is there yet is still in its cell"
    unknown = UNKNOWN.findall(given.said)
    magic = next(filter(None, map(MAGIC.match, sources)), None)
    own = frozenset[str]().union(*(bound_names(cell.source) for cell in about))
    if magic and not given.points and ("UsageError" in given.said or own.intersection(unknown)):
        return f"its cell begins with {magic[1]}, so it defines nothing"
    if changed := sorted(merged.changed & _used(merged, sources)):
        return f"it uses {changed[0]}, and a cell that is not run changes it"
    missing = sorted(unknown if "*" in merged.elsewhere else merged.elsewhere.intersection(unknown))
    return f"it uses {missing[0]}, and the cell that defines it is not run" if missing else ""


def _used(merged: Merged, sources: Sequence[str]) -> set[str]:
    """Return the names that answers read, and what the helpers read that they use."""
    used, before = set[str]().union(*map(read_names, sources)), -1
    helpers = [one for several in merged.helpers.values() for one in several]
    while len(used) > before:
        before = len(used)
        for one in helpers:
            binding(one, used)  # adds to `used`
    return used


def _differ(source: str, stub: str) -> bool:
    """Tell whether an answer has other code than its stub: comments are none."""
    trees = parse_code(source), parse_code(stub)
    return None in trees or len({ast.unparse(one) for one in trees if one}) > 1


def _cause(check: CellRun, runs: Sequence[CellRun]) -> CellRun | None:
    """Return the answer whose own cell went wrong, where a check misses what it should define."""
    missing = set(UNKNOWN.findall(check.said))
    for run in runs if missing else ():
        wrong = run.step.cell.role == "answer" and run.state != "ok"
        if wrong and missing & bound_names(run.step.cell.source):
            return run
    return None


def _checked(cell: MasterCell, run: CellRun, cause: CellRun | None) -> Mark:
    name = cell.grade_id
    if run.state == "garbled":
        return Mark(name, None, cell.points, run.state, run.said)
    if run.state == "ok" and run.passed:
        points = _partial(run.value, cell.points)
        return Mark(name, points, cell.points, "passed" if points == cell.points else "partly")
    said = run.said or "its output is not what nbval expects"
    state = run.state
    if state == "error" and run.ename == "NotAttempted":
        state = "not attempted"
    if cause is not None:
        said, state = f"{cause.step.name}: {cause.said}", cause.state
    elif earned := _earned(cell, run):
        return Mark(name, earned, cell.points, "partly", said)
    return Mark(name, 0.0, cell.points, "failed" if state in ("error", "ok") else state, said)


def _partial(value: str, most: float) -> float:
    """Return nbgrader's partial credit: the number that the check's last line gives, if any."""
    try:
        points = float(value)
    except ValueError:
        return most
    return tidy(points) if math.isfinite(points) and 0 <= points <= most else most


def _earned(cell: MasterCell, run: CellRun) -> float:
    """Return the points of the parts that passed of a check of the course that failed."""
    if not cell.exercise or run.ename != "CheckFailed":
        return 0.0
    points = float(run.value) if run.value.isascii() and run.value.isdigit() else 0.0
    return points if points < cell.points else 0.0


def passed_exercises(master: Master, marks: Sequence[Mark]) -> Mapping[str, int]:
    """Return the exercises of the course whose check gave points, and where their mark is."""
    return {
        cell.exercise: place
        for place, (cell, mark) in enumerate(zip(master.checks, marks, strict=True))
        if cell.exercise and mark.points
    }
