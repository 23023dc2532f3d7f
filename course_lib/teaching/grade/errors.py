"""What goes wrong in grading for reasons that an instructor can mend."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from course_lib.errors import CourseError


class GradeError(CourseError):
    """A master cannot be graded with, a fence cannot be had, or a run cannot go on."""


@contextmanager
def disk_errors(folder: Path) -> Iterator[None]:
    """Say it where a folder cannot be written, for one because the disk is full."""
    try:
        yield
    except OSError as error:
        raise GradeError(
            f"{folder} cannot be written: {error.strerror}",
            hint="What was recorded before is kept; continue with --resume.",
        ) from error
