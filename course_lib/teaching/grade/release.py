"""The learner's versions of masters, as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from course_lib.files import told_if_not_written
from course_lib.teaching.grade.errors import GradeError
from course_lib.teaching.grade.notebooks import read_notebook
from course_lib.teaching.notebooks.project import Project, write_atomically
from course_lib.teaching.notebooks.release import dump, released


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
