"""Whether an object is what the learner's own cell defines: a check judges nothing else.

Two ways lead to a tick that means nothing. `lab.use` binds the learner's name to the course's
version, so a check that follows judges the course. And a cell that was changed and then failed
leaves the version before it, so the check judges an answer that is no longer written anywhere.
"""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Sequence
from typing import Any

from course_lib.teaching.checks import Exercise

MISSING: Any = object()
"""Stands for what a check was not given."""


def not_the_learners(exercise: Exercise, given: Any, handed_out: Sequence[Any]) -> str:
    """Return why an object is not to be judged, as the headline of a message; empty if it is.

    Parameters
    ----------
    exercise
        Which exercise is being checked.
    given
        What the check was given.
    handed_out
        What `lab.use` returned as the course's version.
    """
    name = exercise.name.split(".")[0]
    if given is MISSING:
        return f'is checked with your {name}: lab.check("{exercise.id}", {exercise.name})'
    module = getattr(given, "__module__", None) or ""
    if any(given is one for one in handed_out) or module.startswith("course_lib."):
        return f"was given the course's {name}: run the cell with your answer, then this one"
    latest = _latest_cell(name)
    if latest is not None and (source := _source_of(given)) and source != latest:
        return (
            f"was given an older {name}: the cell that defines it was changed and then failed. "
            "Mend its error, run it, then run this one"
        )
    return ""


def _latest_cell(name: str) -> str | None:
    """Return the last cell run in this kernel that defines a name; None outside of a notebook."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None:
        return None
    definition = re.compile(rf"^(?:async )?(?:def|class) {re.escape(name)}\b", re.MULTILINE)
    cells: list[str] = shell.user_ns.get("In", [])
    return next((_plain(cell) for cell in reversed(cells) if definition.search(cell)), None)


def _source_of(given: Any) -> str:
    """Return the text of the cell that an object was defined in; empty where it has none."""
    given = getattr(given, "python_func", given)  # a kfp component
    members = vars(given).values() if isinstance(given, type) else ()
    for one in (given, *members):
        code = getattr(one, "__code__", None)
        if code is not None:
            return _plain("".join(linecache.getlines(code.co_filename)))
    return ""


def _plain(cell: str) -> str:
    return "\n".join(line.rstrip() for line in cell.strip().splitlines())
