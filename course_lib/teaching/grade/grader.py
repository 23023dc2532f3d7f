"""One of a run's graders: it has a sandbox, and grades one submission after the other in it."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from course_lib.files import write_atomically
from course_lib.teaching.grade.audits import Audits, Judged
from course_lib.teaching.grade.database import Databases
from course_lib.teaching.grade.doubts import UNKNOWN
from course_lib.teaching.grade.errors import GradeError
from course_lib.teaching.grade.flags import Flag
from course_lib.teaching.grade.inside.channel import Closed, Garbled
from course_lib.teaching.grade.judging import judge
from course_lib.teaching.grade.marking import (
    Grade,
    Mark,
    mark,
    outputs_of,
    status_of,
    ungraded,
)
from course_lib.teaching.grade.master import Master
from course_lib.teaching.grade.merge import Merged, merge, solved
from course_lib.teaching.grade.plagiarism import copies_of_the_course
from course_lib.teaching.grade.plan import PlannedCell, as_notebook, make_plan
from course_lib.teaching.grade.rules import suspicions
from course_lib.teaching.grade.running import AUDIT, SAYS, CellRun, Conversation
from course_lib.teaching.grade.sandbox import Sandbox, Setup
from course_lib.teaching.grade.submissions import Submission, newer_python, read_cells


@dataclass(frozen=True)
class RunResult:
    """What came of a run.

    Attributes
    ----------
    marks
        One a check.
    flags, notes
        Reasons for a person to look, and what was noticed and costs nothing.
    runs
        What each cell did.
    junit
        nbval's report; empty where the notebook did not come to its end.
    modules
        Of a proof: what was imported.
    """

    marks: tuple[Mark, ...] = ()
    flags: tuple[Flag, ...] = ()
    notes: tuple[str, ...] = ()
    runs: Sequence[CellRun] = ()
    junit: str = ""
    modules: tuple[str, ...] = ()


@dataclass(eq=False)
class Grader:
    """Grades submissions, one at a time.

    Parameters
    ----------
    master
        What they are graded with.
    setup
        What each starts from.
    slot
        Which of the run's graders it is.
    audits
        What is asked of the learner's functions.
    junit
        The folder for nbval's reports.
    """

    master: Master
    setup: Setup
    slot: int
    audits: Audits
    junit: Path

    def __post_init__(self) -> None:
        self.sandbox: Sandbox | None = None
        needs = self.master.needs_database
        self.databases = Databases(self.setup.fence) if needs else None
        self._stopped = False

    def prove(self) -> tuple[str, ...]:
        """Run the master's own answers, and return what they import.

        Raises
        ------
        GradeError
            The master does not pass one of its own checks.
        """
        if not self._is_run:
            return ()
        found = self._run(solved(self.master), proving=True)
        for one in found.marks:
            if one.points is not None and one.points != one.max:
                raise GradeError(
                    f"the master does not pass its own {one.grade_id}: {one.said or one.state}",
                    hint="Its solution, its checks or its time limit has to change first.",
                )
        if found.flags:
            raise GradeError(f"the master does not pass its own {found.flags[0]}")
        return found.modules

    def grade(self, submission: Submission) -> Grade:
        """Grade a submission, whatever it holds."""
        begun = time.monotonic()
        learner = submission.learner
        assert submission.path is not None
        try:
            sent = read_cells(submission.path)
            newer = newer_python(submission.path)
        except ValueError as error:
            return ungraded(self.master, learner, str(error))
        except OSError as error:
            return ungraded(self.master, learner, f"it cannot be read: {error.strerror}")
        merged = merge(self.master, sent)
        if newer:
            unread = _not_python_here(self.master, merged, newer)
            merged = replace(merged, undecided={**merged.undecided, **unread})
        if not self._is_run:
            found = RunResult(mark(self.master, merged, []))
        else:
            found = self._run(merged)
            found = replace(found, flags=(*found.flags, *_read(self.master, merged)))
        if found.junit:
            write_atomically(self.junit / f"{learner}.xml", found.junit)
        return Grade(
            learner,
            status_of(found.marks),
            found.marks,
            tuple(dict.fromkeys(found.flags)),
            (*merged.notes, *found.notes),
            merged.written,
            outputs_of(found.runs),
            round(time.monotonic() - begun, 3),
            added=merged.own.added,
        )

    @property
    def _is_run(self) -> bool:
        """Whether any code is graded: a notebook may ask for nothing but text."""
        return any(cell.kind == "code" for cell in self.master.checks)

    def restart(self) -> None:
        """End the sandbox; the next submission starts another."""
        if self.sandbox is not None:
            self.sandbox.stop()
            self.sandbox = None

    def stop(self) -> None:
        """End what runs, from another thread."""
        self._stopped = True
        if self.sandbox is not None:
            self.sandbox.stop()

    def close(self) -> None:
        """End everything."""
        self.restart()
        if self.databases is not None:
            self.databases.close()

    def _run(self, merged: Merged, *, proving: bool = False) -> RunResult:
        """Run answers; where a name is missing that cells define which were left out, run all."""
        steps = make_plan(self.master, merged, everything=not self.master.lab)
        found = self._result(steps, merged, proving=proving)
        missing = {
            name for run in found.runs for name in UNKNOWN.findall(run.evalue + run.unjudged)
        }
        own = (one.binds for one in merged.own.statements)
        if self.master.lab and missing & self.master.tour_names.union(*own):
            steps = make_plan(self.master, merged, everything=True)
            return self._result(steps, merged, proving=proving)
        return found

    def _result(self, steps: list[PlannedCell], merged: Merged, *, proving: bool) -> RunResult:
        """Run steps to their end, in as many processes as it takes, and judge them."""
        notebook, bad = as_notebook(steps, self.master), dict[int, str]()
        heard: dict[str, Judged | str] = {}
        limits, times = self.setup.limits, self.audits.times
        left = limits.budget + 2 * AUDIT * sum(times.values())
        flags, notes, modules = list[Flag](), list[str](), tuple[str, ...]()
        while True:
            url = self.databases.give() if self.databases else ""
            with self._process(steps, bad, left) as talk:
                talk.run(notebook, url)
                ran = talk.used()
                if not talk.ended:
                    flags, notes = judge(talk, self.audits, self.databases, heard)
                    modules = talk.modules() if proving else ()
            left -= talk.used()
            if talk.junit is not None and talk.ended and left > 2 * ran + limits.cell:
                continue  # what is left to ask is asked in another process
            if talk.junit is not None or not talk.leave_out():
                break
        if talk.junit is None:
            flags, notes = [], []
        ended = [run for run in talk.runs if run.state in ("garbled", "died")]
        died = [
            Flag(one.step.name, one.state, f"{one.step.name}: {SAYS[one.state]}") for one in ended
        ]
        marks = mark(self.master, merged, talk.runs)
        return RunResult(marks, (*died, *flags), tuple(notes), talk.runs, talk.junit or "", modules)

    @contextmanager
    def _process(
        self, steps: list[PlannedCell], bad: dict[int, str], left: float
    ) -> Iterator[Conversation]:
        """Have a process of its own for a run, and the sandbox with it, as long as it is clean."""
        if self.sandbox is None and not self._stopped:
            sockets = self.databases.folder if self.databases else None
            self.sandbox = Sandbox(self.setup, self.slot, sockets)
        sandbox, limits = self.sandbox, self.setup.limits
        if self._stopped or sandbox is None:  # `stop` does not see a sandbox that is starting
            raise GradeError("the run was stopped")
        try:
            times = self.audits.times
            talk = Conversation(sandbox.open(), sandbox, limits, left, times, steps, bad)
        except (Closed, Garbled, TimeoutError):
            self.restart()
            raise
        try:
            yield talk
        finally:
            if not sandbox.close(talk.channel):
                self.sandbox = None


def _read(master: Master, merged: Merged) -> list[Flag]:
    """Return what is seen in the source: ways to the course's own functions, and copies of them."""
    helpers = [one.source for some in merged.own.helpers.values() for one in some]
    added = {"an added cell": "\n".join(helpers)} if helpers else {}
    lab = [cell.source for cell in master.cells if cell.role == "code"]
    given = {"an added cell": "\n".join(master.solutions.values()), "the lab": "\n".join(lab)}
    return [
        *suspicions(merged.written | added, given | master.solutions),
        *copies_of_the_course(merged.written, master.solutions, master.stubs),
    ]


def _not_python_here(master: Master, merged: Merged, newer: str) -> dict[str, str]:
    """Return the answers that this Python cannot read, where the learner's is a newer one."""
    told = f"Python {platform.python_version()} cannot read it, and it was run with {newer}"
    return {
        cell.grade_id: f"{told}: grade it with that version"
        for cell in master.answers
        if not merged.code(cell).is_python
    }
