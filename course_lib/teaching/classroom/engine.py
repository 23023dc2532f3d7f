"""`nbgrader autograde` and formgrader's button, within our fence: an nbgrader preprocessor.

A class's `nbgrader_config.py` names it in place of nbgrader's `Execute` and `SaveAutoGrades`. What
it does for one submission is what `course grade` does for all of them, with the defaults of its
options; `course grade` starts once for all, and takes a small part of the time.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbgrader.preprocessors import NbGraderPreprocessor

from course_lib.teaching.classroom.autograded import autograded
from course_lib.teaching.classroom.folder import find_class
from course_lib.teaching.classroom.grading import grade_assignment
from course_lib.teaching.grade import Master, Options, find_fence, lab_masters, read_master


class GradeWithinFence(NbGraderPreprocessor):  # type: ignore[misc]
    """Grades a submission as `course grade` does, and returns what is written to `autograded/`."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Grade the submission that `resources` is about; its notebook as it was handed in counts.

        nbgrader calls this in the class's folder.
        """
        about = resources["nbgrader"]
        room = find_class(Path.cwd())
        master = master_of(about["assignment"], room.place("source", ".", about["assignment"]))
        learner = about["student"]
        report = grade_assignment(room, master, Options(find_fence(), jobs=1), learners=[learner])
        for who, (before, now) in report.changes.items():
            self.log.warning("%s: %g points before, now %g", who, before, now)
        (grade,) = (one for one in report.grades if one.learner == learner)
        return nbformat.from_dict(autograded(master, grade)), resources


def master_of(assignment: str, source: Path) -> Master:
    """Return an assignment's master: a lab's, or else the notebook of that name in `source/`."""
    for path in lab_masters():
        if path.stem == assignment:
            return read_master(path, lab=assignment[:2])
    return read_master(source / f"{assignment}.ipynb")
