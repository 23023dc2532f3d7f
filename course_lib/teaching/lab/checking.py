"""Running a check on a learner's object: `run_check` returns if it passes and raises if not.

The check runs within a time limit. What the learner's code prints is let through up to a limit, on
standard output alone, because graders take a line on standard error for a failure.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, Any, TextIO

from course_lib.errors import CourseError
from course_lib.teaching.checks import Exercise
from course_lib.teaching.checks.origin import where_in_given
from course_lib.teaching.checks.outcomes import CheckFailed, NotAttempted
from course_lib.teaching.checks.probe import Probe, StubReached
from course_lib.teaching.lab.time_limit import OutOfTime, stop_behind, within

if TYPE_CHECKING:
    import psycopg

STUB = r"-- YOUR SQL HERE|# YOUR CODE HERE\s*raise NotImplementedError\(\)"

PRINTED = 4_000
"""Characters that the learner's code may print during a check before the rest is left out."""


def run_check(
    exercise: Exercise,
    given: Any,
    *,
    exercises: Mapping[str, Exercise] | None = None,
    connect: Callable[[], psycopg.Connection[Any]] | None = None,
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

    Raises
    ------
    CheckFailed
        If it is wrong; the message names the case, and the points of the parts that are right.
    NotAttempted
        If it is still the stub, or builds on one that is.
    """
    if given is None or given is ... or _is_untouched(given, exercise):
        raise NotAttempted(exercise.id)
    names = getattr(given, "__globals__", {})
    for earlier in filter(None, map((exercises or {}).get, exercise.waits_for)):
        if _is_untouched(names.get(earlier.name), earlier):
            raise NotAttempted(exercise.id, waits_for=earlier.id)
    probe = Probe(exercise, given, connect)

    def judge() -> None:
        exercise.check(probe)
        probe.settle()

    printed = _Limited(sys.stdout, PRINTED)
    try:
        with redirect_stdout(printed), redirect_stderr(printed):
            within(exercise.time_limit, judge)
    except StubReached as stub:
        raise NotAttempted(exercise.id, waits_for=_owner(stub, exercise, exercises)) from None
    except OutOfTime as stop:
        raise _with_parts(_stopped(stop, probe), probe) from None
    except CheckFailed as failed:
        raise _with_parts(failed, probe).with_traceback(None) from None
    except NotAttempted as ended:
        raise ended.with_traceback(None) from None
    except CourseError:
        raise
    except Exception as error:
        if first := stop_behind(error):
            raise _with_parts(_stopped(first, probe), probe) from None
        raise _with_parts(probe.odd(error), probe) from error


def _with_parts(failed: CheckFailed, probe: Probe) -> CheckFailed:
    failed.parts, failed.most = tuple(probe.parts), probe.exercise.points
    return failed


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

    whole = " ".join(str(reference(exercise.id.split(".")[0].zfill(2), exercise)).split())
    if " ".join(re.sub(STUB, " ", given).split()) == whole:  # all is there, and a mark was left
        return False
    return re.fullmatch(".*".join(parts), whole) is not None


def _owner(stub: StubReached, own: Exercise, exercises: Mapping[str, Exercise] | None) -> str:
    """Return the id of the earlier exercise whose stub was reached; empty for this one's own."""
    names = {other.name: other.id for other in (exercises or {}).values()}
    owner = names.get(stub.function, own.id)
    return "" if owner == own.id else owner


def _stopped(stop: OutOfTime, probe: Probe) -> CheckFailed:
    exercise = probe.exercise
    where = where_in_given(stop, probe.given).strip()
    if stop.args == ("memory",):
        got = "more and more memory, until it was stopped"
    else:
        seconds = f"{exercise.time_limit:g} second{'' if exercise.time_limit == 1 else 's'}"
        got = f"no result after {seconds}"
    return CheckFailed(
        exercise.id,
        f"{exercise.name} did not come to an end",
        called=str(probe.calling),
        got=f"{got}\n{where}" if where else got,
        because="the usual cause is a loop whose condition never becomes false, or a wait that "
        "never ends",
    )


class _Limited(io.TextIOBase):
    """Lets a number of characters through to another stream and drops the rest."""

    def __init__(self, stream: TextIO, limit: int) -> None:
        self.stream = stream
        self.left = limit

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if self.left > 0:
            self.stream.write(text[: self.left])
            self.left -= len(text)
            if self.left <= 0:
                self.stream.write("\n… what your function prints further is not shown\n")
        return len(text)

    def flush(self) -> None:
        if not self.stream.closed:  # Python flushes at the end of this object, perhaps later
            self.stream.flush()
