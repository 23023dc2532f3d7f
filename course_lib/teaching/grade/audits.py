"""Audits of a run: arguments drawn again, the learner's values compared outside of the fence.

The learner's functions are called by `inside`, and their values come as JSON. What they should be
is worked out here, by the course's own functions, once a run.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import TYPE_CHECKING, Any

from course_lib.teaching.checks import load
from course_lib.teaching.checks.drawn import Drawn
from course_lib.teaching.checks.encoded import text_of
from course_lib.teaching.grade.database import Databases

if TYPE_CHECKING:
    import psycopg


class Audits:
    """The audits of a lab with their calls.

    Parameters
    ----------
    lab
        Two digits; empty where the master is none of the course's, and there are none.
    seed
        What the calls are drawn with.
    """

    def __init__(self, lab: str, seed: str) -> None:
        known = load(lab) if lab else {}
        self.audits: Mapping[str, Drawn] = {n: one.draws for n, one in known.items() if one.draws}
        self.calls = {name: one.draw(seed) for name, one in self.audits.items()}
        self._expected: dict[str, Sequence[Any]] = {}
        self._lock = threading.Lock()

    def fault(
        self, exercise: str, told: Mapping[str, Any], databases: Databases | None, *, partly: bool
    ) -> str:
        """Return what is wrong with the values of a learner's function; empty if nothing is.

        Parameters
        ----------
        exercise
            Its id.
        told
            What came out of the fence.
        databases
            What gave the submission its own database, if it has one.
        partly
            Whether only parts of the check passed: then a third has to be right of what is in the
            values, such as the rows that a call wrote.
        """
        audit, calls, values = self.audits[exercise], self.calls[exercise], told.get("values")
        if not isinstance(values, list) or len(values) != len(calls):
            return str(told.get("error") or "it gave no values")
        with _connected(databases.url if databases and audit.needs_database else "") as connection:
            got = audit.state(calls, values, connection)
        expected = self._wanted(exercise, databases.admin_url if databases else "")
        first, wrong = "", 0.0
        for call, wanted, one in zip(calls, expected, got, strict=True):
            try:
                agrees = audit.agrees(wanted, one)
            except Exception:  # what came is of any shape
                agrees = False
            if not agrees:
                wrong += 1 - (_share(wanted, one) if partly else 0)
                first = (
                    first or f"{audit.call_text(call)} gives {text_of(one)}, not {text_of(wanted)}"
                )
                if not partly:
                    return first
        return f"{wrong:.3g} of {len(calls)} calls, {first}" if wrong > len(calls) * 2 / 3 else ""

    def _wanted(self, exercise: str, admin_url: str) -> Sequence[Any]:
        audit, calls = self.audits[exercise], self.calls[exercise]
        with self._lock, ExitStack() as stack:
            if exercise not in self._expected:
                url = ""
                if audit.needs_database:
                    from course_lib.store import fresh_database

                    url = stack.enter_context(fresh_database("audit", url=admin_url)).url
                connection = stack.enter_context(_connected(url))
                self._expected[exercise] = audit.expected(calls, connection)
        return self._expected[exercise]


def _share(wanted: Any, got: Any) -> float:
    """Return how much of a list or a dictionary is right, and of what is in it.

    Examples
    --------
    >>> _share([1, {"a": 2, "b": 3}], [1, {"a": 2, "b": 4}])
    0.75
    >>> _share(["a", "b"], ["", "a", "b"])
    0.6666666666666666
    """
    if wanted == got and type(wanted) is type(got):
        return 1.0
    if isinstance(wanted, dict) and isinstance(got, dict):
        names = wanted.keys() | got.keys()
        same = sum(_share(wanted[name], got[name]) for name in wanted.keys() & got.keys())
        return same / len(names)
    lists = (list, tuple)
    if not isinstance(wanted, lists) or not isinstance(got, lists):
        return 0.0
    there = sum(one in got for one in wanted) / max(len(wanted), len(got))
    in_place = sum(map(_share, wanted, got)) / len(wanted) if len(wanted) == len(got) else 0.0
    return max(there, in_place)


def _connected(url: str) -> AbstractContextManager[psycopg.Connection[Any] | None]:
    if not url:
        return nullcontext()
    import psycopg

    return psycopg.connect(url, autocommit=True, options="-c statement_timeout=10000")
