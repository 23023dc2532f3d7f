"""The front door: `course …`, each command a thin call into the stage that does the work.

An error that the library raises on purpose is printed as what it is — what happened, to what, what
to do next — and never as a traceback. What is slow to import (numpy, psycopg, httpx, nbgrader, and
so each stage) is imported in the function that needs it, so that `--help` is fast.
"""

from __future__ import annotations

import errno
import logging
import signal
import sys
from contextlib import suppress
from pathlib import Path

from course_lib.cli.printing import complain, say
from course_lib.errors import CourseError

FULL_OR_BROKEN = {errno.ENOSPC, errno.EROFS, errno.EIO, getattr(errno, "EDQUOT", errno.ENOSPC)}
"""What a disk says whose state is not a mistake of ours."""


def main() -> None:
    """Run the command line and end the process with its exit code.

    0 is success, 1 an error that is explained, 2 a wrong call, 130 Ctrl-C. SIGTERM ends it after
    what it has started.
    """
    # A pipe or an old Windows console may not be UTF-8; a question mark beats a traceback.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    # Its warnings are about roll-backs that a lost connection made needless.
    logging.getLogger("psycopg").setLevel(logging.ERROR)
    # Here nbgrader writes the traceback of an error of the gradebook's, which it then raises.
    logging.getLogger("tornado.application").setLevel(logging.CRITICAL)
    try:
        _run()
    except BaseException as error:
        code = _end(error)
        if code is None:
            raise
        sys.exit(code)


def _end(error: BaseException) -> int | None:
    """Say what an error was; return the exit code, or None where it is a mistake of ours."""
    match error:
        case CourseError():
            complain(error)
            return 1
        case _Terminated():
            signal.raise_signal(signal.SIGTERM)
            return 0  # the first process of a container is not ended by it
        case KeyboardInterrupt() | SystemExit(code=130):
            print("stopped", file=sys.stderr)
            return 130
        # The reader (`| head`) has seen enough; typer itself turns this into that, without a word.
        case BrokenPipeError() | SystemExit(__context__=BrokenPipeError()):
            with suppress(OSError, AttributeError):
                sys.stderr.close()
            return 0
        case OSError() if error.errno in FULL_OR_BROKEN:
            _tell_full_or_broken(error)
            return 1
        case OSError() if error.filename is not None:
            complain(CourseError(f"{error.filename}: {error.strerror}", hint="Check the path."))
            return 1
    return None


def _tell_full_or_broken(error: OSError) -> None:
    """Say what cannot be written, and what to do about it."""
    # What is left in its buffer would be tried once more at the end.
    with suppress(OSError, AttributeError):
        sys.stdout.close()
    from course_lib.settings import state_dir

    place = error.filename or "what the command writes to"
    say(f"error: {place} cannot be written: {error.strerror}")
    if error.errno != errno.EROFS:
        say("Free some space on that disk and run the same command again.")
    elif Path(place).is_relative_to(state_dir()):
        say("Set COURSE_STATE to a folder that can be written to.")
    else:
        say("Name another place, or use a copy of the course of your own.")


class _Terminated(SystemExit):
    """SIGTERM came: what would be cleared up after an error is cleared up, and children end."""


def _terminate(number: int, frame: object) -> None:
    raise _Terminated(128 + number)


def _run() -> None:
    from course_lib.cli.commands import build_app

    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        build_app()()
    finally:
        signal.signal(signal.SIGTERM, before)
        # Here a full disk can still be told; at the end of the process it cannot.
        if sys.stdout is not None:  # as after `>&-`
            sys.stdout.flush()
