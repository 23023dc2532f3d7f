"""What is run for one submission: the cells, their order, and what proves a check honest."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from course_lib.teaching.grade.master import Master, MasterCell
from course_lib.teaching.grade.merge import Merged
from course_lib.teaching.grade.needed import Block, needed_sources

_EMPTY = {"nbformat": 4, "nbformat_minor": 5}


@dataclass(frozen=True)
class Step:
    """One code cell that is run.

    Attributes
    ----------
    cell
        The master's.
    source
        What runs: the master's text, or the learner's answer.
    stubs
        For a check: cells that undo the answers before it.
    again
        For a check: whether it is run a second time where it passes.
    """

    cell: MasterCell
    source: str
    stubs: tuple[str, ...] = ()
    again: bool = False

    @property
    def name(self) -> str:
        """How messages call it."""
        return self.cell.grade_id or self.cell.id or "a cell"


@dataclass(frozen=True)
class Plan:
    """The steps of one submission.

    Attributes
    ----------
    steps
        In order.
    ahead
        How many of them come before the first answer: the master's own, the same for everybody.
    fixed
        Names that the checks read and that only these define.
    """

    steps: tuple[Step, ...]
    ahead: int
    fixed: tuple[str, ...]

    def notebook(self, master: Master) -> str:
        """Return the notebook of these steps, with the master's outputs for nbval to compare.

        It is JSON, put together without nbformat, which validates every cell anew.
        """
        notebook: Any = {**_EMPTY, "metadata": master.notebook["metadata"], "cells": []}
        outputs = dict(zip(map(id, master.cells), master.notebook["cells"], strict=True))
        for step in self.steps:
            cell, given = step.cell, outputs[id(step.cell)]
            count = given.get("execution_count")
            # A part of a cell puts out a part of its outputs.
            whole = step.source == cell.source and count is not None
            notebook["cells"].append(
                {
                    "cell_type": "code",
                    "id": cell.id,
                    "metadata": {"tags": list(cell.tags), "name": step.name},
                    "execution_count": count,
                    "outputs": given.get("outputs", []) if whole else [],
                    "source": step.source,
                }
            )
        return json.dumps(notebook)


def make_plan(
    master: Master,
    merged: Merged,
    *,
    everything: bool = False,
    decoys: frozenset[str] = frozenset(),
    repeatable: frozenset[str] | None = None,
    core: Mapping[str, str] | None = None,
) -> Plan:
    """Decide what is run for a submission.

    Parameters
    ----------
    master, merged
        The notebook, and the learner's answers to it.
    everything
        Run the cells that no check depends on, too.
    decoys
        Grade ids of checks that are known to fail with the answers' stubs.
    repeatable
        Grade ids of checks that can be run twice; None to try it with all.
    core
        The cells before the first answer that every submission begins with: sources by cell id.
        What this one needs beyond them follows, before its first answer.
    """
    code = [cell for cell in master.cells if cell.kind == "code"]
    # What follows the last check changes no grade.
    last = max((i for i, cell in enumerate(code) if cell.role == "check"), default=-1)
    code = code[: last + 1]
    blocks = [
        Block(
            merged.source(cell),
            everything or bool(cell.grade_id) or "parameters" in cell.tags,
            cell.role in ("answer", "manual"),
        )
        for cell in code
    ]
    sources = needed_sources(blocks)
    steps: list[Step] = []
    stubs: list[str] = []
    ahead = None
    for cell, source in zip(code, sources, strict=True):
        if cell.role in ("answer", "manual"):
            ahead = len(steps) if ahead is None else ahead
            stubs.append(cell.stub)
        if source is not None:
            undone = tuple(stubs) if cell.role == "check" and cell.grade_id in decoys else ()
            again = repeatable is None or cell.grade_id in repeatable
            steps.append(Step(cell, source, undone, again and cell.role == "check"))
    ahead = len(steps) if ahead is None else ahead
    if core is not None:
        known = {cell.id: cell for cell in code}
        begin = [Step(known[name], source) for name, source in core.items()]
        more = [step for step in steps[:ahead] if core.get(step.cell.id) != step.source]
        steps[:ahead] = begin + more
        ahead = len(begin) + len(more)
    return Plan(tuple(steps), ahead, _fixed(steps, ahead))


def _fixed(steps: list[Step], ahead: int) -> tuple[str, ...]:
    read: set[str] = set()
    bound_later: set[str] = set()
    bound_ahead: set[str] = set()
    for place, step in enumerate(steps):
        # The master's text of an answer says what it may define; a learner's says nothing.
        stored, loaded = _names(step.cell.source)
        (bound_ahead if place < ahead else bound_later).update(stored)
        if step.cell.role == "check":
            read |= loaded
    return tuple(sorted(read & bound_ahead - bound_later))


@lru_cache(maxsize=500)
def _names(source: str) -> tuple[set[str], set[str]]:
    """Return the names that a cell of the master binds and reads, at any depth."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return set(), set()
    stored: set[str] = set()
    loaded: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (loaded if isinstance(node.ctx, ast.Load) else stored).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            stored.add(node.name)
        elif isinstance(node, ast.alias):
            stored.add((node.asname or node.name).split(".")[0])
    return stored, loaded
