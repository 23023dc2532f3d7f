"""The source of a learner's answer with all that it needs: a function or SQL in, a text out.

What it needs is found by name. What another module defines is imported from there; helper
functions and classes are copied with their source; a value is written as a literal, or, where it
reads back from none, as the statement of a cell that computes it.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import linecache
import re
import types
from collections.abc import Iterator, Mapping
from typing import Any

from course_lib.teaching import taught
from course_lib.teaching.lab.own import notebook_shell
from course_lib.teaching.names import bound_names, read_names

DEFINITIONS = taught.DEFINITIONS
IMPORTS = (ast.Import, ast.ImportFrom)

LONGEST_VALUE = 2_000
"""Characters of a value that is written as a literal, at most."""


class NoSourceError(Exception):
    """What is given cannot be written down; the message says why."""


def source_of(given: Any, name: str, places: Mapping[str, str]) -> str:
    """Return a text that defines a function, a text of SQL or a pipeline by itself.

    Parameters
    ----------
    given
        What the learner wrote; the decorator of a pipeline or a component is left out.
    name
        What it is to be called.
    places
        Where to import a name from, whatever it is in the notebook: ``module:name``.

    Raises
    ------
    NoSourceError
        If something that it needs cannot be written down.
    """
    if isinstance(given, str):
        return f"{name} = {taught.sql_literal(given)}\n"
    function = inspect.unwrap(taught.function_of(given))
    if not isinstance(function, types.FunctionType):
        raise NoSourceError(f"{name} is a {type(given).__name__} and no function")
    if function.__code__.co_freevars:
        raise NoSourceError(f"{name} is defined within another function")
    source = _Source(function.__globals__, {key: places[key] for key in places if key != name})
    source.add_function(function, name)
    imports = "\n".join(sorted(set(source.imports)))
    parts = [imports, "\n".join(source.values), *source.definitions]
    return "\n\n\n".join(part for part in parts if part) + "\n"


class _Source:
    """What has been written so far, each name once, what is needed before what needs it."""

    def __init__(self, namespace: dict[str, Any], places: Mapping[str, str]) -> None:
        self.namespace = namespace
        self.places = places
        self.imports: list[str] = []
        self.values: list[str] = []
        self.definitions: list[str] = []
        self._seen: set[str] = set()
        self._cells = list(_cells(namespace))

    def add_function(self, function: types.FunctionType, name: str) -> None:
        # Its own cell, and not one that binds the name to what `lab.use` returned.
        found = self._bound(function.__name__, DEFINITIONS) or self._bound(name)
        if found is None:
            raise NoSourceError(f"the source of {name} is not there")
        node, text = found
        if taught.kfp_decorators(node):  # the library's own decorate it
            text = "\n".join(text.split("\n")[node.lineno - taught.line_of(node) :])
        self._seen |= {name, function.__name__}
        self._add(node, text)
        if isinstance(node, DEFINITIONS) and node.name != name:
            self.definitions.append(f"{name} = {node.name}")

    def _add(self, node: ast.stmt, text: str) -> None:
        """Add a statement after all that it needs."""
        if isinstance(node, IMPORTS):
            self.imports.append(text)
            return
        for needed in sorted(read_names(text)):
            self._add_name(needed)
        (self.definitions if isinstance(node, DEFINITIONS) else self.values).append(text)

    def _add_name(self, name: str) -> None:
        """Add what a name means in the notebook, by the first way in which it can be written."""
        if name in self._seen or not self._is_the_learners(name):
            return
        self._seen.add(name)
        if name in self.places:
            module, _, original = self.places[name].partition(":")
            self.imports.append(f"from {module} import {original}")
            return
        value, bound = self.namespace[name], self._bound(name)
        if type(value).__module__.startswith("course_lib.teaching"):
            raise NoSourceError(f"it uses {name}, which is there in a notebook only")
        if bound and isinstance(bound[0], IMPORTS):
            self._add(*bound)
        elif line := _import_of(name, value):
            self.imports.append(line)
        elif isinstance(value, types.FunctionType) and value.__name__ != "<lambda>":
            self.add_function(value, name)
        elif literal := _literal(value):  # it may have changed since a cell gave it
            self.values.append(f"{name} = {literal}")
        elif bound:
            self._add(*bound)
        else:
            kind = type(value).__name__
            raise NoSourceError(f"it uses {name}, of the type {kind}, which cannot be written down")

    def _is_the_learners(self, name: str) -> bool:
        """Tell whether a name means something of the notebook's, and nothing of Python's own."""
        if name not in self.namespace:  # a builtin, or missing in the notebook as well
            return name in self.places
        same = self.namespace[name] is getattr(builtins, name, self)
        # IPython has an `open` of its own, which no cell has bound.
        return not same and (not hasattr(builtins, name) or self._bound(name) is not None)

    def _bound(self, name: str, kinds: tuple[type, ...] = ()) -> tuple[ast.stmt, str] | None:
        """Return the last statement that gave a name its value, if it can be copied alone.

        With `kinds`, the last of these kinds.
        """
        for text in self._cells:
            if found := _statement(text, name, kinds):
                copied = (*DEFINITIONS, *IMPORTS, ast.Assign, ast.AnnAssign)
                return found if isinstance(found[0], copied) else None
        return None


def _cells(namespace: Mapping[str, Any]) -> Iterator[str]:
    """Yield the cells that have run, the last first; without a notebook the file that runs."""
    shell = notebook_shell()
    if shell is not None and shell.user_ns is namespace:
        for raw in reversed(shell.history_manager.input_hist_raw):
            yield shell.transform_cell(re.sub(r"\A\s*%%.*\n", "", raw))
    elif file := namespace.get("__file__"):
        yield "".join(linecache.getlines(file))


def _statement(text: str, name: str, kinds: tuple[type, ...] = ()) -> tuple[ast.stmt, str] | None:
    """Return the last statement at a text's top level that gives a name its value."""
    try:
        body = ast.parse(text).body
    except SyntaxError:
        return None
    for node in reversed(body):
        if name in bound_names(ast.unparse(node)) and isinstance(node, kinds or ast.stmt):
            if isinstance(node, IMPORTS):
                kept = [one for one in node.names if (one.asname or one.name.split(".")[0]) == name]
                node.names = kept
                return node, ast.unparse(node)
            lines = text.split("\n")[taught.line_of(node) - 1 : node.end_lineno]
            return node, "\n".join(lines)
    return None


def _import_of(name: str, value: Any) -> str:
    """Return the line that imports a value; empty where no module offers it."""
    if isinstance(value, types.ModuleType):
        return f"import {value.__name__}" + (f" as {name}" if name != value.__name__ else "")
    module: Any = getattr(value, "__module__", None)
    original = getattr(value, "__name__", None)
    if not isinstance(module, str) or not isinstance(original, str) or module == "__main__":
        return ""
    try:
        offered = getattr(importlib.import_module(module), original, None)
    except ImportError:
        return ""
    if offered is not value:
        return ""
    return f"from {module} import {original}" + (f" as {name}" if name != original else "")


def _literal(value: Any) -> str:
    """Return a short value as Python writes it; empty where that does not read back."""
    text = repr(value)
    try:
        reads_back = len(text) <= LONGEST_VALUE and bool(ast.literal_eval(text) == value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        reads_back = False
    return text if reads_back else ""
