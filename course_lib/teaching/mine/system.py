"""The learner's system as a whole: what of it is the learner's, and how well it does."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, redirect_stdout
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_lib.errors import CourseError, InputError
from course_lib.teaching.mine.keep import all_exercises, kept, system_folder
from course_lib.teaching.mine.overlay import environment
from course_lib.teaching.mine.sections import KeptAnswer
from course_lib.teaching.time_limit import OutOfTime, within

if TYPE_CHECKING:
    from course_lib.evaluation.runs import Run

AUDIT_SECONDS = 20.0
"""How long a function may take for all random calls together; two seconds are usual."""


def rooms(folder: Path) -> dict[str, tuple[list[str], list[str]]]:
    """Return for each stage the functions that are the learner's, and those that are not."""
    own = kept(folder)
    found: dict[str, tuple[list[str], list[str]]] = {}
    for number, one in all_exercises().items():
        found.setdefault(one.room, ([], []))[number not in own].append(one.name)
    return found


def differences(sections: Sequence[KeptAnswer], seed: int) -> Iterator[str]:
    """Yield a line for each function that gives something else than the library's does.

    Parameters
    ----------
    sections
        The functions.
    seed
        Of the random arguments.
    """
    from course_lib.teaching.checks.judging import Outcomes, Sheet, differing
    from course_lib.teaching.checks.running import Calls
    from course_lib.teaching.lab.reference import reference

    with ExitStack() as stack:
        connect = cache(partial(_database, stack))
        for one in sections:
            exercise = all_exercises()[one.exercise]
            opened = (lambda: connect()()) if exercise.draws.needs_database else None
            sheet = Sheet(
                exercise, seed, reference=partial(reference, exercise.lab, exercise), connect=opened
            )
            try:
                outcomes = Outcomes(sheet, Calls(exercise.draws, one.load(), opened), opened)
                with redirect_stdout(io.StringIO()):
                    found, _ = within(AUDIT_SECONDS, partial(differing, sheet, outcomes))
            except OutOfTime:
                yield f"{one.name} does not end within {AUDIT_SECONDS:g} s on random arguments"
                continue
            except Exception as error:
                yield f"{one.name} cannot be run: {type(error).__name__}: {error}"
                continue
            if found:
                yield f"{one.name} differs: {found}"


def _database(stack: ExitStack) -> Callable[[], Any]:
    """Return what opens connections to a database of its own."""
    from course_lib.store import connect, fresh_database

    database = stack.enter_context(fresh_database("mine"))
    return lambda: stack.enter_context(connect(database.url))


def measure_both(questions: Path | None, corpora: Sequence[str]) -> tuple[Run, Run]:
    """Return what the course's system finds, and what the learner's does, as `measure_own` says.

    Raises
    ------
    InputError
        If there are questions and no corpora, or the other way round.
    """
    from course_lib.teaching.mine.measure import find_all

    if (questions is None) != (not corpora):
        raise InputError(
            "--questions and --corpus go together",
            hint="Such as --questions questions.jsonl --corpus docs=DIRECTORY",
        )
    return find_all("the course's", questions, corpora), measure_own(questions, corpora)


def measure_own(questions: Path | None = None, corpora: Sequence[str] = ()) -> Run:
    """Return what the learner's system finds, in a process of its own.

    Parameters
    ----------
    questions, corpora
        As in `find_all`.

    Raises
    ------
    CourseError
        If it does not get through; it has said why.
    """
    from course_lib.evaluation.kept import read_run

    with tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary) / "run.json"
        words = [file, questions or "", *corpora]
        command = [sys.executable, "-m", "course_lib.teaching.mine.measure", *map(str, words)]
        variables = {**os.environ, **environment(system_folder())}
        if subprocess.run(command, env=variables, check=False).returncode:
            raise CourseError(
                "your system did not get through the questions", hint="What is above says why."
            )
        return read_run(file)
