"""What goes wrong in grading for reasons that an instructor can mend."""

from __future__ import annotations

from course_lib.errors import CourseError

CONTINUE = "What was recorded before is kept; make room, and continue with --resume."
"""What to do where a disk is full."""


class GradeError(CourseError):
    """A master cannot be graded with, a fence cannot be had, or a run cannot go on."""
