"""The jobs of a run: processes that grade a submission at a time, replaced where one dies."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import time
from collections.abc import Generator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from course_lib.errors import CourseError
from course_lib.settings import project_root
from course_lib.teaching.grade.cluster import grading_cluster
from course_lib.teaching.grade.errors import GradeError
from course_lib.teaching.grade.fence import Fence, Limits
from course_lib.teaching.grade.marking import Grade, ungraded
from course_lib.teaching.grade.master import Master
from course_lib.teaching.grade.proof import Proof, library_digest, recall, remember
from course_lib.teaching.grade.sandbox import Setup
from course_lib.teaching.grade.sessions import can_fork
from course_lib.teaching.grade.submissions import Submission
from course_lib.teaching.grade.worker import Worker, work


@dataclass(frozen=True)
class Order:
    """What is to be graded, and how.

    Attributes
    ----------
    submissions
        What was handed in, one a learner.
    out
        The folder for the report.
    master
        What they are graded with.
    fence, limits
        Around each submission.
    jobs
        How many at a time.
    cold
        Start a kernel for each, instead of forking from a parent.
    resume
        Keep the grades of an earlier run whose submission, master and library are the same.
    files
        A folder that the notebooks may read.
    """

    submissions: Sequence[Submission]
    out: Path
    master: Master
    fence: Fence
    limits: Limits = Limits()
    jobs: int = 2
    cold: bool = False
    resume: bool = False
    files: Path | None = None


def engine_of(order: Order) -> str:
    """Return how submissions are run on this system: ``forked`` or ``cold``."""
    return "cold" if order.cold or not can_fork() else "forked"


def graded(order: Order, todo: Sequence[Submission]) -> Generator[Grade, None, None]:
    """Yield the grade of each submission, as they come.

    Raises
    ------
    GradeError
        The master does not pass its own checks, or nothing can be started.
    """
    clear = [one for one in todo if one.path is not None]
    for one in todo:
        if one.path is None:
            yield ungraded(order.master, one.learner, one.slug, one.problem)
    if not clear:
        return
    needed = order.master.needs_database
    cluster = grading_cluster(order.fence, order.jobs) if needed else nullcontext("")
    with cluster as database:
        yield from _by_jobs(order, clear, database)


@dataclass
class _Job:
    process: Any
    pipe: Connection
    task: Submission | str | None = None
    until: float = 0.0


def _by_jobs(
    order: Order, clear: Sequence[Submission], database: str
) -> Generator[Grade, None, None]:
    count = max(1, min(order.jobs, len(clear)))
    jobs: dict[int, _Job] = {}
    try:
        for slot in range(count):
            jobs[slot] = _start(order, slot, database)
        proof = _proof(order, jobs[0])
        for job in jobs.values():
            _give(order, job, "use", proof)
        waiting = list(reversed(clear))
        while waiting or any(job.task is not None for job in jobs.values()):
            for job in jobs.values():
                if job.task is None and waiting:
                    _give(order, job, "grade", waiting.pop())
            ready = wait([job.pipe for job in jobs.values() if job.task is not None], timeout=0.5)
            for slot, job in list(jobs.items()):
                if job.pipe in ready or time.monotonic() > job.until:
                    grade = _taken(order, job, job.pipe in ready)
                    if not job.process.is_alive():
                        jobs[slot] = _start(order, slot, database)
                        _give(order, jobs[slot], "use", proof)
                    elif waiting:  # it works while the grade is recorded
                        _give(order, job, "grade", waiting.pop())
                    if grade is not None:
                        yield grade
    finally:
        for job in jobs.values():
            _end(job)


def _start(order: Order, slot: int, database: str) -> _Job:
    warm = engine_of(order) == "forked"
    solution = ""
    if order.master.lab:
        sources = sorted((project_root() / "solutions").glob(f"{order.master.lab}_*.py"))
        solution = sources[0].read_text(encoding="utf-8") if sources else ""
    setup = Setup(
        order.fence,
        order.limits,
        order.master.lab,
        solution,
        files=order.files,
        database=database,
    )
    worker = Worker(order.master, setup, warm, slot, order.out / "junit")
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=work, args=(theirs, worker), daemon=True)
    process.start()
    theirs.close()
    return _Job(process, ours, until=float("inf"))


def _give(order: Order, job: _Job, task: str, given: Any) -> None:
    job.task = given if task == "grade" else task
    # The second run is for answers that need more of the notebook than its checks do.
    job.until = time.monotonic() + 2 * order.limits.budget + 120
    job.pipe.send((task, given))


def _proof(order: Order, job: _Job) -> Proof:
    """Return what is known of the master, from an earlier run or from trying it."""
    key = _key(order)
    if key and (known := recall(key)):
        return known
    job.pipe.send(("prove", None))
    state, result = job.pipe.recv()
    if state == "error":
        raise result
    assert isinstance(result, Proof)
    if key:
        remember(key, result)
    return result


def _key(order: Order) -> str:
    """Return all that a proof depends on; empty where it reads files that may change."""
    if order.files is not None:
        return ""
    about = [order.master.digest, library_digest(project_root()), engine_of(order)]
    return json.dumps([*about, order.fence.kind, asdict(order.limits)])


def _taken(order: Order, job: _Job, ready: bool) -> Grade | None:
    """Return what a job has to say of its submission, or what its silence says."""
    task, job.task, job.until = job.task, None, float("inf")
    try:
        state, result = job.pipe.recv() if ready else ("late", None)
    except (EOFError, OSError):
        state, result = "died", None
    if state == "error" and isinstance(result, CourseError):
        raise result
    if state == "ok":
        return result if isinstance(result, Grade) else None
    _end(job)
    if not isinstance(task, Submission):
        raise GradeError("a job died before it graded anything")
    return ungraded(order.master, task.learner, task.slug, f"the job that graded it {state}")


def _end(job: _Job) -> None:
    """End a job; its sandbox ends with it."""
    with contextlib.suppress(OSError):
        job.pipe.close()
    if job.task is None:
        job.process.join(3)
    job.process.terminate()
    job.process.join(5)
    if job.process.is_alive():
        job.process.kill()
        job.process.join(5)
