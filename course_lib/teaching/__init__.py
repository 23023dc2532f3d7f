"""The classroom: what turns the library into labs, and what builds and runs them.

Nothing of the library imports this package; the notebooks, the command line and the tests do.
"""

from course_lib.teaching.lab import CheckFailed, Lab, NotAttempted, start

__all__ = ["CheckFailed", "Lab", "NotAttempted", "start"]
