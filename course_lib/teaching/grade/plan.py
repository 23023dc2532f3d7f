"""What is run for one submission: the cells of the master and of the learner, in their order."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from course_lib.teaching.grade.master import Master, MasterCell
from course_lib.teaching.grade.merge import Merged
from course_lib.teaching.grade.needed import Block, needed_sources

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

    @property
    def sources(self) -> list[str]:
        """What runs: the cell, and after a check what else has to pass."""
        return [self.source, self.cell.hidden] if self.cell.hidden else [self.source]


@dataclass(frozen=True)
class Plan:
    """The steps of one submission."""

    steps: tuple[Step, ...]

    def notebook(self, master: Master) -> str:
        """Return the notebook of these steps as JSON, with the master's outputs to compare with.

        Answers and checks are empty in it: their text is sent when it is their turn.
        """
        given = dict(zip(map(id, master.cells), master.notebook["cells"], strict=True))
        cells: list[dict[str, Any]] = []
        for number, step in enumerate(self.steps):
            original = given.get(id(step.cell), {})
            plain = step.cell.role == "code" and step.is_whole
            tags = step.cell.tags if plain else {COMPARED}.intersection(step.cell.tags)
            cells.append(
                {
                    "cell_type": "code",
                    "id": f"step-{number}",
                    "metadata": {"tags": list(tags) if step.is_whole else []},
                    "execution_count": original.get("execution_count") if step.is_whole else None,
                    "outputs": original.get("outputs", []) if step.is_whole else [],
                    "source": step.source if plain else "",
                }
            )
        about = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}}
        return json.dumps({**about, "cells": cells})


def make_plan(master: Master, merged: Merged, *, everything: bool = False) -> Plan:
    """Decide what is run for a submission.

    Parameters
    ----------
    master, merged
        The notebook, and the learner's answers to it.
    everything
        Run the cells that no check depends on, too.
    """
    steps, blocks = [], []
    for place, cell in enumerate(master.cells):
        for helper in merged.helpers.get(place, ()):
            steps.append(Step(MasterCell("answer", "code", "", "", helper, ""), helper))
            blocks.append(Block(helper, everything, True))
        if cell.kind == "code":
            steps.append(Step(cell, merged.source(cell)))
            always = everything or bool(cell.grade_id) or "parameters" in cell.tags
            blocks.append(Block(steps[-1].source, always, cell.role in ("answer", "manual")))
    # What follows the last check changes no grade.
    last = max((i for i, step in enumerate(steps) if step.cell.role == "check"), default=-1)
    sources = needed_sources(blocks[: last + 1])
    return Plan(
        tuple(
            Step(step.cell, source)
            for step, source in zip(steps[: last + 1], sources, strict=True)
            if source is not None
        )
    )
