"""What a notebook works with: `lab = start("01")` gives checks, hints, data and figures."""

from course_lib.teaching.checks.outcomes import CheckFailed, NotAttempted
from course_lib.teaching.lab.session import Lab, start

__all__ = ["CheckFailed", "Lab", "NotAttempted", "start"]
