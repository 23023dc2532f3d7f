"""The master notebook: what is asked, what it counts, how it is checked.

Any notebook with nbgrader's metadata (schema 3) will do. `read_master` refuses one that could not
be graded fairly, so that nothing is found out in the middle of two hundred submissions.
"""

from __future__ import annotations

import copy
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from course_lib.teaching.grade.errors import GradeError
from course_lib.teaching.grade.release import read_notebook
from course_lib.teaching.grade.statements import Code, code_of, union
from course_lib.teaching.notebooks.cells import checked_exercise
from course_lib.teaching.notebooks.release import learners_cells, released

if TYPE_CHECKING:
    from nbformat import NotebookNode

Role = Literal["text", "code", "answer", "check", "manual"]


@dataclass(frozen=True)
class MasterCell:
    """One cell of the master.

    Attributes
    ----------
    role
        `answer` is what a learner writes, `check` what is run and graded, `manual` what a person
        grades (nbgrader's manually graded answers and tasks).
    source
        The master's own text, with solution and hidden tests.
    stub
        The same cell in the learner's version.
    exercise
        The exercise that a check of this course checks; empty for others.
    is_task
        Whether it is graded by hand and answered in other cells, as nbgrader's tasks are.
    """

    role: Role
    kind: str
    id: str
    grade_id: str
    source: str
    stub: str
    points: float = 0.0
    exercise: str = ""
    tags: tuple[str, ...] = ()
    is_task: bool = False

    @cached_property
    def code(self) -> Code:
        """What is in it."""
        return code_of(self.source, self.kind)

    @cached_property
    def given(self) -> Code:
        """What is in it for a learner."""
        return code_of(self.stub, self.kind)


@dataclass(frozen=True)
class Master:
    """A master notebook.

    Attributes
    ----------
    name
        Of its file, without suffix.
    lab
        Two digits for a lab of this course; empty for any other notebook.
    path
        The file, in whose folder it would run.
    cells
        Without those that only the solution has.
    notebook
        The cells' notebook, outputs included, as JSON has it.
    """

    name: str
    lab: str
    path: Path
    cells: tuple[MasterCell, ...]
    notebook: dict[str, Any] = field(repr=False)

    @property
    def checks(self) -> list[MasterCell]:
        """What is graded, in order: checks and what a person grades."""
        return [cell for cell in self.cells if cell.role in ("check", "manual")]

    @property
    def answers(self) -> list[MasterCell]:
        """What a learner writes, in order."""
        return [cell for cell in self.cells if cell.role == "answer"]

    @property
    def exercises(self) -> list[str]:
        """The ids of the course's exercises that it checks."""
        return [cell.exercise for cell in self.checks if cell.exercise]

    @property
    def points(self) -> float:
        """The most that can be had."""
        return sum(cell.points for cell in self.checks)

    @property
    def solutions(self) -> dict[str, str]:
        """The master's own answers, by grade id."""
        return {cell.grade_id: cell.source for cell in self.answers}

    @property
    def stubs(self) -> dict[str, str]:
        """What learners are given to answer in, by grade id."""
        return {cell.grade_id: cell.stub for cell in self.answers}

    @property
    def written(self) -> list[tuple[int, MasterCell]]:
        """What a learner or a person's mark is written for, with its place."""
        cells = enumerate(self.cells)
        return [(place, cell) for place, cell in cells if cell.role in ("answer", "manual")]

    @cached_property
    def asked(self) -> dict[str, frozenset[str]]:
        """The names that each answer has to define: those that checks read, or the stub's."""
        read = union(cell.code.reads for cell in self.cells if cell.role == "check")
        return {c.grade_id: c.code.binds & read or _asked_for(c.given) for c in self.answers}

    @cached_property
    def all_asked(self) -> frozenset[str]:
        """The names of all of them."""
        return union(self.asked.values())

    @cached_property
    def tour_names(self) -> frozenset[str]:
        """Names that the master's own cells define and no answer does."""
        own = union(cell.code.binds for cell in self.cells if cell.role == "code")
        return own - union(cell.code.binds for cell in self.answers)

    @cached_property
    def taken(self) -> frozenset[str]:
        """Names that are not a learner's to define: the cells bind them, or read them."""
        used = [cell.given if cell.role == "answer" else cell.code for cell in self.cells]
        read = union(cell.code.reads for cell in self.cells if cell.role in ("check", "code"))
        return read.union(self.all_asked, *(one.binds for one in used))

    @cached_property
    def given(self) -> frozenset[str]:
        """The definitions that learners got, as texts."""
        return frozenset(one.text for cell in self.cells for one in cell.given.definitions)

    @cached_property
    def imports(self) -> frozenset[str]:
        """The imports of its cells, but of what an answer has to define."""
        own = [one for c in self.cells for one in (*c.code.statements, *c.given.statements)]
        own = [one for one in own if one.kind == "import" and not one.binds & self.all_asked]
        return frozenset(one.text for one in own)

    @property
    def needs_database(self) -> bool:
        """Whether it is a lab of this course that works in a database."""
        return bool(self.lab) and any("database_url" in cell.source for cell in self.cells)

    @property
    def digest(self) -> str:
        """The hash of all that a grade depends on in it."""
        parts = [[c.role, c.grade_id, c.source, c.stub, c.points] for c in self.cells]
        text = json.dumps([self.lab, parts])
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _asked_for(stub: Code) -> frozenset[str]:
    kinds = ("function", "class", "text")
    return union(one.binds for one in stub.statements if one.kind in kinds)


def read_master(path: Path, *, lab: str = "") -> Master:
    """Read a master notebook.

    Parameters
    ----------
    path
        The notebook.
    lab
        Two digits, where it is a lab of this course.

    Raises
    ------
    GradeError
        It cannot be graded with; the message says which cell is wrong.
    """
    notebook = copy.deepcopy(read_notebook(path))
    notebook.cells = learners_cells(notebook)
    # Before nbgrader, whose words for both are "may be corrupted".
    _refuse_doubles([cell.metadata.get("nbgrader", {}) for cell in notebook.cells], path.name)
    release = released(notebook, path.name)
    cells = [
        _cell(cell, stub, path.name)
        for cell, stub in zip(notebook.cells, release.cells, strict=True)
    ]
    _refuse(cells, path.name)
    plain = json.loads(json.dumps(notebook))
    return Master(path.stem, lab, path.resolve(), tuple(cells), plain)


def checks_of(master: Master, answer: MasterCell) -> list[MasterCell]:
    """Return the checks that an answer is about: those that read what it defines, else the next."""
    later = master.cells[master.cells.index(answer) + 1 :]
    checks = [one for one in later if one.role == "check"]
    return [one for one in checks if answer.code.binds & one.code.reads] or checks[:1]


def _cell(cell: NotebookNode, stub: NotebookNode, name: str) -> MasterCell:
    nbgrader = cell.metadata.get("nbgrader", {})
    grade_id = str(nbgrader.get("grade_id", ""))
    grade, solution = bool(nbgrader.get("grade")), bool(nbgrader.get("solution"))
    role: Role = "code" if cell.cell_type == "code" else "text"
    if nbgrader and nbgrader.get("schema_version") != 3:
        raise GradeError(
            f"{name}: the metadata of cell {grade_id or cell.get('id')} are not of schema 3",
            hint="`nbgrader update` brings a notebook up to date.",
        )
    if nbgrader.get("task") or (grade and (solution or cell.cell_type != "code")):
        role = "manual"
    elif grade or solution:
        role = "check" if grade else "answer"
    return MasterCell(
        role,
        cell.cell_type,
        str(cell.get("id", "")),
        grade_id,
        cell.source,
        stub.source,
        _points(nbgrader, name) if role in ("check", "manual") else 0.0,
        (checked_exercise(cell.source) or "") if role == "check" else "",
        tuple(cell.metadata.get("tags", [])),
        role == "manual" and not solution,
    )


def _points(nbgrader: Mapping[str, Any], name: str) -> float:
    points = nbgrader.get("points", 0)
    if not isinstance(points, int | float) or not math.isfinite(points) or points < 0:
        raise GradeError(f"{name}: {nbgrader.get('grade_id')} counts {points!r} points")
    return float(points)


def _refuse_doubles(marked: list[Mapping[str, Any]], name: str) -> None:
    for nbgrader in marked:
        _points(nbgrader, name)
    ids = [str(one["grade_id"]) for one in marked if one.get("grade_id")]
    if doubles := sorted({one for one in ids if ids.count(one) > 1}):
        raise GradeError(f"{name}: two cells bear the grade id {doubles[0]}")


def _refuse(cells: list[MasterCell], name: str) -> None:
    checks = [cell for cell in cells if cell.role in ("check", "manual")]
    if not checks:
        raise GradeError(
            f"{name} has nothing to grade",
            hint="A check is a cell whose nbgrader metadata say grade: true and points.",
        )
    if not sum(cell.points for cell in checks):
        raise GradeError(f"{name}: no check counts any points")
