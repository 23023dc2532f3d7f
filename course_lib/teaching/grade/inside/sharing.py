"""What the course's labs are given within the fence: a database, and the course's own versions."""

from __future__ import annotations

import builtins
import contextlib
from typing import Any

# What a learner puts into `builtins` does not reach the functions below.
__builtins__ = dict(vars(builtins))  # type: ignore[assignment]

DATABASE = {"url": ""}
"""The submission's own, once the grader has said which."""


class GivenDatabase:
    """What `fresh_database` gives within the fence: the one that the grader made."""

    name = "grade"

    @property
    def url(self) -> str:
        """How to connect to it."""
        return DATABASE["url"]

    def drop(self) -> None:
        """Leave it to the grader."""


def share_database() -> None:
    """Have labs take the grader's database instead of making one."""
    from course_lib import store

    vars(store)["fresh_database"] = lambda name, *, url=None: GivenDatabase()


def share_references(lab: str, solution: str) -> dict[str, tuple[str, Any]]:
    """Have `lab.use` know the course's versions, whose source is not within the fence.

    Parameters
    ----------
    lab
        Two digits; empty where the master is none of the course's.
    solution
        The text of `solutions/NN_name.py`.

    Returns
    -------
    dict
        By exercise: what it asks for, and the course's version of it.
    """
    if not lab:
        return {}
    from course_lib.teaching.checks import load
    from course_lib.teaching.lab import reference, session

    known = {}
    exercises = load(lab)
    for exercise in exercises.values():
        with contextlib.suppress(Exception):
            known[exercise.name] = (
                reference.reference(lab, exercise)
                if exercise.library is not None
                else reference.from_solution(solution, exercise)
            )
    vars(session)["reference"] = lambda lab_id, exercise: known[exercise.name]
    return {key: (one.name, known[one.name]) for key, one in exercises.items() if one.name in known}
