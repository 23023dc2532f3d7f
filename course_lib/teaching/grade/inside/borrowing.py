"""Hearing it when an answer gets by with the course's own version instead of one of its own.

However an answer came by it, a version of the course's that is called while its own exercise is
checked gives itself away. That is a flag for a person, and changes nothing of what it returns.
"""

from __future__ import annotations

import builtins
import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FrameType, FunctionType
from typing import Any

# What a learner puts into `builtins` does not reach the functions below.
__builtins__ = dict(vars(builtins))  # type: ignore[assignment]

CALLER = "probe.py"
"""The file that calls what is checked."""

DEEPEST = 60
"""Frames that are looked through for the learner's own."""


def is_learners(file: str) -> bool:
    """Tell by a code object's file name whether the learner wrote it."""
    return file.startswith("<ipython-input") or "ipykernel_" in file


@contextlib.contextmanager
def overheard(
    name: str, own: Any, names: Mapping[str, Any], report: Callable[[str], None]
) -> Iterator[None]:
    """Report it where an answer is the course's own version, or calls it.

    Parameters
    ----------
    name
        What the exercise asks for.
    own
        The course's version, a function or a class.
    names
        The names of the notebook, the learner's answer among them.
    report
        Gets the name.

    Examples
    --------
    >>> def double(x):
    ...     return 2 * x
    >>> heard = []
    >>> with overheard("double", double, {"double": double}, heard.append):
    ...     double(2)
    4
    >>> heard
    ['double']
    """
    functions = [one for one in _functions_of(own) if not one.__code__.co_freevars]
    before = [one.__code__ for one in functions]
    given = names.get(name.split(".")[0])
    codes = {id(code) for code in before}
    if any(id(one.__code__) in codes for one in _functions_of(given)):
        report(name)

    def heard() -> None:
        report(name)

    for function in functions:
        function.__code__ = _stand_in(function, heard)
    try:
        yield
    finally:
        for function, code in zip(functions, before, strict=True):
            function.__code__ = code


def _functions_of(value: Any) -> list[FunctionType]:
    if type(value) is FunctionType:
        return [value]
    if type(value) is type:
        return [one for one in vars(value).values() if type(one) is FunctionType]
    return []


def _stand_in(function: FunctionType, heard: Callable[[], None]) -> CodeType:
    """Return code that listens and then does what the function did."""
    own = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__
    )
    own.__kwdefaults__ = function.__kwdefaults__

    def listen(*args: Any, **kwargs: Any) -> Any:
        if _is_borrowed(sys._getframe(2)):
            heard()
        return own(*args, **kwargs)

    def template(*args: Any, **kwargs: Any) -> Any:
        call: Any = "listen"
        return call(*args, **kwargs)

    # It runs with the names of the function's own module, so that what it calls lies in it.
    code = template.__code__
    constants = tuple(listen if one == "listen" else one for one in code.co_consts)
    return code.replace(co_consts=constants, co_name=function.__name__)


def _is_borrowed(frame: FrameType | None) -> bool:
    """Tell whether a call came from the learner's code, or straight from what calls that."""
    if frame is not None and frame.f_code.co_filename.endswith(CALLER):
        return True
    for _ in range(DEEPEST):
        if frame is None:
            return False
        if is_learners(frame.f_code.co_filename):
            return True
        frame = frame.f_back
    return False
