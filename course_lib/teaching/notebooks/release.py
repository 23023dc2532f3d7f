"""The learner's version of a notebook, made with nbgrader's own preprocessors.

A master is any notebook with nbgrader's metadata (schema 3): solutions between `### BEGIN SOLUTION`
and `### END SOLUTION`, checks that only the grader has between `### BEGIN HIDDEN TESTS` and
`### END HIDDEN TESTS`, and what a task's points are given for between `=== BEGIN MARK SCHEME ===`
and `=== END MARK SCHEME ===`.
"""

from __future__ import annotations

import copy
import logging
from typing import TYPE_CHECKING

from course_lib.teaching.notebooks.project import BuildError

if TYPE_CHECKING:
    from nbformat import NotebookNode


WITHHELD = frozenset({"solution", "claim"})
"""The tags of cells that learners do not get."""


def learners_cells(master: NotebookNode) -> list[NotebookNode]:
    """Return the cells of a master that learners get."""
    return [cell for cell in master.cells if WITHHELD.isdisjoint(cell.metadata.get("tags", []))]


def released(master: NotebookNode, name: str = "the master") -> NotebookNode:
    """Return the learner's version of a master: no solutions, hidden tests, marks or outputs.

    Parameters
    ----------
    master
        The notebook; it is not changed.
    name
        What errors call it.

    Raises
    ------
    BuildError
        nbgrader refuses it, for one because markers do not match.
    """
    from nbgrader.preprocessors import (
        CheckCellMetadata,
        ClearHiddenTests,
        ClearMarkScheme,
        ClearOutput,
        ComputeChecksums,
        LockCells,
    )

    from course_lib.teaching.notebooks.clearing import ClearAnswers  # imports nbgrader

    notebook = copy.deepcopy(master)
    notebook.cells = learners_cells(notebook)
    steps = (
        ClearAnswers,
        LockCells,
        ClearHiddenTests,
        ClearMarkScheme,
        ClearOutput,
        ComputeChecksums,
        CheckCellMetadata,
    )
    # It raises as well, and we say it in our words; an application's own logger goes on telling.
    log = logging.getLogger(__name__)
    log.setLevel(logging.CRITICAL)
    for make in steps:
        step = make(log=log)
        try:
            notebook, _ = step.preprocess(notebook, {})
        except Exception as error:  # nbgrader raises plain RuntimeError, jsonschema its own
            told = (str(error).splitlines() or [type(error).__name__])[0]
            raise BuildError(f"{name}: nbgrader refuses it: {told}") from error
    notebook.metadata.get("course", {}).pop("executed", None)
    return notebook


def dump(notebook: NotebookNode) -> str:
    """Return a notebook as it is committed: sorted keys, one space, a newline at the end."""
    import nbformat

    text: str = nbformat.writes(notebook, version=4)
    return text.rstrip("\n") + "\n"
