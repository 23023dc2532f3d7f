"""Grading with nbval: submissions in, a grade for each out; `classroom` keeps them in nbgrader.

The way of a submission: `submissions` reads it, `statements` its Python, once; `merge` puts its
answers into the master's notebook, and what `added` takes from the learner's own cells; `plan`
decides which cells run, `grader` has them run by a `sandbox` within the `fence` (`running` speaks
with it, `inside` is what runs there), `marking` counts, `judging` has values compared by `audits`,
and `rules` and `plagiarism` read the source. `run` does it for a class;
`provisioner` gives the fence to other tools.
"""

from course_lib.teaching.grade.errors import GradeError
from course_lib.teaching.grade.fence import Fence, Limits, find_fence
from course_lib.teaching.grade.marking import Grade
from course_lib.teaching.grade.master import Master, read_master
from course_lib.teaching.grade.release import lab_masters, release_masters
from course_lib.teaching.grade.report import GradeReport
from course_lib.teaching.grade.run import Options, grade_all
from course_lib.teaching.grade.submissions import Submission

__all__ = [
    "Fence",
    "Grade",
    "GradeError",
    "Limits",
    "Master",
    "Options",
    "GradeReport",
    "Submission",
    "find_fence",
    "grade_all",
    "lab_masters",
    "read_master",
    "release_masters",
]
