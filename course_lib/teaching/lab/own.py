"""Whether an object is what the learner's own cell defines: a check judges nothing else.

Two ways lead to a tick that means nothing. `lab.use` binds the learner's name to the course's
version, so a check that follows judges the course. And a cell that was changed and then failed
leaves the version before it, so the check judges an answer that is no longer written anywhere.
"""

from __future__ import annotations

import functools
import re
import symtable
import sys
from collections.abc import Iterable
from typing import Any

from course_lib.teaching.checks import Exercise
from course_lib.teaching.taught import function_of

MISSING: Any = object()
"""Stands for what a check was not given."""

_HANDED_OUT: list[Any] = []


def hand_out(course: Any) -> Any:
    """Return the course's version of a function, and remember that it is the course's."""
    _HANDED_OUT.append(course)
    return course


def not_the_learners(exercise: Exercise, given: Any) -> str:
    """Return why an object is not to be judged, as the headline of a message; empty if it is.

    Parameters
    ----------
    exercise
        Which exercise is being checked.
    given
        What the check was given.
    """
    name = exercise.name
    if given is MISSING:
        return f'is checked with your {name}: lab.check("{exercise.id}", {name})'
    inner = given.func if isinstance(given, functools.partial) else given
    inner = function_of(inner)
    module = getattr(inner, "__module__", None) or ""
    place, _, constant = (exercise.library or "").partition(":")
    is_courses = isinstance(given, str) and given is getattr(sys.modules.get(place), constant, None)
    handed_out = is_courses or any(inner is one for one in _HANDED_OUT)
    if handed_out or module.startswith("course_lib."):
        return f"was given the course's {name}: run the cell with your answer, then this one"
    shell = notebook_shell()
    if _watch is not None and name in _watch.stale and shell.user_ns.get(name) is given:
        return (
            f"was given an older {name}: its cell was run again and did not define it. "
            "Look at the error there, run the cell, then this one"
        )
    return ""


def watch(names: Iterable[str]) -> None:
    """Notice from now on which cells define these names; does nothing outside of a notebook."""
    global _watch
    shell = notebook_shell()
    if shell is None:
        return
    if _watch is None:
        _watch = _Watch(shell)
        shell.events.register("post_run_cell", _watch.after_cell)
    for name in names:
        _watch.objects.setdefault(name, MISSING)


def notebook_shell() -> Any:
    """Return IPython's shell, or None outside of a notebook."""
    return sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None


class _Watch:
    """Which cell gave each name its object, and whether that cell has since failed to.

    Cells are told apart by the ids that JupyterLab sends along; without ids nothing is noticed.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._cells: dict[str, str | None] = {}
        self.objects: dict[str, Any] = {}
        self.stale: set[str] = set()

    def after_cell(self, result: Any) -> None:
        cell = getattr(result.info, "cell_id", None)
        for name, before in self.objects.items():
            now = self._shell.user_ns.get(name, MISSING)
            if now is not before:
                self.objects[name], self._cells[name] = now, cell
                self.stale.discard(name)
            elif cell is not None and cell == self._cells.get(name):
                # An import that is run again gives the same object, and is not a fault.
                if not (result.success and self._defines(result.info.raw_cell, name)):
                    self.stale.add(name)

    def _defines(self, cell: str, name: str) -> bool:
        body = re.sub(r"\A\s*%%.*\n", "", cell)  # under %%time and the like it is still Python
        try:
            table = symtable.symtable(self._shell.transform_cell(body), "<cell>", "exec")
            symbol = table.lookup(name)
        except (SyntaxError, KeyError):
            return False
        return symbol.is_assigned() or symbol.is_imported()


_watch: _Watch | None = None
