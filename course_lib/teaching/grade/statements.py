"""The statements of a cell: what they define, change and read; nothing of them is run."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from functools import lru_cache

from course_lib.teaching.names import bound_names, read_names
from course_lib.teaching.notebooks.cells import parse_code

DEFINES = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign,
    ast.AnnAssign, ast.AugAssign,
)  # fmt: skip
"""The statements that define something."""

IN_PLACE = ("shuffle", "heapify", "heappush", "heappop", "insort")
"""Functions of modules that change the list that they are given."""


def definitions(source: str, taken: Collection[str]) -> str:
    r"""Return the imports, functions, classes and assignments of a cell that define new names.

    Parameters
    ----------
    source
        Of the cell.
    taken
        Names that are not new.

    Examples
    --------
    >>> definitions("def twice(x):\n    return 2 * x\nprint(twice(2))\nlab = 1", {"lab"})
    'def twice(x):\n    return 2 * x'
    """
    tree = parse_code(source)
    parts = []
    for node in tree.body if tree else ():
        names = bound_names(ast.unparse(node))
        if isinstance(node, DEFINES) and names and not names.intersection(taken):
            parts.append(ast.unparse(node))
    return "\n".join(parts)


def binding(source: str, read: set[str]) -> str:
    r"""Return the statements of a cell that bind names which are read; what these read is added.

    Examples
    --------
    >>> read = {"f"}
    >>> binding("import math\nrows = show()\ndef f(x):\n    return math.pi * x\nprint(rows)", read)
    'import math\ndef f(x):\n    return math.pi * x'
    """
    tree = parse_code(source)
    kept: list[str] = []
    for node in reversed(tree.body if tree else ()):
        statement = ast.unparse(node)
        if bound_names(statement) & read:
            kept.insert(0, statement)
            read |= read_names(statement)
    return "\n".join(kept)


def changes(node: ast.stmt, made: Mapping[str, str]) -> frozenset[str]:
    """Return the names that a statement of an added cell, which is not run, may change.

    Parameters
    ----------
    node
        The statement.
    made
        The functions of added cells: a call of one may change what it is given, and what it reads.
    """
    text = ast.unparse(node)
    match node:
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))) if name in made:
            return read_names(text) | read_names(made[name]) | bound_names(made[name])
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=of, attr=attr))):
            return read_names(text if attr in IN_PLACE else ast.unparse(of))
        case ast.Assign(targets=targets) if any(not isinstance(one, ast.Name) for one in targets):
            return frozenset[str]().union(*(read_names(ast.unparse(one)) for one in targets))
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            return frozenset() if isinstance(target, ast.Name) else read_names(ast.unparse(target))
        case ast.Delete() | ast.For() | ast.While() | ast.With() | ast.If() | ast.Try():
            return read_names(text) | bound_names(text)
    return frozenset()


def patches(node: ast.stmt) -> frozenset[str]:
    """Return the names whose attributes a statement sets: functions and classes have some, too."""
    match node:
        case ast.Assign(targets=targets):
            found = [one.value for one in targets if isinstance(one, ast.Attribute)]
        case ast.Expr(value=ast.Call(func=ast.Name(id="setattr"), args=[of, *_])):
            found = [of]
        case _:
            found = []
    return frozenset[str]().union(*(read_names(ast.unparse(one)) for one in found))


def given_by(stub: str) -> str:
    """Return what a stub gives to an answer in another cell: imports, a text that it adds to."""
    tree = parse_code(stub)
    nodes = [] if tree is None else [one for one in tree.body if not isinstance(one, ast.Raise)]
    return "\n".join(ast.unparse(one) for one in nodes if not is_empty(one))


def plain(source: str) -> str:
    """Return a cell's text without blanks at the ends of its lines and empty lines around it."""
    return "\n".join(line.rstrip() for line in source.strip().splitlines())


@lru_cache(maxsize=2_000)
def statements(source: str) -> tuple[str, ...]:
    """Return what defines something at a cell's top level, as texts without comments."""
    try:
        tree = parse_code(source)
        nodes = [one for one in (tree.body if tree else ()) if isinstance(one, DEFINES)]
        return tuple(ast.unparse(one) for one in nodes if not is_empty(one))
    except (ValueError, RecursionError, MemoryError):
        return ()  # it does not run either


def is_empty(node: ast.stmt) -> bool:
    """Tell whether a statement defines nothing yet: a function that is to be written, a None."""
    match node:
        case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body):
            return all(
                isinstance(one, ast.Pass)
                or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
                or (isinstance(one, ast.Raise) and "NotImplementedError" in ast.dump(one))
                for one in body
            )
        case ast.Assign(value=ast.Constant(value=None)):
            return True
    return False
