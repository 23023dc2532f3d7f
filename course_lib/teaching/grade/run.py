"""`course grade`: from a folder of submissions to a gradebook.

A few jobs grade at a time, each with a sandbox of its own. Whatever ends the run early leaves a
gradebook of what was graded so far.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from course_lib.settings import project_root
from course_lib.teaching.grade.errors import GradeError
from course_lib.teaching.grade.gradebook import Gradebook, read_grades, write_gradebook
from course_lib.teaching.grade.jobs import Order, engine_of, graded
from course_lib.teaching.grade.likeness import alike
from course_lib.teaching.grade.marking import Grade
from course_lib.teaching.grade.proof import library_digest
from course_lib.teaching.grade.submissions import Submission, find_submissions

SAVE_EVERY = 5.0
"""Seconds after which what is graded so far is written down."""

RECENT = 20
"""Submissions from which the current rate is taken."""

Progress = Callable[[int, int, float], None]


class Stopped(KeyboardInterrupt):
    """Ctrl-C came; the gradebook holds what was graded so far."""

    def __init__(self, book: Gradebook) -> None:
        super().__init__()
        self.book = book


def grade_all(order: Order, progress: Progress | None = None) -> Gradebook:
    """Grade a folder of submissions and write the gradebook.

    Parameters
    ----------
    order
        What and how.
    progress
        Called with how many are done, of how many, and how many a minute at present.

    Returns
    -------
    Gradebook

    Raises
    ------
    GradeError
        There is nothing to grade, or the master does not pass its own checks.
    Stopped
        On Ctrl-C, after the gradebook has been written.
    """
    begun = time.monotonic()
    found = find_submissions(order.submissions, preferred=order.master.name)
    _refuse_folder(order)
    known = _known(order, found) if order.resume else {}
    done: dict[str, Grade] = dict(known)
    todo = [one for one in found if one.learner not in known]
    saved = time.monotonic()
    times = deque([begun], maxlen=RECENT)  # the start counts until there have been so many
    stopped = False
    try:
        with contextlib.closing(graded(order, todo)) as grades:
            for grade in grades:
                done[grade.learner] = grade
                now = time.monotonic()
                times.append(now)
                if progress is not None:
                    progress(len(done), len(found), 60 * (len(times) - 1) / (now - times[0]))
                if now - saved > SAVE_EVERY:
                    _save(order, found, done, now - begun)
                    saved = time.monotonic()
    except KeyboardInterrupt:
        stopped = True
    book = _save(order, found, done, time.monotonic() - begun, last=True)
    if stopped:
        raise Stopped(book)
    return book


def _refuse_folder(order: Order) -> None:
    inside, outside = order.out.resolve(), order.submissions.resolve()
    if inside.is_relative_to(outside):
        raise GradeError(
            f"the gradebook would lie among the submissions, in {order.out}",
            hint="Choose another --out.",
        )
    try:
        order.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise GradeError(f"{order.out} cannot be made: {error.strerror}") from error


def _known(order: Order, found: Sequence[Submission]) -> dict[str, Grade]:
    digests = _digests(order, found)
    earlier = read_grades(order.out)
    return {
        one.learner: earlier[one.learner]
        for one in found
        if one.learner in earlier and earlier[one.learner].digest == digests[one.learner]
    }


def _digests(order: Order, found: Sequence[Submission]) -> dict[str, str]:
    limits = order.limits
    ground = [
        order.master.digest, library_digest(project_root()), limits.cell, limits.budget,
        limits.memory, _files(order.files),
    ]  # fmt: skip
    digests = {}
    for one in found:
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


def _save(
    order: Order,
    found: Sequence[Submission],
    done: dict[str, Grade],
    seconds: float,
    *,
    last: bool = False,
) -> Gradebook:
    master = order.master
    digests = _digests(order, found) if last else {}
    grades = tuple(
        replace(done[one.learner], digest=digests.get(one.learner, ""))
        for one in found
        if one.learner in done
    )
    solutions = {cell.grade_id: cell.source for cell in master.answers}
    book = Gradebook(
        master.name,
        str(master.notebook["metadata"].get("course", {}).get("title", "")) or master.name,
        order.fence.says,
        order.fence.kind,
        engine_of(order),
        tuple((cell.grade_id, cell.points) for cell in master.checks),
        grades,
        tuple(alike({one.learner: one.answers for one in grades}, solutions)),
        tuple(one.learner for one in found if one.learner not in done),
        seconds,
    )
    write_gradebook(book, order.out)
    if last:
        from course_lib.teaching.grade.pages import write_pages

        write_pages(book, master, order.out)
    return book
