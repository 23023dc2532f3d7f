"""Notebooks of the instructor's own, read from their files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from course_lib.teaching.grade.errors import GradeError

if TYPE_CHECKING:
    from nbformat import NotebookNode


def read_notebook(path: Path) -> NotebookNode:
    """Return a notebook of the instructor's own.

    Raises
    ------
    GradeError
        It is not there or no notebook.
    """
    import nbformat

    try:
        # Without the validation that would only be logged, and takes longest.
        return nbformat.convert(nbformat.reader.reads(path.read_text(encoding="utf-8")), 4)
    except FileNotFoundError:
        raise GradeError(f"{path} is not there") from None
    except Exception as error:  # nbformat's and json's
        told = (str(error).splitlines() or [type(error).__name__])[0]
        raise GradeError(f"{path} is not a notebook: {told}") from error
