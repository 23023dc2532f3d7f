"""Grading submissions: a list of them in, a report out, and each grade as soon as it is there.

A few sandboxes grade at a time, each with a thread of its own. Whatever ends the run early leaves
the grades that came so far.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import queue
import secrets
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from course_lib.files import told_if_not_written, write_atomically
from course_lib.progress import progress_bar
from course_lib.settings import project_root, state_dir
from course_lib.teaching.grade.audits import Audits
from course_lib.teaching.grade.errors import CONTINUE, GradeError
from course_lib.teaching.grade.fence import Fence, Limits
from course_lib.teaching.grade.grader import Grader
from course_lib.teaching.grade.library import library_for
from course_lib.teaching.grade.marking import Grade, ungraded
from course_lib.teaching.grade.master import Master
from course_lib.teaching.grade.plagiarism import find_copies
from course_lib.teaching.grade.report import GradeReport, read_grades, write_grade
from course_lib.teaching.grade.sandbox import Setup
from course_lib.teaching.grade.submissions import Submission

FAILED = "the grader failed on it"
"""How the reason begins why a submission is not graded, where that is not a fault of its own."""


@dataclass(frozen=True)
class Options:
    """How submissions are run.

    Attributes
    ----------
    fence, limits
        Around each submission.
    jobs
        How many at a time.
    resume
        Keep the grades of an earlier run whose submission, master and library are the same, except
        where the grader failed.
    seed
        What the audits' arguments are drawn with; itself drawn when left out.
    """

    fence: Fence
    limits: Limits = Limits()
    jobs: int = 2
    resume: bool = False
    seed: str = ""


def grade_all(
    submissions: Sequence[Submission],
    master: Master,
    out: Path,
    options: Options,
    record: Callable[[Grade], Grade] = lambda grade: grade,
) -> GradeReport:
    """Grade submissions and keep the grades; on Ctrl-C, of those that were reached.

    Parameters
    ----------
    submissions, master
        What was handed in, one a learner, and what it is graded with.
    out
        The folder for the report.
    options
        See `Options`.
    record
        Called with each grade, in the order in which they come; the report keeps what it returns.

    Raises
    ------
    GradeError
        There is nothing to grade, or the master does not pass its own checks.
    InputError
        The report cannot be written.
    """
    begun = time.monotonic()
    options = replace(options, seed=options.seed or secrets.token_hex(4))
    library = library_digest(project_root())
    digests = _digests(submissions, master, options, library)
    with told_if_not_written(out, CONTINUE):
        out.mkdir(mode=0o700, parents=True, exist_ok=True)
    earlier = read_grades(out) if options.resume else {}
    done = {
        name
        for name, digest in digests.items()
        if name in earlier and earlier[name].digest == digest and not _failed(earlier[name])
    }
    todo = [one for one in submissions if one.learner not in done]
    with suppress(KeyboardInterrupt):
        with (
            closing(_graded(todo, master, out, options, library)) as grades,
            progress_bar(len(todo), "grade", "submission") as advance,
        ):
            for grade in grades:
                grade = record(replace(grade, digest=digests[grade.learner]))
                with told_if_not_written(out, CONTINUE):
                    write_grade(grade, out)
                done.add(grade.learner)
                advance(1)
    waiting = tuple(one.learner for one in submissions if one.learner not in done)
    return _report(master, out, options, waiting, time.monotonic() - begun)


def library_digest(root: Path) -> str:
    """Return the hash of the library's sources, the course's data and the locked packages."""
    digest = hashlib.sha256(sys.version.encode("utf-8"))
    for folder, pattern in (("course_lib", "*.py"), ("data", "*")):
        for path in sorted((root / folder).rglob(pattern)):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(path.relative_to(root).as_posix().encode("utf-8") + b"\0")
                digest.update(path.read_bytes())
    with suppress(OSError):
        digest.update((root / "requirements.lock").read_bytes())
    return digest.hexdigest()


def _graded(
    todo: Sequence[Submission], master: Master, out: Path, options: Options, library: str
) -> Generator[Grade, None, None]:
    """Yield the grade of each submission, as they come."""
    clear = [one for one in todo if one.path is not None]
    for one in todo:
        if one.path is None:
            yield ungraded(master, one.learner, one.problem)
    if not clear:
        return
    if not hasattr(os, "fork"):
        raise GradeError(
            "submissions cannot be graded on this system, which does not fork processes",
            hint="Grade in the Windows Subsystem for Linux, or use `nbgrader autograde` alone.",
        )
    jobs = max(1, min(options.jobs, len(clear)))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="course-grade-")))
        audits = Audits(master, options.seed)
        asked = list(audits.exercises.values())
        setup = Setup(options.fence, options.limits, library_for(asked, folder), bool(asked))

        def new_grader(slot: int) -> Grader:
            return Grader(master, setup, slot, audits, out / "junit")

        prover = stack.enter_context(closing(new_grader(0)))
        prover.setup = setup = replace(setup, modules=_proven(prover, library, options))
        prover.restart()
        others = [stack.enter_context(closing(new_grader(slot))) for slot in range(1, jobs)]
        known = [prover, *others]
        graders: queue.SimpleQueue[Grader] = queue.SimpleQueue()
        for free in known:
            graders.put(free)

        def grade(one: Submission) -> tuple[Submission, Grade]:
            grader = graders.get()
            try:
                return one, _without_faults(grader, one)
            finally:
                graders.put(grader)

        pool, again = ThreadPoolExecutor(jobs), list[Submission]()
        try:
            for future in as_completed([pool.submit(grade, one) for one in clear]):
                one, found = future.result()
                if _failed(found):
                    again.append(one)
                else:
                    yield found
            for one in again:  # by itself: the others may have been what it failed on
                yield _without_faults(prover, one)
        finally:
            for grader in known:  # what it waits for ends
                grader.stop()
            pool.shutdown(cancel_futures=True)


def _without_faults(grader: Grader, submission: Submission) -> Grade:
    """Grade a submission; a fault of the grader's own must not end the run."""
    try:
        return grader.grade(submission)
    except GradeError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            raise GradeError(
                f"a file cannot be written: {error.strerror}",
                hint=f"Make room in {tempfile.gettempdir()} or for {grader.junit}, and continue "
                "with --resume.",
            ) from error
        reason = f"{FAILED}: {type(error).__name__}: {error}"[:500]
        grader.restart()
        return ungraded(grader.master, submission.learner, reason)


def _failed(grade: Grade) -> bool:
    return any(note.startswith(FAILED) for note in grade.notes)


def _proven(grader: Grader, library: str, options: Options) -> tuple[str, ...]:
    """Return what to import ahead, once the master has passed its own checks.

    It is remembered under a hash of all that it depends on.
    """
    key = json.dumps([grader.master.digest, library, options.fence.kind, str(options.limits)])
    name = hashlib.sha256(key.encode("utf-8")).hexdigest()[:32]
    place = state_dir() / "grade" / f"{name}.json"
    with suppress(OSError, ValueError, TypeError):
        return tuple(map(str, json.loads(place.read_text(encoding="utf-8"))["modules"]))
    modules = grader.prove()
    with suppress(OSError):
        write_atomically(place, json.dumps({"modules": modules}))
    return modules


def _digests(
    submissions: Sequence[Submission], master: Master, options: Options, library: str
) -> dict[str, str]:
    """Return by learner the hash of all that a grade depends on."""
    ground = [master.digest, library, str(options.limits)]
    digests = {}
    for one in submissions:
        digest = hashlib.sha256(json.dumps([*ground, one.problem]).encode("utf-8"))
        if one.path is not None:
            with suppress(OSError), one.path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        digests[one.learner] = digest.hexdigest()
    return digests


def _report(
    master: Master, out: Path, options: Options, waiting: tuple[str, ...], seconds: float
) -> GradeReport:
    known = read_grades(out)
    grades = tuple(known[name] for name in sorted(known))
    answers = {one.learner: one.answers for one in grades}
    return GradeReport(
        master.name,
        str(master.notebook["metadata"].get("course", {}).get("title", "")) or master.name,
        options.fence,
        options.seed,
        grades,
        tuple(find_copies(answers, master.solutions, master.stubs)),
        waiting,
        seconds,
    )
