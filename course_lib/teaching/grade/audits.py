"""The judge of a run: what each exercise is asked, and what is right, made outside of the fence.

Each exercise has two sheets: the one of the notebook, with its named cases and the calls of its
seed, and one of calls that are drawn for each run. The learner's functions are called inside
the fence, and their values come as JSON; here they are judged, as in the notebook.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_fixed

from course_lib.errors import DatabaseError
from course_lib.teaching.checks import Exercise, load
from course_lib.teaching.checks.judging import Sheet, Told, Verdict, differing, judge
from course_lib.teaching.grade.database import Databases
from course_lib.teaching.grade.library import answers_of
from course_lib.teaching.grade.master import Master
from course_lib.teaching.lab.reference import reference

if TYPE_CHECKING:
    import psycopg

TOO_FEW = 1 / 2
"""Of the newly drawn calls, so many with another value are not an accident."""


class Judged(NamedTuple):
    """What was found of an answer.

    Attributes
    ----------
    verdict
        The notebook's sheet, judged outside of the learner's process.
    flag
        Why a person looks at it; empty for nothing.
    note
        What the notebook's calls did not find; empty for nothing.
    """

    verdict: Verdict
    flag: str = ""
    note: str = ""


class Audits:
    """The sheets of a master's exercises.

    Parameters
    ----------
    master
        It may also be a notebook of one's own that has exercises of the course.
    seed
        What calls are drawn with, besides those of the notebook.
    """

    def __init__(self, master: Master, seed: str) -> None:
        known = [load(name.split(".")[0])[name] for name in master.exercises]
        has_database = master.needs_database
        self.exercises: Mapping[str, Exercise] = {one.id: one for one in known}
        asked = [one for one in known if has_database or not one.draws.needs_database]
        self.answers = answers_of(known)
        self.sheets: dict[str, tuple[Sheet, Sheet]] = {}
        with ExitStack() as stack:
            connect = None
            if any(one.draws.needs_database for one in asked):
                connect = _connector(stack)
            for one in asked:
                course = partial(reference, one.id.split(".")[0].zfill(2), one)
                first = Sheet(one, reference=course, connect=connect)
                again = Sheet(one, seed, reference=course, connect=connect, after=first)
                first.make()
                again.make()
                self.sheets[one.id] = first, again

    def order(self, exercise: str, right: Collection[str]) -> dict[str, Any]:
        """Return what an exercise is asked, with the course's answers to earlier ones.

        These are not asked any more. Where theirs are not `right`, it is judged with the course's.
        """
        ids = list(self.exercises)
        libraries = {self.exercises[one].library: one for one in ids[: ids.index(exercise)]}
        earlier = {one: libraries[one] for one in self.answers if one in libraries}
        return {
            "audit": exercise,
            "sheets": [(one.first, one.calls) for one in self.sheets[exercise]],
            "answers": {one: self.answers[one] for one in earlier},
            "instead": [one for one, name in earlier.items() if name not in right],
        }

    @property
    def times(self) -> dict[str, float]:
        """The time limit of each exercise."""
        return {name: one.time_limit for name, one in self.exercises.items()}

    def judged(self, exercise: str, told: Any, databases: Databases | None) -> Judged:
        """Judge what came of the two sheets.

        Parameters
        ----------
        exercise
            Its id.
        told
            What came out of the fence, of any shape.
        databases
            What gave the submission its own database, if it has one.
        """
        asked, again = self.sheets[exercise]
        verdict = Verdict(self.exercises[exercise])
        parts = ([*told, {}, {}] if isinstance(told, list) else [{}, {}])[:2]
        came, anew = (one if isinstance(one, dict) else {} for one in parts)
        connect = _as_submission(databases.url) if databases else None
        outcomes = Told(asked, came, connect)
        fresh = Told(again, anew, connect)
        try:
            judge(asked, outcomes, verdict)
            named = [one.passed for one in verdict.parts[: len(asked.parts)]]
            is_right = all(named) and len(named) == len(asked.parts)
            if not is_right or verdict.stub or verdict.ran_out:
                return Judged(verdict)
            known, share = differing(asked, outcomes)
            if share > 1 - 1 / 3:
                return Judged(verdict, f"the named cases alone are right: {known}")
            first, share = differing(again, fresh)
        finally:
            outcomes.close()
            fresh.close()
        if verdict.fault or not first:
            return Judged(verdict)
        said = f"a newly drawn call has another value: {first}"
        return Judged(verdict, said) if share > TOO_FEW else Judged(verdict, note=said)


def _connector(stack: ExitStack) -> Callable[[], psycopg.Connection[Any]]:
    """Return what opens connections to a database of the course's own functions."""
    from course_lib.store import connect, fresh_database

    database = stack.enter_context(fresh_database("audit"))
    return lambda: connect(database.url)


def _as_submission(url: str) -> Callable[[], psycopg.Connection[Any]]:
    """Return what opens connections; a server that has lost a process needs a while."""
    from course_lib.store import connect

    again = retry_if_exception_type(DatabaseError)
    waits = retry(retry=again, stop=stop_after_delay(5), wait=wait_fixed(0.2), reraise=True)
    return waits(lambda: connect(url, autocommit=True))
