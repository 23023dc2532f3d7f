"""Pages for people: one for each learner, one for the instructor; plain HTML without scripts."""

from __future__ import annotations

from pathlib import Path

from course_lib.teaching.build.project import write_atomically
from course_lib.teaching.grade.gradebook import Gradebook
from course_lib.teaching.grade.master import Master
from course_lib.teaching.grade.pages.feedback import feedback_page
from course_lib.teaching.grade.pages.overview import overview_page

__all__ = ["feedback_page", "overview_page", "write_pages"]


def write_pages(book: Gradebook, master: Master, folder: Path) -> None:
    """Write `index.html` and `feedback/<learner>.html`, and remove pages of who is gone.

    Parameters
    ----------
    book
        All grades; a page shows a learner's own and how many had how many points.
    master
        For the exercises' hints.
    folder
        Where to.
    """
    feedback = folder / "feedback"
    kept = set()
    for grade in book.grades:
        path = feedback / f"{grade.slug}.html"
        write_atomically(path, feedback_page(book, master, grade))
        kept.add(path.name)
    for path in feedback.glob("*.html") if feedback.is_dir() else ():
        if path.name not in kept:
            path.unlink()
    write_atomically(folder / "index.html", overview_page(book))
