"""One of a run's graders: it has a sandbox, and grades one submission after the other in it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from course_lib.teaching.build.project import write_atomically
from course_lib.teaching.grade.audits import Audits
from course_lib.teaching.grade.copies import copies_of_the_course
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
    with_audit,
)
from course_lib.teaching.grade.master import Master
from course_lib.teaching.grade.merge import Merged, merge, solved
from course_lib.teaching.grade.needed import bound_names
from course_lib.teaching.grade.plan import Plan, make_plan
from course_lib.teaching.grade.rules import suspicions
from course_lib.teaching.grade.running import SAYS, Conversation, Outcome, leave_out
from course_lib.teaching.grade.sandbox import Sandbox, Setup
from course_lib.teaching.grade.submissions import Submission, read_cells


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
    database
        The administrator's URL of the run's cluster; empty where the master needs none.
    audits, audit_share
        What is asked of the learner's functions, and what part of the points it earns.
    junit
        The folder for nbval's reports.
    """

    def __init__(
        self,
        master: Master,
        setup: Setup,
        slot: int,
        database: str,
        audits: Audits,
        audit_share: float,
        junit: Path,
    ) -> None:
        self.master = master
        self.setup = setup
        self.slot = slot
        self.audits = audits
        self.audit_share = audit_share
        self.junit = junit
        self.sandbox: Sandbox | None = None
        self.databases = Databases(database) if database else None
        self._stopped = False

    def prove(self) -> tuple[str, ...]:
        """Run the master's own answers, and return what they import.

        Raises
        ------
        GradeError
            The master does not pass one of its own checks.
        """
        merged = solved(self.master)
        plan = make_plan(self.master, merged)
        marks, flags, _, modules = self._run(plan, merged, proving=True)
        for one in marks:
            if one.points is not None and one.points != one.max:
                raise GradeError(
                    f"the master does not pass its own {one.grade_id}: {one.said or one.state}",
                    hint="Its solution, its checks or its time limit has to change first.",
                )
        if flags:
            raise GradeError(f"the master does not pass its own {flags[0]}")
        return modules

    def use(self, modules: tuple[str, ...]) -> None:
        """Import these modules before each submission from now on."""
        self.setup = replace(self.setup, modules=modules)
        self.restart()

    def grade(self, submission: Submission) -> Grade:
        """Grade a submission, whatever it holds."""
        begun = time.monotonic()
        learner, slug = submission.learner, submission.slug
        assert submission.path is not None
        try:
            merged = merge(self.master, read_cells(submission.path))
        except ValueError as error:
            return ungraded(self.master, learner, slug, str(error))
        except OSError as error:
            return ungraded(self.master, learner, slug, f"it cannot be read: {error.strerror}")
        unclear = undecided_checks(self.master, merged)
        if len(unclear) == sum(cell.role == "check" for cell in self.master.checks) and unclear:
            none = ungraded(self.master, learner, slug, next(iter(unclear.values())))
            return replace(none, notes=merged.notes)
        plan = make_plan(self.master, merged)
        marks, flags, outcome, _ = self._run(plan, merged)
        if _wants_more(self.master, plan, marks):
            plan = make_plan(self.master, merged, everything=True)
            marks, flags, outcome, _ = self._run(plan, merged)
        if outcome.junit:
            write_atomically(self.junit / f"{slug}.xml", outcome.junit)
        own = {k: v for k, v in merged.answers.items() if k not in merged.untouched}
        helpers = [one for some in merged.helpers.values() for one in some]
        added = {"an added cell": "\n".join(helpers)} if helpers else {}
        flags += suspicions(own | added, self.master.solutions, self.master.fixed_names)
        flags += copies_of_the_course(own, self.master.solutions, self.master.stubs)
        return Grade(
            learner,
            slug,
            status_of(marks),
            tuple(marks),
            tuple(dict.fromkeys(flags)),
            merged.notes,
            own,
            outputs_of(outcome.runs),
            round(time.monotonic() - begun, 3),
        )

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
        self, plan: Plan, merged: Merged, *, proving: bool = False
    ) -> tuple[list[Mark], list[str], Outcome, tuple[str, ...]]:
        """Run a plan to its end; return marks, flags, what ran and, of a proof, the modules."""
        notebook, bad = plan.notebook(self.master), dict[int, str]()
        left = self.setup.limits.budget
        url, modules = "", tuple[str, ...]()
        while True:
            if self._stopped:
                raise GradeError("the run was stopped")
            self.sandbox = self.sandbox or Sandbox(
                self.setup, self.slot, self.databases.folder if self.databases else None
            )
            sandbox = self.sandbox
            if self.databases is not None:
                url = self.databases.give(fenced=self.setup.fence.kind != "none")
            begun = time.monotonic()
            try:
                conversation = Conversation(
                    sandbox.open(), sandbox.answers, self.setup.limits, left
                )
            except (Closed, Garbled, TimeoutError):
                self.restart()
                raise
            try:
                outcome = conversation.run(plan, notebook, url, bad)
                if not conversation.ended:
                    marks = mark(self.master, merged, outcome.runs)
                    faults = self._audit(conversation, plan, marks)
                    modules = conversation.modules() if proving else ()
            finally:
                left -= time.monotonic() - begun
                if not sandbox.close(conversation.channel):
                    self.sandbox = None
            if conversation.ended == "died" and sandbox.over_memory:
                conversation.ended = "memory"
            if not conversation.ended or not leave_out(conversation, bad, outcome):
                break
        if conversation.ended:
            marks, faults = mark(self.master, merged, outcome.runs), {}
        flags = [
            f"{run.step.name}: {SAYS[run.state]}"
            for run in outcome.runs
            if run.state in ("garbled", "died", "memory", "budget")
        ]
        for place, fault in faults.items():
            marks[place] = with_audit(marks[place], fault, self.audit_share)
            flags.append(f"{marks[place].grade_id}: {AUDIT_FAILED}: {fault}")
        return marks, flags, outcome, modules

    def _audit(
        self, conversation: Conversation, plan: Plan, marks: list[Mark]
    ) -> Mapping[int, str]:
        """Audit what passed; return what is wrong, by the place of the mark."""
        faults = {}
        places = {step.cell.grade_id: number for number, step in enumerate(plan.steps)}
        for exercise, place in passed_exercises(self.master, marks).items():
            if exercise not in self.audits.audits:
                continue
            after = places[marks[place].grade_id]
            told = conversation.audit(exercise, self.audits.calls[exercise], after)
            own = self.databases.url if self.databases else ""
            if fault := self.audits.fault(exercise, told, own):
                faults[place] = fault
            if conversation.ended:  # the others' audits cannot be run, and nothing speaks for them
                break
        return faults


def _wants_more(master: Master, plan: Plan, marks: list[Mark]) -> bool:
    """Tell whether a name was missing that a cell defines which was not run."""
    missing = {name for one in marks for name in UNKNOWN.findall(one.said)}
    # What an answer should have defined no other cell can give.
    missing -= {name for cell in master.answers for name in bound_names(cell.source)}
    if not missing:
        return False
    ran = {id(step.cell) for step in plan.steps if step.is_whole}
    left_out = [cell for cell in master.cells if cell.kind == "code" and id(cell) not in ran]
    return any(missing & bound_names(cell.source) for cell in left_out)
