"""Notebooks of the instructor's own: read from their files, and written for learners."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from course_lib.files import told_if_not_written, write_atomically
from course_lib.teaching.grade.errors import GradeError
from course_lib.teaching.notebooks.project import Project
from course_lib.teaching.notebooks.release import dump, released

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


def release_masters(masters: Sequence[Path], folder: Path) -> list[Path]:
    """Write the learner's versions of masters into a folder and return their paths.

    Raises
    ------
    GradeError
        A master cannot be read, two bear one name, or one would be overwritten by its release.
    InputError
        A file cannot be written.
    """
    targets: dict[Path, str] = {}
    for path in masters:
        target = folder / f"{path.stem}.ipynb"
        if target in targets:
            raise GradeError(f"two masters are named {path.stem}")
        if target.resolve() == path.resolve():
            raise GradeError(f"{path} would be overwritten", hint="Choose another --out.")
        targets[target] = dump(released(read_notebook(path), path.name))
    with told_if_not_written(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for target, text in targets.items():
        with told_if_not_written(target):
            write_atomically(target, text)
    return list(targets)


def lab_masters(labs: Sequence[str] | None = None, project: Project | None = None) -> list[Path]:
    """Return the executed solutions of labs (numbers or names; all when left out)."""
    project = project or Project()
    return [project.solution_notebook(source) for source in project.sources(labs)]
