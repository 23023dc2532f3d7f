"""The names of a piece of Python: what it reads of its module, and what it gives a meaning to."""

from __future__ import annotations

import symtable
from functools import lru_cache


def read_names(source: str) -> frozenset[str]:
    r"""Return the names that a cell or a module reads; none where it is not Python.

    Examples
    --------
    >>> sorted(read_names("def f(a: int):\n    b = a + c\n    return len(b)"))
    ['c', 'int', 'len']
    """
    return _names(source)[0]


def bound_names(source: str) -> frozenset[str]:
    r"""Return the names that a cell or a module gives a meaning to; none where it is not Python.

    Examples
    --------
    >>> sorted(bound_names("import math\ndef f(a):\n    global n\n    n = b = a"))
    ['f', 'math', 'n']
    """
    return _names(source)[1]


@lru_cache(maxsize=500)
def _names(source: str) -> tuple[frozenset[str], frozenset[str]]:
    try:
        scopes = [symtable.symtable(source, "<cell>", "exec")]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset(), frozenset()
    module = scopes[0]
    read, bound = set(), set()
    for scope in scopes:
        scopes += scope.get_children()
        for symbol in scope.get_symbols():
            if scope is module or symbol.is_global():
                read |= {symbol.get_name()} if symbol.is_referenced() else set()
                binds = symbol.is_assigned() or symbol.is_imported()
                bound |= {symbol.get_name()} if binds else set()
    return frozenset(read), frozenset(bound)
