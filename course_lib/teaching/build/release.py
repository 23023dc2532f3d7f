"""The learner's version of a notebook, made with nbgrader's own preprocessors.

A master is any notebook with nbgrader's metadata (schema 3): solutions between `### BEGIN SOLUTION`
and `### END SOLUTION`, checks that only the grader has between `### BEGIN HIDDEN TESTS` and
`### END HIDDEN TESTS`.
"""

from __future__ import annotations

import copy
import logging
import re
from typing import TYPE_CHECKING

from course_lib.teaching.build.cut import SQL_BEGIN
from course_lib.teaching.build.project import BuildError

if TYPE_CHECKING:
    from nbformat import NotebookNode


STUB = re.compile(r"# YOUR CODE HERE\n *raise NotImplementedError\(\)")
SQL_STUB = "-- YOUR SQL HERE"
"""What nbgrader writes for a solution, and what is written within a text of SQL."""

WITHHELD = frozenset({"solution", "claim"})
"""The tags of cells that learners do not get."""


def learners_cells(master: NotebookNode) -> list[NotebookNode]:
    """Return the cells of a master that learners get."""
    return [cell for cell in master.cells if WITHHELD.isdisjoint(cell.metadata.get("tags", []))]


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
    BuildError
        nbgrader refuses it, for one because markers do not match.
    """
    from nbgrader.preprocessors import (
        CheckCellMetadata,
        ClearHiddenTests,
        ClearOutput,
        ClearSolutions,
        ComputeChecksums,
        LockCells,
    )

    notebook = copy.deepcopy(master)
    notebook.cells = learners_cells(notebook)
    texts = [cell for cell in notebook.cells if SQL_BEGIN in cell.source]
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
            raise BuildError(f"{name}: nbgrader refuses it: {told}") from error
    for cell in texts:
        cell.source = STUB.sub(SQL_STUB, cell.source)
    notebook.metadata.get("course", {}).pop("executed", None)
    return notebook
