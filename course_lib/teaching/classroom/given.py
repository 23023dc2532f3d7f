"""What learners were given, to tell a hand-in from a notebook in which nobody has written."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from course_lib.teaching.grade.submissions import SentCell, read_cells

SETUP = "setup"
"""The grade id of the first cell of every lab."""


class Given:
    """An assignment's released notebook.

    Parameters
    ----------
    path
        Where it is; if it is not there, everything has been written in.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def is_untouched(self, notebook: Path) -> bool:
        """Tell whether all code and all answers in a notebook are as they were given."""
        given = [one.code.plain for one in self._cells if _counts(one)]
        cells = [one.code.plain for one in _cells(notebook) if _counts(one)]
        return bool(given) and cells == given

    def is_of_it(self, notebook: Path) -> bool:
        """Tell whether a notebook has cells of the assignment's: any lab has its set-up."""
        known = {one.grade_id for one in self._cells} - {"", SETUP}
        return any(one.grade_id in known for one in _cells(notebook))

    def is_work(self, notebook: Path) -> bool:
        """Tell whether a notebook is of the assignment, and something was written into it."""
        return self.is_of_it(notebook) and not self.is_untouched(notebook)

    def is_the_courses(self, parts: Sequence[str], notebook: Path | None) -> bool:
        """Tell whether a file is a repository's own copy of the lab, as it was given."""
        return "labs" in parts[:-1] and notebook is not None and self.is_untouched(notebook)

    @cached_property
    def _cells(self) -> list[SentCell]:
        return _cells(self.path)


def _cells(path: Path) -> list[SentCell]:
    try:
        return read_cells(path)
    except (OSError, ValueError):
        return []


def _counts(cell: SentCell) -> bool:
    return bool(cell.grade_id or (cell.kind == "code" and cell.source.strip()))
