"""One of a run's graders: it has a sandbox, and grades one submission after the other in it."""

from __future__ import annotations

import platform
import time
from dataclasses import dataclass
from pathlib import Path

from course_lib.teaching.grade.audits import Audits
from course_lib.teaching.grade.database import Databases
from course_lib.teaching.grade.errors import GradeError
from course_lib.teaching.grade.inside.channel import Closed, Garbled
from course_lib.teaching.grade.marking import (
    AUDIT_FAILED,
    UNKNOWN,
    Grade,
    Mark,
    mark,
    outputs_of,
    passed_exercises,
    status_of,
    undecided_checks,
    ungraded,
)
from course_lib.teaching.grade.master import Master
from course_lib.teaching.grade.merge import Merged, merge, solved
from course_lib.teaching.grade.plagiarism import copies_of_the_course
from course_lib.teaching.grade.plan import Step, as_notebook, make_plan
from course_lib.teaching.grade.rules import suspicions
from course_lib.teaching.grade.running import SAYS, Conversation
from course_lib.teaching.grade.sandbox import Sandbox, Setup
from course_lib.teaching.grade.submissions import Submission, newer_python, read_cells
from course_lib.teaching.names import bound_names
from course_lib.teaching.notebooks.cells import parse_code
from course_lib.teaching.notebooks.project import write_atomically


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
        marks, flags, _, modules = self._run(solved(self.master), proving=True)
        for one in marks:
            if one.points is not None and one.points != one.max:
                raise GradeError(
                    f"the master does not pass its own {one.grade_id}: {one.said or one.state}",
                    hint="Its solution, its checks or its time limit has to change first.",
                )
        if flags:
            raise GradeError(f"the master does not pass its own {flags[0]}")
        return modules

    def grade(self, submission: Submission) -> Grade:
        """Grade a submission, whatever it holds."""
        begun = time.monotonic()
        learner = submission.learner
        assert submission.path is not None
        try:
            merged = merge(self.master, read_cells(submission.path))
        except ValueError as error:
            return ungraded(self.master, learner, str(error))
        except OSError as error:
            return ungraded(self.master, learner, f"it cannot be read: {error.strerror}")
        if newer := newer_python(submission.path):
            merged.undecided.update(_not_python_here(self.master, merged, newer))
        own = {k: v for k, v in merged.answers.items() if k not in merged.untouched}
        flags, outputs = list[str](), dict[str, str]()
        checks = {cell.grade_id for cell in self.master.checks if cell.role == "check"}
        unclear = undecided_checks(self.master, merged).keys()
        if not self._is_run or (checks and checks <= unclear):
            marks = mark(self.master, merged, [])
        else:
            marks, flags, talk, _ = self._run(merged)
            if talk.junit:
                write_atomically(self.junit / f"{learner}.xml", talk.junit)
            helpers = [one for some in merged.helpers.values() for one in some]
            added = {"an added cell": "\n".join(helpers)} if helpers else {}
            given = {"an added cell": "\n".join(self.master.solutions.values())}
            flags += suspicions(own | added, given | self.master.solutions)
            flags += copies_of_the_course(own, self.master.solutions, self.master.stubs)
            outputs = outputs_of(talk.runs)
        return Grade(
            learner,
            status_of(marks),
            tuple(marks),
            tuple(dict.fromkeys(flags)),
            merged.notes,
            own,
            outputs,
            round(time.monotonic() - begun, 3),
            added=merged.added,
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

    def _run(
        self, merged: Merged, *, proving: bool = False
    ) -> tuple[list[Mark], list[str], Conversation, tuple[str, ...]]:
        """Run answers; where a name is missing that cells define which were left out, run all.

        What an added cell defines may count though nothing reads its name: a function that a
        decorator enters into a list, one that is found by `globals()`. So where an answer is
        wrong without it, all that added cells define is run, and the better run counts.
        """
        steps = make_plan(self.master, merged, everything=not self.master.lab)
        found = self._run_steps(steps, merged, proving=proving)
        missing = {name for run in found[2].runs for name in UNKNOWN.findall(run.evalue)}
        own = (bound_names(one) for several in merged.helpers.values() for one in several)
        if self.master.lab and missing & self.master.given_names.union(*own):
            steps = make_plan(self.master, merged, everything=True)
            return self._run_steps(steps, merged, proving=proving)
        if self.master.lab and merged.helpers and any(map(_is_wrong, found[0])):
            more = make_plan(self.master, merged, everything=False, added=True)
            if more != steps:
                again = self._run_steps(more, merged, proving=proving)
                found = max(found, again, key=lambda one: sum(m.points or 0 for m in one[0]))
        return found

    def _run_steps(
        self, steps: list[Step], merged: Merged, *, proving: bool
    ) -> tuple[list[Mark], list[str], Conversation, tuple[str, ...]]:
        """Run steps to their end; return marks, flags, what ran and, of a proof, the modules."""
        notebook, bad = as_notebook(steps, self.master), dict[int, str]()
        unheard: dict[str, str] = {}
        left, limits = self.setup.limits.budget, self.setup.limits
        marks, faults, modules = list[Mark](), dict[int, str](), tuple[str, ...]()
        while True:
            if self.sandbox is None and not self._stopped:
                sockets = self.databases.folder if self.databases else None
                self.sandbox = Sandbox(self.setup, self.slot, sockets)
            sandbox, url = self.sandbox, ""
            if self._stopped or sandbox is None:  # `stop` does not see a sandbox that is starting
                raise GradeError("the run was stopped")
            if self.databases is not None:
                url = self.databases.give()
            begun = time.monotonic()
            try:
                talk = Conversation(sandbox.open(), sandbox.answers, limits, left, steps, bad)
            except (Closed, Garbled, TimeoutError):
                self.restart()
                raise
            try:
                talk.run(notebook, url)
                ran, heard = time.monotonic() - begun, len(unheard)
                if not talk.ended:
                    marks = mark(self.master, merged, talk.runs)
                    faults = self._audit(talk, marks, unheard)
                    modules = talk.modules() if proving else ()
            finally:
                left -= time.monotonic() - begun
                if not sandbox.close(talk.channel):
                    self.sandbox = None
            if talk.ended == "died" and sandbox.over_memory:
                talk.ended = "memory"
            if len(unheard) > heard and left > 2 * ran + limits.cell:
                continue  # what is left to ask is asked in another process
            if talk.junit is not None or not talk.leave_out():
                break
        if talk.junit is None:
            marks, faults = mark(self.master, merged, talk.runs), {}
        flags = [
            f"{run.step.name}: {SAYS[run.state]}"
            for run in talk.runs
            if run.state in ("garbled", "died", "memory", "budget")
        ]
        for place, fault in faults.items():
            flags.append(f"{marks[place].grade_id}: {AUDIT_FAILED}: {fault}")
        return marks, flags, talk, modules

    def _audit(
        self, talk: Conversation, marks: list[Mark], unheard: dict[str, str]
    ) -> dict[int, str]:
        """Audit what passed; return what is wrong, by the place of the mark.

        An audit that ends the process costs no points: all cells have run by then. It goes into
        `unheard`, and is not asked for again.
        """
        faults = {}
        places = {run.step.cell.grade_id: number for number, run in enumerate(talk.runs)}
        for exercise, place in passed_exercises(self.master, marks).items():
            if exercise not in self.audits.audits:
                continue
            if exercise in unheard or talk.ended:  # nothing speaks for these
                faults[place] = unheard.get(exercise) or f"not asked: {talk.said}"
                continue
            after = places[marks[place].grade_id]
            told = talk.audit(exercise, self.audits.calls[exercise], after)
            partly = marks[place].state == "partly"
            if fault := self.audits.fault(exercise, told, self.databases, partly=partly):
                faults[place] = fault
            if talk.ended:
                unheard[exercise] = faults[place] = talk.said
        return faults


def _is_wrong(one: Mark) -> bool:
    """Tell whether an answer has been tried and has lost points."""
    return one.points is not None and one.points < one.max and one.state != "not attempted"


def _not_python_here(master: Master, merged: Merged, newer: str) -> dict[str, str]:
    """Return the answers that this Python cannot read, where the learner's is a newer one."""
    told = f"Python {platform.python_version()} cannot read it, and it was run with {newer}"
    return {
        cell.grade_id: f"{told}: grade it with that version"
        for cell in master.answers
        if cell.role == "answer" and parse_code(merged.source(cell)) is None
    }
