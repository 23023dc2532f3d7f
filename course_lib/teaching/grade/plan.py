"""What is run for one submission: the cells of the master and of the learner, in their order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from course_lib.teaching.grade.master import Master, MasterCell
from course_lib.teaching.grade.merge import Merged
from course_lib.teaching.grade.statements import Code, needed, of_statements, union

COMPARED = "nbval-check-output"
"""The tag by which nbval compares a cell's output, the only one that counts on graded cells."""


@dataclass(frozen=True)
class PlannedCell:
    """One code cell that is run: the master's cell, and what runs in its place."""

    cell: MasterCell
    code: Code

    @property
    def source(self) -> str:
        """The text of that."""
        return self.code.source

    @property
    def name(self) -> str:
        """How messages call it."""
        return self.cell.grade_id or self.cell.id or "a cell"

    @property
    def is_whole(self) -> bool:
        """Whether the text is the master's own."""
        return self.source == self.cell.source


def make_plan(master: Master, merged: Merged, *, everything: bool) -> list[PlannedCell]:
    """Return what is run for a submission, up to the last code that is graded, if any.

    Parameters
    ----------
    master, merged
        The notebook, and the learner's answers to it.
    everything
        Whether cells run whole that are neither set-up, answers nor checks; else only what binds
        names that are read further on, and the functions and classes of a learner's own: they may
        be found without their names, by a decorator or in `globals()`.
    """
    steps = []
    for place, cell in enumerate(master.cells):
        for helper in merged.own.helpers.get(place, ()):
            own = MasterCell("answer", "code", "", "", helper.source, "")
            steps.append(PlannedCell(own, helper))
        if cell.kind == "code":
            steps.append(PlannedCell(cell, merged.code(cell)))
    graded = (i for i, step in enumerate(steps) if step.cell.role in ("check", "manual"))
    last = max(graded, default=-1)
    steps = steps[: last + 1]
    return steps if everything else _without_the_tour(steps)


def _without_the_tour(steps: Sequence[PlannedCell]) -> list[PlannedCell]:
    """Return steps with those statements of further cells that something needs.

    Further cells are those of the master outside the set-up, and those that a learner has added.
    """
    tour = [one for one in steps if one.cell.role in ("code", "answer") and not one.cell.grade_id]
    tour = [one for one in tour if "parameters" not in one.cell.tags]
    added = [one for step in tour if step.cell.role == "answer" for one in step.code.statements]
    made = [one for one in added if one.kind in ("function", "class")]
    read = union(step.code.reads for step in steps if step not in tour)
    kept = needed(read, [one for step in tour for one in step.code.statements])
    kept += made + needed(union(one.reads for one in made), added)
    found = []
    for step in steps:
        if step in tour:
            code = of_statements(one for one in step.code.statements if one in kept)
            step = replace(step, code=code)
        found += [step] if step.source else []
    return found


def as_notebook(steps: Sequence[PlannedCell], master: Master) -> str:
    """Return the notebook of these steps as JSON, with the master's outputs to compare with.

    Answers and checks are empty in it: their text is sent when it is their turn.
    """
    given = dict(zip(map(id, master.cells), master.notebook["cells"], strict=True))
    cells: list[dict[str, Any]] = []
    for number, step in enumerate(steps):
        original = given.get(id(step.cell), {}) if step.is_whole else {}
        plain = step.cell.role == "code" and step.is_whole
        tags = step.cell.tags if plain else {COMPARED}.intersection(step.cell.tags)
        cells.append(
            {
                "cell_type": "code",
                "id": f"step-{number}",
                "metadata": {"tags": list(tags) if step.is_whole else []},
                "execution_count": original.get("execution_count"),
                "outputs": original.get("outputs", []),
                "source": step.source if plain else "",
            }
        )
    about = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}}
    return json.dumps({**about, "cells": cells})
