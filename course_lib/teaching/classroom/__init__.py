"""A class in nbgrader's course folder: who is in it, what was handed in, and what it was graded.

nbgrader keeps it all, in `gradebook.db` and in its folders. What is here puts into it what `grade`
finds out, and speaks with Canvas and Moodle. `grade` knows nothing of this.
"""

from course_lib.teaching.classroom.collect import Collected, collect
from course_lib.teaching.classroom.due import parse_due, set_due
from course_lib.teaching.classroom.folder import Classroom, find_class
from course_lib.teaching.classroom.grading import grade_assignment
from course_lib.teaching.classroom.people import people_of
from course_lib.teaching.classroom.record import RELEASE, accept
from course_lib.teaching.classroom.roster import add_to_roster, read_roster
from course_lib.teaching.classroom.setup import add_assignment, make_class
from course_lib.teaching.classroom.update import missing_settings, update_assignment

__all__ = [
    "RELEASE",
    "Classroom",
    "Collected",
    "accept",
    "add_assignment",
    "add_to_roster",
    "collect",
    "find_class",
    "grade_assignment",
    "make_class",
    "missing_settings",
    "parse_due",
    "people_of",
    "read_roster",
    "set_due",
    "update_assignment",
]
