"""Read a cell of a notebook as Python: its syntax tree, what it defines, what it checks."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from threading import RLock

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
SQL_BEGIN, SQL_END = f"-- {BEGIN}", f"-- {END}"
"""What an answer is between, in Python and in SQL."""

_MAGIC = re.compile(r"^(\s*)[%!].*$", re.MULTILINE)
_ONE_AT_A_TIME = RLock()
"""CPython 3.11 may fail where several threads make syntax trees (its issue gh-106905)."""


def parse_code(source: str) -> ast.Module | None:
    """Return the syntax tree of a code cell, its magics left out; None where it is not Python."""
    try:
        return parsed(source)
    except SyntaxError:
        return None


def parsed(source: str) -> ast.Module:
    """Return the syntax tree of a code cell; with ``pass`` in the place of magics, if it has any.

    Raises
    ------
    SyntaxError, ValueError, RecursionError, MemoryError
        It is not Python.
    """
    with _ONE_AT_A_TIME:
        return ast.parse(as_python(source))


def defined_names(source: str) -> set[str]:
    """Return the functions, classes and texts that a cell defines at its top level."""
    found: set[str] = set()
    tree = parse_code(source)
    for node in tree.body if tree else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.JoinedStr):
            found |= {one.id for one in node.targets if isinstance(one, ast.Name)}
    return found


@lru_cache(4096)  # a class hands in the same cells
def as_python(source: str) -> str:
    """Return a code cell with ``pass`` in the place of IPython's magics and shell lines, if any."""
    with _ONE_AT_A_TIME:
        try:
            ast.parse(source)
        except SyntaxError:
            return _MAGIC.sub(r"\1pass", source)
        return source


def checked_exercise(source: str) -> str | None:
    """Return the exercise that a cell checks: the first argument of its ``lab.check("1.1", …)``."""
    for call in calls_in(source):
        match call:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="lab"), attr="check"),
                args=[ast.Constant(value=exercise), *_],
            ):
                return str(exercise)
    return None


def first_line(source: str) -> str:
    """Return the first line of a cell that says something, shortened."""
    line = next((line.strip() for line in source.splitlines() if line.strip()), "")
    return line if len(line) <= 60 else line[:57] + "…"


def calls_in(source: str) -> list[ast.Call]:
    """Return the calls of a code cell; none where it is not Python."""
    tree = parse_code(source)
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)] if tree else []
