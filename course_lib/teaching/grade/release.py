"""The learner's version of a master notebook, made with nbgrader's own preprocessors.

A master is any notebook with nbgrader's metadata (schema 3): solutions between `### BEGIN SOLUTION`
and `### END SOLUTION`, checks that only the grader has between `### BEGIN HIDDEN TESTS` and
`### END HIDDEN TESTS`.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from course_lib.teaching.build.project import Project, write_atomically
from course_lib.teaching.grade.errors import GradeError
from course_lib.teaching.grade.notebooks import read_notebook
from course_lib.teaching.quick_imports import quick_nbformat

if TYPE_CHECKING:
    from nbformat import NotebookNode


def released(master: NotebookNode, name: str = "the master") -> NotebookNode:
    """Return the learner's version of a master: no solutions, hidden tests or outputs.

    Parameters
    ----------
    master
        The notebook; it is not changed.
    name
        What errors call it.

    Raises
    ------
    GradeError
        nbgrader refuses it, for one because markers do not match.
    """
    quick_nbformat()  # nbgrader imports it as well
    from nbgrader.preprocessors import (
        CheckCellMetadata,
        ClearHiddenTests,
        ClearOutput,
        ClearSolutions,
        ComputeChecksums,
        LockCells,
    )

    notebook = copy.deepcopy(master)
    notebook.cells = [
        cell for cell in notebook.cells if "solution" not in cell.metadata.get("tags", [])
    ]
    steps = (
        ClearSolutions,
        LockCells,
        ClearHiddenTests,
        ClearOutput,
        ComputeChecksums,
        CheckCellMetadata,
    )
    for make in steps:
        step = make()
        step.log.setLevel(logging.CRITICAL)  # it raises as well, and we say it in our words
        try:
            notebook, _ = step.preprocess(notebook, {})
        except Exception as error:  # nbgrader raises plain RuntimeError, jsonschema its own
            told = (str(error).splitlines() or [type(error).__name__])[0]
            raise GradeError(f"{name}: nbgrader refuses it: {told}") from error
    notebook.metadata.get("course", {}).pop("executed", None)
    return notebook


def release_masters(masters: Sequence[Path], folder: Path) -> list[Path]:
    """Write the learner's versions of masters into a folder and return their paths.

    Raises
    ------
    GradeError
        A master cannot be read, two bear one name, or one would be overwritten by its release.
    """
    targets: dict[Path, str] = {}
    for path in masters:
        target = folder / f"{path.stem}.ipynb"
        if target in targets:
            raise GradeError(f"two masters are named {path.stem}")
        if target.resolve() == path.resolve():
            raise GradeError(f"{path} would be overwritten", hint="Choose another --out.")
        targets[target] = _text(released(read_notebook(path), path.name))
    for target, text in targets.items():
        write_atomically(target, text)
    return list(targets)


def lab_masters(labs: Sequence[str] | None = None, project: Project | None = None) -> list[Path]:
    """Return the executed solutions of labs (numbers or names; all when left out)."""
    project = project or Project()
    return [project.solution_notebook(source) for source in project.sources(labs)]


def has_checks(path: Path) -> bool:
    """Tell whether a notebook has something to grade."""
    cells = read_notebook(path).cells
    return any(cell.metadata.get("nbgrader", {}).get("grade") for cell in cells)


def _text(notebook: NotebookNode) -> str:
    return str(quick_nbformat().writes(notebook)) + "\n"
