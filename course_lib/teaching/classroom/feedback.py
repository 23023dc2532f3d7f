"""The learners' pages, made by nbgrader, for those whose grades are decided; and a zip of them.

Who is kept back from the export is kept back here. `course class feedback` makes no page of theirs
and removes an earlier one; `nbgrader generate_feedback` and formgrader's button name them as
errors, because an nbgrader preprocessor has no other way to leave somebody out.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook
from nbgrader.converters import GenerateFeedback
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import rmtree

from course_lib.files import told_if_not_written
from course_lib.teaching.classroom.folder import Classroom, convert
from course_lib.teaching.classroom.people import people_of
from course_lib.teaching.classroom.record import why_kept_back
from course_lib.teaching.classroom.taken import read_taken
from course_lib.teaching.grade import GradeError


@dataclass(frozen=True)
class Feedback:
    """What came of it.

    Attributes
    ----------
    pages
        By login.
    kept_back
        By login, with the reason.
    archive
        The zip file; None where no LMS handed anything in.
    not_in_it
        Whose page is not in the zip file, because no LMS's name of the hand-in is known.
    """

    pages: dict[str, Path]
    kept_back: dict[str, str]
    archive: Path | None
    not_in_it: tuple[str, ...]


class HoldBack(NbGraderPreprocessor):  # type: ignore[misc]
    """Stops `nbgrader generate_feedback` at a submission whose grade is kept back."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Return what was given, or raise."""
        about = resources["nbgrader"]
        with Gradebook(about["db_url"]) as book:
            why = why_kept_back(book.find_submission(about["assignment"], about["student"]))
        if why:
            raise GradeError(
                f"{about['student']} gets no feedback on {about['assignment']} yet: {why}",
                hint="`course class feedback` leaves such submissions out.",
            )
        return nb, resources


class _Decided(GenerateFeedback):  # type: ignore[misc]
    """nbgrader's own, without some learners; their earlier pages go."""

    without: frozenset[str] = frozenset()

    def init_destination(self, assignment_id: str, student_id: str) -> bool:
        """Tell whether a learner's page is made."""
        if student_id not in self.without:
            return bool(super().init_destination(assignment_id, student_id))
        if (place := Path(self._format_dest(assignment_id, student_id))).exists():
            rmtree(str(place))
        return False


def make_feedback(room: Classroom, assignment: str) -> Feedback:
    """Make the pages of those whose grades are decided, and a zip of them for the LMS.

    Canvas takes it under Upload Submissions, Moodle under "Upload multiple feedback files in a
    zip"; both know whose a page is by the name that they gave the hand-in.

    Raises
    ------
    GradeError
        Nothing was graded, or nbgrader cannot make a page.
    """
    with room.gradebook() as book:
        people = people_of(room, book, assignment)
    reasons = {one.login: one.why for one in people if one.points is not None}
    if not reasons:
        raise GradeError(f"nothing of {assignment} is graded", hint="`course grade` does it.")
    kept_back = {login: why for login, why in reasons.items() if why}
    directory = room.course_directory(assignment_id=assignment)
    converter = _Decided(coursedir=directory, config=room.config, force=True)
    converter.without = frozenset(kept_back)
    converter.log.setLevel("ERROR")  # without an application, traitlets says nothing
    convert(converter, f"nbgrader makes no feedback on {assignment}")
    places = {login: room.place("feedback", login, assignment) for login in sorted(reasons)}
    pages = {login: place / f"{assignment}.html" for login, place in places.items()}
    pages = {login: page for login, page in pages.items() if page.is_file()}
    names = {login: read_taken(room.place("submitted", login, assignment)).lms for login in pages}
    archive = room.root / "feedback" / f"{assignment}.zip"
    with told_if_not_written(archive):
        archive.unlink(missing_ok=True)
        if any(names.values()):
            with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
                for login, name in names.items():
                    if name:
                        made.write(pages[login], f"{name}{assignment}.html")
    without = tuple(login for login, name in names.items() if not name)
    return Feedback(pages, kept_back, archive if any(names.values()) else None, without)
