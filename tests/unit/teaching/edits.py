"""Wrong answers as edits: a function of the library whose source is another in a few places."""

import __future__

import ast
import inspect
from collections.abc import Callable
from typing import Any


def edits(function: Callable[..., Any], **wrong: tuple[str, ...]) -> dict[Callable[..., Any], str]:
    """Return wrong versions of a function of the library, each with what names its case.

    Parameters
    ----------
    function
        The right version; what it calls is the library's in the wrong versions, too.
    wrong
        Name → one or more changes of the source, such as ``"rfind -> find"``, and last a piece of
        the check's message.
    """
    return {
        edited(function, name, *changes): names_the_case
        for name, (*changes, names_the_case) in wrong.items()
    }


class Text(str):
    """A wrong version of a text, with a name as a function has one."""

    __name__: str


def text_edits(right: str, **wrong: tuple[str, ...]) -> dict[Text, str]:
    """Return wrong versions of a text, each with what names its case; see `edits`."""
    found = {}
    for name, (*changes, names_the_case) in wrong.items():
        text = right
        for change in changes:
            piece, _, other = change.partition(" -> " if " -> " in change else "->")
            assert piece in text, f"{name}: the text has no {piece!r} any more"
            text = text.replace(piece, other)
        version = Text(text)
        version.__name__ = name
        found[version] = names_the_case
    return found


def edited(function: Callable[..., Any], name: str, *changes: str) -> Callable[..., Any]:
    """Return a function of the library whose source is another in a few places."""
    source = inspect.getsource(function)
    docstring = ast.parse(source).body[0].body[0]  # type: ignore[attr-defined]
    lines = source.splitlines(keepends=True)
    text = "".join(lines[: docstring.lineno - 1] + lines[docstring.end_lineno :])
    for change in changes:
        piece, _, other = change.partition(" -> ")
        assert piece in text, f"{name}: {function.__name__} has no {piece!r} any more"
        text = text.replace(piece, other)
    names = {**function.__globals__, "__name__": "edited"}  # type: ignore[attr-defined]
    code = compile(text, f"<{name}>", "exec", __future__.annotations.compiler_flag)
    exec(code, names)
    made: Callable[..., Any] = names[function.__name__]
    made.__name__ = name
    return made
