"""Wrong answers as edits: an answer of the library whose source is another in a few places."""

import __future__

import ast
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from course_lib.teaching.taught import function_of


class WrongText(str):
    """A wrong text of SQL, with a name as functions have one."""

    __name__ = ""


def edits(function: Any, **wrong: tuple[str, ...]) -> dict[Any, str]:
    """Return wrong versions of an answer of the library, each with what names its case.

    Parameters
    ----------
    function
        The right version: a function, a pipeline or a text of SQL. What a function calls is the
        library's in the wrong versions, too.
    wrong
        Name → one or more changes of the source, such as ``"rfind -> find"``, and last a piece of
        the check's message.
    """
    return {
        edited(function, name, *changes): names_the_case
        for name, (*changes, names_the_case) in wrong.items()
    }


def edited(given: Any, name: str, *changes: str) -> Any:
    """Return an answer of the library whose source is another in a few places."""
    if isinstance(given, str):
        wrong = WrongText(changed(given, name, changes))
        wrong.__name__ = name
        return wrong
    function = function_of(given)
    source = inspect.getsource(function)
    node: Any = ast.parse(source).body[0]
    lines = source.splitlines(keepends=True)
    first = node.lineno - 1 if function is not given else 0  # kfp's decorator is left out
    text = "".join(lines[first : node.body[0].lineno - 1] + lines[node.body[0].end_lineno :])
    text = changed(text, name, changes)
    names = {**function.__globals__, "__name__": "edited"}
    # kfp wants types for annotations
    flags = 0 if function is not given else __future__.annotations.compiler_flag
    code = compile(text, f"<{name}>", "exec", flags, dont_inherit=True)
    exec(code, names)
    made: Callable[..., Any] = names[function.__name__]
    made.__name__ = name
    return made


def changed(text: str, name: str, changes: Iterable[str]) -> str:
    """Return a source with some of its pieces replaced; each has to be there."""
    for change in changes:
        piece, _, other = change.partition(" -> " if " -> " in change else "->")
        assert piece in text, f"{name}: there is no {piece!r} any more"
        text = text.replace(piece, other)
    return text
