"""Hidden checks of a class: they live in its `source/`, and every way of grading uses them."""

from __future__ import annotations

import copy
import re
from dataclasses import replace
from pathlib import Path

from course_lib.teaching.classroom.folder import Classroom
from course_lib.teaching.grade import Master, read_master

_REGION = re.compile(
    r"^[ \t]*### BEGIN HIDDEN TESTS[ \t]*$.*?^[ \t]*### END HIDDEN TESTS[ \t]*$",
    re.MULTILINE | re.DOTALL,
)


def source_of(room: Classroom, assignment: str) -> Path:
    """Return where the class has its own copy of a master."""
    return room.place("source", ".", assignment) / f"{assignment}.ipynb"


def with_hidden_checks(room: Classroom, master: Master) -> Master:
    """Return a lab's master with the hidden checks that the class's own copy of it has.

    A notebook of one's own comes with its hidden checks, and is returned as it is.

    Raises
    ------
    GradeError
        The class's copy cannot be read.
    """
    path = source_of(room, master.name)
    if not master.lab or not path.is_file():
        return master
    kept = {one.grade_id: one.source for one in read_master(path, lab=master.lab).checks}
    cells, notebook = list(master.cells), copy.deepcopy(master.notebook)
    for place, cell in enumerate(cells):
        regions = _REGION.findall(kept.get(cell.grade_id, "")) if cell.role == "check" else []
        new = [one for one in regions if one not in cell.source]
        if new:
            # The last line stays the last: its value may be partial credit.
            source = "\n".join([*new, cell.source])
            cells[place] = replace(cell, source=source)
            notebook["cells"][place]["source"] = source
    return replace(master, cells=tuple(cells), notebook=notebook)
