"""Grading with nbval: a folder of submissions in, a gradebook and a page for each learner out.

The way of a submission: `submissions` reads it, `merge` puts its answers into the master's
notebook, `plan` decides which cells run, `conduct` runs them within the `fence`, `with_nbval` has
nbval look at each, and `marking` counts. `inside` is what runs next to the learner's code.
"""

from course_lib.teaching.grade.errors import GradeError
from course_lib.teaching.grade.fence import Fence, Limits, find_fence
from course_lib.teaching.grade.gradebook import Gradebook
from course_lib.teaching.grade.jobs import Order
from course_lib.teaching.grade.master import Master, read_master
from course_lib.teaching.grade.release import lab_masters, release_masters
from course_lib.teaching.grade.run import Stopped, grade_all

__all__ = [
    "Fence",
    "GradeError",
    "Gradebook",
    "Limits",
    "Master",
    "Order",
    "Stopped",
    "find_fence",
    "grade_all",
    "lab_masters",
    "read_master",
    "release_masters",
]
