"""What is run for one submission: the cells of the master and of the learner, in their order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from course_lib.teaching.grade.master import Master, MasterCell
from course_lib.teaching.grade.merge import Merged
from course_lib.teaching.grade.statements import binding
from course_lib.teaching.names import read_names

COMPARED = "nbval-check-output"
"""The tag by which nbval compares a cell's output, the only one that counts on graded cells."""


@dataclass(frozen=True)
class Step:
    """One code cell that is run: the master's cell, and the text that runs in its place."""

    cell: MasterCell
    source: str

    @property
    def name(self) -> str:
        """How messages call it."""
        return self.cell.grade_id or self.cell.id or "a cell"

    @property
    def is_whole(self) -> bool:
        """Whether the text is the master's own."""
        return self.source == self.cell.source


def make_plan(
    master: Master, merged: Merged, *, everything: bool, added: bool = False
) -> list[Step]:
    """Return what is run for a submission, up to the last code that is graded, if any.

    Parameters
    ----------
    master, merged
        The notebook, and the learner's answers to it.
    everything
        Whether cells run whole that are neither set-up, answers nor checks; else only what binds
        names that are read further on.
    added
        Whether this holds for the master's own cells alone, and added cells keep all definitions.
    """
    steps = []
    for place, cell in enumerate(master.cells):
        for helper in merged.helpers.get(place, ()):
            steps.append(Step(MasterCell("answer", "code", "", "", helper, ""), helper))
        if cell.kind == "code":
            steps.append(Step(cell, merged.source(cell)))
    graded = (i for i, step in enumerate(steps) if step.cell.role in ("check", "manual"))
    last = max(graded, default=-1)
    steps = steps[: last + 1]
    roles = {"code"} if added else {"code", "answer"}
    return steps if everything else _without_the_tour(steps, roles)


def _without_the_tour(steps: Sequence[Step], roles: set[str]) -> list[Step]:
    """Return steps with those statements of further cells that bind names which are read.

    Further cells are those of the master outside the set-up, and those that a learner has added.
    """
    tour = [one for one in steps if one.cell.role in roles and not one.cell.grade_id]
    tour = [one for one in tour if "parameters" not in one.cell.tags]
    read = {name for one in steps if one not in tour for name in read_names(one.source)}
    kept = []
    for step in reversed(steps):
        source = binding(step.source, read) if step in tour else step.source
        kept += [replace(step, source=source)] if source else []
    return kept[::-1]


def as_notebook(steps: Sequence[Step], master: Master) -> str:
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
