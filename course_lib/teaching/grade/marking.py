"""From what each cell did to points, and to what a person has to look at.

A check has its points where nbval's item passed, the process said that it went well, and the errors
that had to come on the way came. What is not clear is never counted as nothing, nor as right.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from course_lib.teaching.grade.conduct import TELLS, CellRun, Conductor
from course_lib.teaching.grade.master import Master, MasterCell
from course_lib.teaching.grade.merge import Merged

Status = Literal["graded", "needs a person"]

UNKNOWN = re.compile(r"name '(\w+)' is not defined")

IMMUTABLE = "of immutable type"
"""What Python says to who changes a class that cannot be changed, as those of checks."""

LONGEST = 20_000
"""Characters of a cell's output, or of a message, that are kept: it may be of any length."""

READABLE = {
    "course.change": "changes what checks are made of",
    "reference": "gets by with the course's own version",
    "os.fork": "starts processes",
    "os.exec": "starts programs",
    "os.system": "starts programs",
    "os.posix_spawn": "starts programs",
    "subprocess.Popen": "starts programs",
    "socket.connect": "reaches for the network",
    "socket.bind": "reaches for the network",
    "socket.sendto": "reaches for the network",
    "socket.getaddrinfo": "reaches for the network",
    "open": "writes to a file",
    "os.kill": "ends processes",
    "os.killpg": "ends processes",
}


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
    learner, slug
        As its `Submission` has them.
    marks
        One a check, in the master's order.
    flags
        Reasons for a person to look; they cost no points by themselves.
    notes
        What was noticed when the answers were put into the master's notebook.
    answers
        What the learner wrote, by grade id; untouched ones left out.
    outputs
        What answers and checks put out, as text, by grade id.
    seconds
        That it took.
    digest
        Of all that the grade depends on: a run that resumes keeps a grade whose digest is the same.
    """

    learner: str
    slug: str
    status: Status
    marks: tuple[Mark, ...]
    flags: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    answers: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    digest: str = ""

    @property
    def score(self) -> float:
        """The points that are decided."""
        return tidy(sum(mark.points or 0.0 for mark in self.marks))

    @property
    def max(self) -> float:
        """The points that could be had."""
        return tidy(sum(mark.max for mark in self.marks))

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Grade:
        """Return what `as_dict` was made of."""
        marks = tuple(Mark(**mark) for mark in given["marks"])
        sequences = {name: tuple(given[name]) for name in ("flags", "notes")}
        return cls(**{**given, **sequences, "marks": marks})


def mark(
    master: Master, merged: Merged, conductor: Conductor, passed: Sequence[bool]
) -> tuple[list[Mark], list[str]]:
    """Return the marks of a submission and what a person should know about how it ran.

    Parameters
    ----------
    master, merged
        What was asked and what was answered.
    conductor
        With what each cell did.
    passed
        What nbval said of each cell.
    """
    ran = {
        run.step.cell.grade_id: (run, ok) for run, ok in zip(conductor.runs, passed, strict=True)
    }
    unclear = undecided_checks(master, merged)
    marks = []
    for cell in master.checks:
        if cell.role == "manual":
            marks.append(_manual(cell, merged))
        elif cell.grade_id in unclear:
            marks.append(
                Mark(cell.grade_id, None, cell.points, "undecided", unclear[cell.grade_id])
            )
        else:
            run, ok = ran[cell.grade_id]
            given = _checked(cell, run, ok, _cause(run, conductor.runs))
            if given.state == "failed" and _is_untouched(master, merged, cell):
                given = replace(given, state="not attempted")
            marks.append(given)
    return marks, _flags(conductor)


def outputs_of(runs: Sequence[CellRun]) -> dict[str, str]:
    """Return what answers and checks put out, by grade id: text and no markup, cut to a length."""
    found = {}
    for run in runs:
        parts = [part for message in run.messages if (part := _text(message))]
        parts += [run.said] if run.state != "ok" else []
        if run.step.cell.grade_id and parts:
            text = "".join(parts)
            found[run.step.cell.grade_id] = text[:LONGEST] + (" …" if len(text) > LONGEST else "")
    return found


def ungraded(master: Master, learner: str, slug: str, reason: str) -> Grade:
    """Return the grade of what could not be run: a person has to decide it all."""
    marks = tuple(Mark(c.grade_id, None, c.points, "undecided", reason) for c in master.checks)
    return Grade(learner, slug, "needs a person", marks, notes=(reason,))


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
    names = _bound(answer.source)
    return [one for one in checks if names & _read(one.source)] or checks[:1]


def paid(master: Master, marks: Sequence[Mark]) -> set[str]:
    """Return the grade ids of answers that earned points."""
    earned = {one.grade_id for one in marks if one.points}
    return {
        answer.grade_id
        for answer in master.answers
        if any(one.grade_id in earned for one in checks_of(master, answer))
    }


def tidy(points: float) -> float:
    """Return points without the dust of binary fractions.

    Examples
    --------
    >>> tidy(0.1 + 0.2)
    0.3
    """
    return round(points, 4)


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if not isinstance(content, dict):
        return ""
    data = content.get("data")
    given = data.get("text/plain", "") if isinstance(data, dict) else content.get("text", "")
    if not isinstance(given, str):
        return ""
    return given if message.get("msg_type") == "stream" else f"{given}\n"


def _is_untouched(master: Master, merged: Merged, check: MasterCell) -> bool:
    """Tell whether all answers that a check is about are as the learner got them."""
    read = _read(check.source)
    about = [cell.grade_id for cell in master.answers if _bound(cell.source) & read]
    return bool(about) and merged.untouched.issuperset(about)


def _cause(check: CellRun, runs: Sequence[CellRun]) -> CellRun | None:
    """Return the answer whose own cell went wrong, where a check misses what it should define."""
    missing = set(UNKNOWN.findall(check.said))
    for run in runs if missing else ():
        wrong = run.step.cell.role == "answer" and run.state != "ok"
        if wrong and missing & _bound(run.step.cell.source):
            return run
    return None


def _checked(cell: MasterCell, run: CellRun, ok: bool, cause: CellRun | None) -> Mark:
    name = cell.grade_id
    if not run.honest:
        said = "errors that had to come did not: the check has been tampered with"
        return Mark(name, None, cell.points, "tampered", said)
    if run.state == "garbled":
        return Mark(name, None, cell.points, run.state, run.said)
    if run.state == "ok" and ok:
        points = _partial(run, cell.points)
        return Mark(name, points, cell.points, "passed" if points == cell.points else "partly")
    said = run.said or "its output is not what nbval expects"
    state: str = run.state
    if state == "error" and run.ename == "NotAttempted":
        state = "not attempted"
    if cause is not None:
        said, state = f"{cause.step.name}: {cause.said}", cause.state
    return Mark(name, 0.0, cell.points, "failed" if state in ("error", "ok") else state, said)


def _partial(run: CellRun, most: float) -> float:
    """Return nbgrader's partial credit: the number that the check's last line gives, if any."""
    for message in reversed(run.messages):
        if message.get("msg_type") != "execute_result":
            continue
        content = message.get("content")
        data = content.get("data") if isinstance(content, dict) else None
        try:
            points = float(str(data["text/plain"]))  # type: ignore[index]
        except (TypeError, KeyError, ValueError):
            return most
        return tidy(points) if math.isfinite(points) and 0 <= points <= most else most
    return most


def _manual(cell: MasterCell, merged: Merged) -> Mark:
    if cell.grade_id in merged.untouched:
        return Mark(cell.grade_id, 0.0, cell.points, "not attempted", "nothing was written")
    return Mark(cell.grade_id, None, cell.points, "undecided", "graded by hand")


def _flags(conductor: Conductor) -> list[str]:
    flags: dict[str, None] = {}
    for event, about in conductor.audits:
        what = READABLE.get(event, "looks into the machinery")
        flags[f"{what}: {event}({about})"[:160]] = None
    for run in conductor.runs:
        for name in run.changed:
            flags[f"replaced {name} (it was put back)"] = None
        if IMMUTABLE in run.evalue:
            said = next(line for line in run.evalue.splitlines() if IMMUTABLE in line)
            flags[f"{run.step.name}: {said.strip()}"[:160]] = None
        if run.again == "error":
            flags[f"{run.step.name} passed, and did not when it was run again"] = None
        if not run.honest:
            flags[f"{run.step.name}: what had to fail did not"] = None
        if run.state in ("garbled", "died", "memory", "budget"):
            flags[f"{run.step.name}: {TELLS[run.state]}"] = None
    if conductor.silenced:
        flags["an error that had to be shown in a cell was not"] = None
    return list(flags)


def _bound(source: str) -> set[str]:
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return set()
    names = {n.name for n in body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    for node in body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            names |= {n.id for n in ast.walk(node) if _is_store(n) and isinstance(n, ast.Name)}
    return names


def _is_store(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Store)


def _read(source: str) -> set[str]:
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return set()
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
