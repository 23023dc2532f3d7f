"""What nbgrader makes the learner's version of a notebook with; a gap in SQL is one of SQL.

nbgrader's own `ClearSolutions` knows one stub for all code, and would write Python into a text.
"""

from __future__ import annotations

from nbformat import NotebookNode
from nbgrader.preprocessors import ClearSolutions

from course_lib.teaching.notebooks.cells import SQL_BEGIN

SQL_STUB = "-- YOUR SQL HERE"


class ClearAnswers(ClearSolutions):  # type: ignore[misc]
    """Replaces solutions by stubs, in Python or, between marks in comments of SQL, in SQL."""

    def _replace_solution_region(self, cell: NotebookNode, language: str) -> bool:
        is_sql = SQL_BEGIN in cell.source
        found: bool = super()._replace_solution_region(cell, language)
        if is_sql:
            cell.source = cell.source.replace(self.code_stub[language], SQL_STUB)
        return found


_STEPS = (
    "IncludeHeaderFooter", "InstantiateTests", "LockCells", "ClearSolutions", "ClearOutput",
    "CheckCellMetadata", "ComputeChecksums", "SaveCells", "ClearHiddenTests", "ClearMarkScheme",
    "ComputeChecksums", "CheckCellMetadata",
)  # fmt: skip

PREPROCESSORS = [
    f"{__name__}.ClearAnswers" if step == "ClearSolutions" else f"nbgrader.preprocessors.{step}"
    for step in _STEPS
]
"""For `c.GenerateAssignment.preprocessors` in a class's `nbgrader_config.py`."""
