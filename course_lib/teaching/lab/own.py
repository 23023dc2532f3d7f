"""Whether an object is what the learner's own cell defines: a check judges nothing else.

`lab.use` binds the learner's name to the course's version; a check that follows would judge that.
"""

from __future__ import annotations

import functools
import sys
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
    return ""


def notebook_shell() -> Any:
    """Return IPython's shell, or None outside of a notebook."""
    return sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
