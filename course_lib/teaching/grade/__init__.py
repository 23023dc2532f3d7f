"""Grading with nbval: submissions in, a grade for each out; `classroom` keeps them in nbgrader.

The way of a submission: `submissions` reads it, `merge` puts its answers into the master's
notebook, `plan` decides which cells run, `conduct` runs them within the `fence`, `with_nbval` has
nbval look at each, and `marking` counts. `inside` is what runs next to the learner's code.
"""

from course_lib.teaching.grade.errors import GradeError
from course_lib.teaching.grade.fence import Fence, Limits, find_fence
from course_lib.teaching.grade.jobs import Order
from course_lib.teaching.grade.marking import Grade
from course_lib.teaching.grade.master import Master, read_master
from course_lib.teaching.grade.release import lab_masters, release_masters
from course_lib.teaching.grade.report import Report
from course_lib.teaching.grade.run import Stopped, grade_all
from course_lib.teaching.grade.submissions import Submission, find_submissions

__all__ = [
    "Fence",
    "Grade",
    "GradeError",
    "Limits",
    "Master",
    "Order",
    "Report",
    "Submission",
    "Stopped",
    "find_fence",
    "find_submissions",
    "grade_all",
    "lab_masters",
    "read_master",
    "release_masters",
]
