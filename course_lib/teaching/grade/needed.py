"""Which cells a grade depends on, so that the lab's demonstrations need not run for it.

A check needs the cells that bind the names it reads, and those that bind the names these read, the
learner's answers among them. Where names may come about in other ways than can be read off the
source (a star import, `exec`, a magic), everything is needed.
"""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

UNREADABLE = {"exec", "eval", "globals", "locals", "vars", "get_ipython", "__import__", "setattr"}
"""Names whose use by the master's own cells makes reading the source pointless."""


HARMLESS = {"print", "display", "repr", "len"}
"""Functions that do not change what they are given."""


@dataclass(frozen=True)
class Block:
    """A code cell: what runs, whether it has to, and whether the learner wrote it."""

    source: str
    always: bool
    answer: bool = False


def needed_sources(blocks: Sequence[Block]) -> list[str | None]:
    r"""Return for each code cell what of it has to run: all, some of its statements, or None.

    Parameters
    ----------
    blocks
        The notebook's code cells in order; `always` for checks, answers and locked set-up cells.

    Examples
    --------
    >>> cells = ["import math", "print('look')\nn = 3", "def f(): return math.pi * n", "assert f()"]
    >>> needed_sources([Block(c, c.startswith(("def", "assert"))) for c in cells])
    ['import math', 'n = 3', 'def f(): return math.pi * n', 'assert f()']
    """
    names = [_names(block.source) for block in blocks]
    if any(one is None and not block.answer for block, one in zip(blocks, names, strict=True)):
        return [block.source for block in blocks]
    parts: list[_Part] = []
    for cell, block in enumerate(blocks):
        whole = block.always or block.answer
        sources = [block.source] if whole else _statements(block.source)
        for source in sources:
            # A learner's syntax error has no names: nothing of it runs.
            parts.append(_Part(cell, source, _names(source) or _NOTHING, block.always))
    kept = _needed(parts)
    found: list[str | None] = []
    for cell, block in enumerate(blocks):
        own = [part.source for part in kept if part.cell == cell]
        count = sum(part.cell == cell for part in parts)
        found.append(None if not own else block.source if len(own) == count else "\n".join(own))
    return found


def bound_names(source: str) -> frozenset[str]:
    """Return the names that a cell gives a meaning to; none where it cannot be read."""
    names = _names(source)
    return names.bound if names else frozenset()


def read_names(source: str) -> frozenset[str]:
    """Return the names that a cell reads; none where it cannot be read."""
    names = _names(source)
    return names.read if names else frozenset()


@dataclass(frozen=True, eq=False)
class _Part:
    """A cell, or one statement of a cell."""

    cell: int
    source: str
    names: _Names
    always: bool


def _needed(parts: Sequence[_Part]) -> list[_Part]:
    needed = {place for place, part in enumerate(parts) if part.always}
    bound = [
        frozenset().union(*(other.names.bound for other in parts if other.cell == part.cell))
        for part in parts
    ]
    # What a function reads counts when it is called, so names count up to the check that is served.
    for last in sorted(needed):
        reached, waiting = {last}, [last]
        while waiting:
            wanted = parts[waiting.pop()].names
            for place in range(last):
                other = parts[place].names
                # `kept.append(x)` may change a name of its own cell without binding it.
                gives = other.bound | other.changed | (other.touched & bound[place])
                if place not in reached and (wanted.read | wanted.changed) & gives:
                    reached.add(place)
                    waiting.append(place)
        needed |= reached
    return [part for place, part in enumerate(parts) if place in needed]


def _statements(source: str) -> list[str]:
    """Return the statements of a cell, each with its decorators and without comments around it."""
    lines = source.split("\n")
    found: list[str] = []
    previous = 0
    for node in ast.parse(source).body:
        above = [decorator.lineno for decorator in getattr(node, "decorator_list", [])]
        first = min([node.lineno, *above])
        if found and node.col_offset:  # `a = 1; b = 2` is one
            found.pop()
            first = previous
        previous = first
        found.append("\n".join(lines[first - 1 : node.end_lineno]))
    return found or [source]


@dataclass(frozen=True)
class _Names:
    read: frozenset[str]
    bound: frozenset[str]
    changed: frozenset[str]
    touched: frozenset[str]


_NOTHING = _Names(frozenset(), frozenset(), frozenset(), frozenset())


@lru_cache(maxsize=500)
def _names(source: str) -> _Names | None:
    """Return the names that a cell reads, binds, changes (``x.a = …``) and touches (``x.a()``)."""
    try:
        tree = ast.parse(source)
        table = symtable.symtable(source, "<cell>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if any(isinstance(node, ast.ImportFrom) and _is_star(node) for node in ast.walk(tree)):
        return None
    read, bound = set(), set()
    for scope in _scopes(table):
        for symbol in scope.get_symbols():
            top = scope is table
            if symbol.is_referenced() and (top or symbol.is_global()):
                read.add(symbol.get_name())
            if (top and (symbol.is_assigned() or symbol.is_imported())) or (
                symbol.is_declared_global() and symbol.is_assigned()
            ):
                bound.add(symbol.get_name())
    if read & UNREADABLE:
        return None
    changed, touched = read & set(_changed(tree)), read & set(_touched(tree))
    return _Names(frozenset(read), frozenset(bound), frozenset(changed), frozenset(touched))


def _changed(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            inner: ast.AST = node
            while isinstance(inner, ast.Attribute | ast.Subscript):
                inner = inner.value
            if isinstance(inner, ast.Name):
                yield inner.id


def _touched(tree: ast.AST) -> Iterator[str]:
    """Yield the names whose methods are called, or that a statement passes to a function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if isinstance(node.func.value, ast.Name):
                yield node.func.value.id
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            if isinstance(node.value.func, ast.Name) and node.value.func.id in HARMLESS:
                continue
            yield from (one.id for one in node.value.args if isinstance(one, ast.Name))


def _scopes(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _scopes(child)


def _is_star(node: ast.ImportFrom) -> bool:
    return any(alias.name == "*" for alias in node.names)
