"""Running a check on a learner's object: `run_check` returns if it passes and raises if not.

The check runs within a time limit. What the learner's code printed is shown up to a limit, on
standard output alone, because graders take a line on standard error for a failure.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, Any

from course_lib.teaching.checks import Exercise
from course_lib.teaching.checks.encoded import encode, tag_of, text_of
from course_lib.teaching.checks.judging import WRONG, Outcomes, Sheet, Verdict, judge
from course_lib.teaching.checks.origin import where_in_given
from course_lib.teaching.checks.outcomes import CheckFailed, NotAttempted
from course_lib.teaching.checks.running import Calls
from course_lib.teaching.time_limit import OutOfTime, within

if TYPE_CHECKING:
    import psycopg

STUB = r"-- YOUR SQL HERE|# YOUR CODE HERE\s*raise NotImplementedError\(\)"

PRINTED = 4_000
"""Characters that the learner's code may print during a check before the rest is left out."""

MORE = "\n… what your function prints further is not shown\n"


def run_check(
    exercise: Exercise,
    given: Any,
    *,
    exercises: Mapping[str, Exercise] | None = None,
    connect: Callable[[], psycopg.Connection[Any]] | None = None,
    sheet: Sheet | None = None,
    instead: Mapping[str, Any] | None = None,
) -> None:
    """Check a learner's object.

    Parameters
    ----------
    exercise
        Which exercise.
    given
        The learner's object.
    exercises
        All exercises of the lab, by which a stub that was reached is told from this one.
    connect
        Opens a connection to the lab's database, for checks that need one.
    sheet
        What is asked and expected; made here without it.
    instead
        What the learner's function finds under these names: the course's version of earlier
        exercises whose checks have not passed.

    Raises
    ------
    CheckFailed
        If it is wrong; the message names the case, and the points of the parts that are right.
    NotAttempted
        If it is still the stub, or builds on one that is.
    """
    refuse_no_answer(exercise, given)
    names = getattr(given, "__globals__", {})
    for earlier in filter(None, map((exercises or {}).get, exercise.waits_for)):
        if earlier.name not in (instead or {}) and _is_untouched(names.get(earlier.name), earlier):
            raise NotAttempted(exercise.id, waits_for=earlier.id)
    sheet = sheet or sheet_for(exercise, connect)
    verdict, run = Verdict(exercise), Calls(exercise.draws, given, connect)
    outcomes = Outcomes(sheet, run, connect)
    printed = io.StringIO()
    try:
        with redirect_stdout(printed), redirect_stderr(printed), bound(names, instead or {}):
            first = within(exercise.time_limit, lambda: outcomes[0]["value"])
            if tag_of(first) != "stub":  # which needs no comparison
                sheet.make()  # outside of the learner's time
            within(exercise.time_limit, lambda: judge(sheet, outcomes, verdict))
    except OutOfTime as stop:
        where = where_in_given(stop, given).strip()
        verdict.stopped(run.calling, "memory" if stop.args == ("memory",) else "time", where)
    finally:
        outcomes.close()
        text = printed.getvalue()
        print(text[:PRINTED] + MORE * (len(text) > PRINTED), end="")
    if verdict.stub:
        raise NotAttempted(exercise.id, waits_for=owner(verdict.stub, exercise, exercises))
    if verdict.fault:
        raise verdict.fault.with_traceback(None) from None


def sheet_for(
    exercise: Exercise, connect: Callable[[], psycopg.Connection[Any]] | None = None
) -> Sheet:
    """Return what is asked in a notebook."""
    from course_lib.teaching.lab.reference import reference

    return Sheet(exercise, reference=lambda: reference(exercise.lab, exercise), connect=connect)


def refuse_no_answer(exercise: Exercise, given: Any) -> None:
    """Refuse what is still the stub, and what cannot be an answer, such as a function's result.

    Raises
    ------
    CheckFailed, NotAttempted
        It is not an answer.
    """
    if given is None or given is ... or _is_untouched(given, exercise):
        raise NotAttempted(exercise.id)
    if isinstance(given, str) if exercise.draws.is_text else callable(given):
        return
    expected = f"the function itself: {exercise.name}, without brackets"
    raise CheckFailed(
        exercise.id,
        f"{exercise.name} {WRONG}",
        called=f'lab.check("{exercise.id}", …)',
        got=f"{text_of(encode(given))} ({type(given).__name__})",
        expected="a text of SQL" if exercise.draws.is_text else expected,
    )


@contextmanager
def bound(names: dict[str, Any], instead: Mapping[str, Any]) -> Iterator[None]:
    """Let a function find these objects under these names for a while."""
    before = {name: names[name] for name in instead if name in names}
    names |= {name: instead[name] for name in before}
    try:
        yield
    finally:
        names |= before


def _is_untouched(given: object, exercise: Exercise) -> bool:
    """Tell whether a text of SQL is a stub: ours or nbgrader's, with what is given around it."""
    if not isinstance(given, str):
        return False
    if not re.sub(rf"--.*|{STUB}", "", given).strip():
        return True
    parts = [re.escape(" ".join(part.split())) for part in re.split(STUB, given)]
    if len(parts) < 2 or not exercise.library:
        return False
    from course_lib.teaching.lab.reference import reference

    whole = " ".join(str(reference(exercise.lab, exercise)).split())
    if " ".join(re.sub(STUB, " ", given).split()) == whole:  # all is there, and a mark was left
        return False
    return re.fullmatch(".*".join(parts), whole) is not None


def owner(function: str, own: Exercise, exercises: Mapping[str, Exercise] | None) -> str:
    """Return the id of the earlier exercise whose stub was reached; empty for this one's own."""
    names = {other.name: other.id for other in (exercises or {}).values()}
    owner = names.get(function, own.id)
    return "" if owner == own.id else owner
