"""Grading submissions: a list of them in, a report out, and each grade as soon as it is there.

A few jobs grade at a time, each with a sandbox of its own. Whatever ends the run early leaves the
grades that came so far.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from course_lib.settings import project_root
from course_lib.teaching.build.project import write_atomically
from course_lib.teaching.grade.errors import GradeError
from course_lib.teaching.grade.jobs import Order, engine_of, graded
from course_lib.teaching.grade.likeness import alike
from course_lib.teaching.grade.marking import Grade
from course_lib.teaching.grade.pages import overview_page
from course_lib.teaching.grade.proof import library_digest
from course_lib.teaching.grade.report import Report, read_grades, write_grade

RECENT = 20
"""Submissions from which the current rate is taken."""

Progress = Callable[[int, int, float], None]


class Stopped(KeyboardInterrupt):
    """Ctrl-C came; the report holds what was graded so far."""

    def __init__(self, report: Report) -> None:
        super().__init__()
        self.report = report


def grade_all(
    order: Order,
    progress: Progress | None = None,
    record: Callable[[Grade], None] | None = None,
) -> Report:
    """Grade submissions and write the report.

    Parameters
    ----------
    order
        What and how.
    progress
        Called with how many are done, of how many, and how many a minute at present.
    record
        Called with each grade before the report takes it down, in the order in which they come.

    Raises
    ------
    GradeError
        There is nothing to grade, or the master does not pass its own checks.
    Stopped
        On Ctrl-C, after the report has been written.
    """
    begun = time.monotonic()
    digests = _digests(order)
    with _said_of(order.out):
        order.out.mkdir(mode=0o700, parents=True, exist_ok=True)
    earlier = read_grades(order.out) if order.resume else {}
    done = {
        name
        for name, digest in digests.items()
        if name in earlier and earlier[name].digest == digest
    }
    todo = [one for one in order.submissions if one.learner not in done]
    times = deque([begun], maxlen=RECENT)  # the start counts until there have been so many
    stopped = False
    try:
        with contextlib.closing(graded(order, todo)) as grades:
            for grade in grades:
                grade = replace(grade, digest=digests[grade.learner])
                if record is not None:
                    record(grade)
                with _said_of(order.out):
                    write_grade(grade, order.out)
                done.add(grade.learner)
                now = time.monotonic()
                times.append(now)
                if progress is not None:
                    rate = 60 * (len(times) - 1) / (now - times[0])
                    progress(len(done), len(order.submissions), rate)
    except KeyboardInterrupt:
        stopped = True
    report = _report(order, done, time.monotonic() - begun)
    with _said_of(order.out):
        write_atomically(order.out / "index.html", overview_page(report))
    if stopped:
        raise Stopped(report)
    return report


@contextlib.contextmanager
def _said_of(folder: Path) -> Iterator[None]:
    """Say it where a folder cannot be written, for one because the disk is full."""
    try:
        yield
    except OSError as error:
        raise GradeError(
            f"{folder} cannot be written: {error.strerror}",
            hint="What was recorded before is kept; go on with --resume.",
        ) from error


def _digests(order: Order) -> dict[str, str]:
    """Return by learner the hash of all that a grade depends on."""
    limits = order.limits
    ground = [
        order.master.digest, library_digest(project_root()), limits.cell, limits.budget,
        limits.memory, _files(order.files),
    ]  # fmt: skip
    digests = {}
    for one in order.submissions:
        digest = hashlib.sha256(json.dumps([*ground, one.problem]).encode("utf-8"))
        if one.path is not None:
            with contextlib.suppress(OSError), one.path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        digests[one.learner] = digest.hexdigest()
    return digests


def _files(folder: Path | None) -> list[tuple[str, int, int]]:
    """Return names, sizes and times of what notebooks may read."""
    paths = sorted(folder.rglob("*")) if folder is not None else []
    about = [(path, path.stat()) for path in paths if path.is_file()]
    return [(path.as_posix(), one.st_size, one.st_mtime_ns) for path, one in about]


def _report(order: Order, done: set[str], seconds: float) -> Report:
    master = order.master
    known = read_grades(order.out)
    grades = tuple(known[name] for name in sorted(known))
    solutions = {cell.grade_id: cell.source for cell in master.answers}
    return Report(
        master.name,
        str(master.notebook["metadata"].get("course", {}).get("title", "")) or master.name,
        order.fence.says,
        order.fence.kind,
        engine_of(order),
        tuple((cell.grade_id, cell.points) for cell in master.checks),
        grades,
        tuple(alike({one.learner: one.answers for one in grades}, solutions)),
        tuple(one.learner for one in order.submissions if one.learner not in done),
        seconds,
    )
