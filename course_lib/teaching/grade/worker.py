"""One job of a grading run: proves the master, then grades one submission after the other.

It is a process of its own, because pytest runs one session at a time. It takes tasks from a pipe
and holds the gradebook's side of every conversation with submissions; nothing of theirs runs in it.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import signal
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_lib.errors import CourseError
from course_lib.teaching.grade.conduct import Conductor
from course_lib.teaching.grade.database import Databases
from course_lib.teaching.grade.errors import GradeError
from course_lib.teaching.grade.honesty import source_flags
from course_lib.teaching.grade.marking import (
    UNKNOWN,
    Grade,
    Mark,
    mark,
    outputs_of,
    paid,
    status_of,
    undecided_checks,
    ungraded,
)
from course_lib.teaching.grade.master import Master
from course_lib.teaching.grade.merge import Merged, blank, merge, solved
from course_lib.teaching.grade.needed import bound_names
from course_lib.teaching.grade.plan import Plan, make_plan
from course_lib.teaching.grade.proof import Proof
from course_lib.teaching.grade.sandbox import Setup
from course_lib.teaching.grade.sessions import ColdSessions, Sessions, WarmSessions
from course_lib.teaching.grade.submissions import Submission, read_cells
from course_lib.teaching.grade.tried import texts_tried

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


@dataclass
class Worker:
    """Grades submissions, one at a time.

    Attributes
    ----------
    setup
        What each submission starts from; a proof adds to it.
    warm
        Whether submissions are forks of one parent.
    junit
        Folder for nbval's reports; None for none.
    """

    master: Master
    setup: Setup
    warm: bool
    slot: int = 0
    junit: Path | None = None
    proof: Proof | None = None
    sessions: Sessions | None = field(default=None, init=False)
    _databases: Databases | None = field(default=None, init=False)

    def prove(self) -> Proof:
        """Run the master's own answers, and none, and return what follows from it.

        Raises
        ------
        GradeError
            The master does not pass one of its own checks.
        """
        merged = solved(self.master)
        plan = make_plan(self.master, merged)
        conductor = self._conductor(plan)
        marks, _, about = self._marks(merged, conductor)
        for one in marks:
            if one.points is not None and one.points != one.max:
                raise GradeError(
                    f"the master does not pass its own {one.grade_id}: {one.said or one.state}",
                    hint="Its solution, its checks or its time limit has to change first.",
                )
        core = {step.cell.id: step.source for step in plan.steps[: plan.ahead]}
        after = conductor.after_ahead
        # One socket is the channel; a connection, or a thread, does not survive a fork.
        pure = self.warm and after.get("threads") == 1 and after.get("sockets", 9) <= 1
        modules = tuple(about.get("modules", ()))
        twice = tuple(run.step.name for run in conductor.runs if run.again == "ok")
        proof = Proof((), core, modules, plan.ahead if pure else 0, twice)
        self.use(proof)
        untouched = blank(self.master)
        plan = make_plan(self.master, untouched, core=core)
        marks = self._marks(untouched, self._conductor(plan))[0]
        decoys = tuple(one.grade_id for one in marks if one.points == 0.0)
        self.proof = replace(proof, decoys=decoys)
        return self.proof

    def use(self, proof: Proof) -> None:
        """Start every submission from what a proof found out."""
        if proof == self.proof and self.sessions is not None:
            return  # it is what has just been proven here
        self.proof = proof
        setup = self.setup
        if self.warm:
            cells = tuple(proof.core.values())[: proof.ahead]
            setup = replace(setup, modules=proof.modules, cells=cells)
        self._restart(setup)
        if isinstance(self.sessions, WarmSessions):
            self.sessions.warm_up()
        from course_lib.teaching.grade import with_nbval  # noqa: F401 - while the parent imports

    def grade(self, submission: Submission) -> Grade:
        """Grade a submission, whatever it holds."""
        begun = time.monotonic()
        learner, slug = submission.learner, submission.slug
        if submission.path is None:
            return ungraded(self.master, learner, slug, submission.problem)
        try:
            merged = merge(self.master, read_cells(submission.path))
        except ValueError as error:
            return ungraded(self.master, learner, slug, str(error))
        except OSError as error:
            return ungraded(self.master, learner, slug, f"it cannot be read: {error.strerror}")
        unclear = undecided_checks(self.master, merged)
        if len(unclear) == sum(cell.role == "check" for cell in self.master.checks) and unclear:
            return replace(
                ungraded(self.master, learner, slug, next(iter(unclear.values()))),
                notes=merged.notes,
            )
        marks, flags, outputs = self._run(merged, slug)
        return Grade(
            learner,
            slug,
            status_of(marks),
            tuple(marks),
            tuple(dict.fromkeys(flags)),
            merged.notes,
            {k: v for k, v in merged.answers.items() if k not in merged.untouched},
            outputs,
            round(time.monotonic() - begun, 3),
        )

    def close(self) -> None:
        """End what runs."""
        self._end_sessions()
        if self._databases is not None:
            self._databases.close()
            self._databases = None

    def start_again(self) -> None:
        """Begin anew with what the proof found out, after something has gone wrong."""
        self._end_sessions()
        if self.proof is not None:
            self.use(self.proof)

    def _end_sessions(self) -> None:
        if self.sessions is not None:
            self.sessions.close()
            self.sessions = None

    def _run(self, merged: Merged, slug: str) -> tuple[list[Mark], list[str], dict[str, str]]:
        assert self.proof is not None
        options: dict[str, Any] = {
            "core": self.proof.core,
            "decoys": frozenset(self.proof.decoys),
            "repeatable": frozenset(self.proof.repeatable),
        }
        plan = make_plan(self.master, merged, **options)
        conductor = self._conductor(plan)
        marks, flags, _ = self._marks(merged, conductor, slug)
        if _wants_more(self.master, plan, marks):
            whole = make_plan(self.master, merged, everything=True, **options)
            conductor = self._conductor(whole)
            marks, flags, _ = self._marks(merged, conductor, slug)
        stubs = {cell.grade_id: cell.stub for cell in self.master.answers}
        solutions = {cell.grade_id: cell.source for cell in self.master.answers}
        said = source_flags(
            merged.answers, solutions, stubs,
            fixed=plan.fixed, tried=texts_tried(self.master), paid=paid(self.master, marks),
        )  # fmt: skip
        return marks, flags + said, outputs_of(conductor.runs)

    def _marks(
        self, merged: Merged, conductor: Conductor, slug: str = ""
    ) -> tuple[list[Mark], list[str], dict[str, Any]]:
        """Return the marks, the flags, and what the process had imported in the end."""
        conductor.sessions.prepare()  # it forks while pytest starts
        try:
            passed = self._nbval(conductor, slug)
            about = {} if slug else conductor.about()
            conductor.finish()
        finally:
            conductor.close()
        return *mark(self.master, merged, conductor, passed), about

    def _conductor(self, plan: Plan) -> Conductor:
        if self.sessions is None:
            self._restart(self.setup)
        assert self.sessions is not None
        return Conductor(self.sessions, plan, self.setup.limits)

    def _nbval(self, conductor: Conductor, slug: str) -> list[bool]:
        from course_lib.teaching.grade.with_nbval import run_with_nbval

        with tempfile.TemporaryDirectory(prefix="course-grade-") as folder:
            path = Path(folder) / f"{slug or 'master'}.ipynb"
            path.write_text(conductor.plan.notebook(self.master), encoding="utf-8")
            junit = self.junit / f"{slug}.xml" if self.junit and slug else None
            return run_with_nbval(path, conductor, junit)

    def _restart(self, setup: Setup) -> None:
        self._end_sessions()
        if setup.database and self._databases is None:
            self._databases = Databases(setup.database)
        make = WarmSessions if self.warm else ColdSessions
        self.sessions = make(setup, self.slot, self._databases)


def work(connection: Connection, worker: Worker) -> None:
    """Do what comes through a pipe, in a process of its own, until it is closed.

    Tasks are ``("prove", None)``, ``("use", Proof)`` and ``("grade", Submission)``; the answers are
    ``("ok", result)`` and ``("error", CourseError)``.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started us ends us
    signal.signal(signal.SIGTERM, _leave)
    try:
        while True:
            task, given = connection.recv()
            try:
                connection.send(("ok", _done(worker, task, given)))
            except CourseError as error:
                connection.send(("error", error))
            if task == "use":
                gc.collect()
                gc.freeze()  # what is here now stays: collecting it again and again takes longest
    except (EOFError, BrokenPipeError):
        pass
    finally:
        with contextlib.suppress(Exception):
            worker.close()


def _leave(*_: object) -> None:
    raise SystemExit(0)


def _done(worker: Worker, task: str, given: Any) -> Any:
    if task == "prove":
        return worker.prove()
    if task == "use":
        return worker.use(given)
    try:
        return worker.grade(given)
    except CourseError:
        raise
    except Exception as error:  # one submission must not end the run
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            raise GradeError(
                f"a temporary file cannot be written: {error.strerror}",
                hint=f"Make room in {tempfile.gettempdir()}, and go on with --resume.",
            ) from error
        reason = f"the grader failed on it: {type(error).__name__}: {error}"
        worker.start_again()
        return ungraded(worker.master, given.learner, given.slug, reason[:500])


def _wants_more(master: Master, plan: Plan, marks: list[Mark]) -> bool:
    """Tell whether a name was missing that a cell defines which was not run."""
    missing = {name for one in marks for name in UNKNOWN.findall(one.said)}
    # What an answer should have defined no other cell can give.
    missing -= {name for cell in master.answers for name in bound_names(cell.source)}
    if not missing:
        return False
    ran = {id(step.cell) for step in plan.steps if step.source == step.cell.source}
    left_out = [cell for cell in master.cells if cell.kind == "code" and id(cell) not in ran]
    return any(missing & bound_names(cell.source) for cell in left_out)
