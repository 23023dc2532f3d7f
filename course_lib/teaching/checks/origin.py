"""Where an exception came from: the learner's own line, or the stub of an exercise.

A traceback through the course's files and the libraries' teaches nobody anything; one line of
one's own does.
"""

from __future__ import annotations

import linecache
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

COURSE = Path(__file__).resolve().parents[2]


def where_in_given(error: BaseException, given: object) -> str:
    """Return the learner's own line that an exception came from, as an addition to a message.

    It is the innermost line of the file or cell that holds the learner's object; where there is
    none, the innermost line that belongs to no library; where there is none either, nothing.
    """
    code = getattr(given, "__code__", None)
    own_file = code.co_filename if code is not None else None
    frames = list(_frames(error.__traceback__))
    own = [f for f in frames if f[0] == own_file] or [f for f in frames if not is_library(f[0])]
    if not own:
        return ""
    file, line_number, _ = own[-1]
    line = linecache.getline(file, line_number).strip()
    is_cell = "ipykernel_" in file or file.startswith("<")
    place = "your cell" if is_cell else Path(file).name
    return f"\nin line {line_number} of {place}" + (f": {line}" if line else "")


def _frames(traceback: TracebackType | None) -> Iterator[tuple[str, int, str]]:
    while traceback is not None:
        code = traceback.tb_frame.f_code
        yield code.co_filename, traceback.tb_lineno, code.co_qualname
        traceback = traceback.tb_next


def stub_in(error: BaseException) -> str:
    """Return which function of the learner's is not implemented; empty for other errors."""
    file, _, function = list(_frames(error.__traceback__))[-1]
    return function if isinstance(error, NotImplementedError) and not is_library(file) else ""


def is_library(file: str) -> bool:
    """Tell whether a file is of the course, of Python or of an installed package."""
    path = Path(file)
    return (
        file.startswith("<frozen")
        or file.endswith(".pyx")
        or path.is_relative_to(COURSE)
        or path.is_relative_to(sysconfig.get_path("stdlib"))
        or not {"site-packages", "dist-packages"}.isdisjoint(path.parts)
    )


def named(error: BaseException) -> str:
    """Return an exception's type and the first line of its message.

    What PostgreSQL says has a SQLSTATE. Its "SyntaxError" is not one of Python's.
    """
    if isinstance(error, RecursionError):
        return "RecursionError: nested too deep, as where a function calls itself without an end"
    if type(error) is NameError:
        return f"NameError: {error}: check its spelling, or run the cell that defines it"
    message = str(error).split("\n")[0]
    if len(message) > 400:
        message = f"{message[:400].rpartition(' ')[0]} …"
    kind = "PostgreSQL" if getattr(error, "sqlstate", None) else type(error).__name__
    return f"{kind}: {message}" if message else kind
