"""The library as text: which module defines a name, and how others come by it.

Modules are parsed and never imported, so that nothing of what they do runs and decorated
components, which `inspect` cannot read, are as plain as the rest.
"""

from __future__ import annotations

import ast
import symtable
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from course_lib.teaching.build.project import Project

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a name is defined: ``Origin("course_lib.loader.recursive", "split_text")``."""

    module: str
    name: str


class Module:
    """One of the project's own modules, read but not imported."""

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self.text = path.read_text(encoding="utf-8")
        self.lines = self.text.split("\n")  # as ast counts them
        self.tree = ast.parse(self.text, filename=path.name)

    @cached_property
    def definitions(self) -> dict[str, Definition]:
        """The functions and classes at the top level."""
        return {node.name: node for node in self.tree.body if isinstance(node, Definition)}

    @cached_property
    def imports(self) -> dict[str, tuple[str, ast.alias]]:
        """Names bound by an import, also under ``if TYPE_CHECKING``, with module and alias.

        The module is empty where a whole module is imported.
        """
        found = {}
        for node in self._statements():
            if isinstance(node, ast.Import | ast.ImportFrom):
                source = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
                for alias in node.names:
                    found[alias.asname or alias.name.split(".")[0]] = source, alias
        return found

    @cached_property
    def assigned(self) -> set[str]:
        """Every other name that the module binds at its top level."""
        scope = symtable.symtable(self.text, self.name, "exec")
        return {symbol.get_name() for symbol in scope.get_symbols() if symbol.is_assigned()}

    def import_lines(self, without: Collection[str]) -> list[str]:
        """Return a line that imports it for each name of the module, but for those of `without`."""
        lines = []
        for name, (source, alias) in self.imports.items():
            if name not in without and name not in self.assigned:
                line = f"import {ast.unparse(alias)}"
                lines.append(f"from {source} {line}" if source else line)
        own = sorted(self.assigned.difference(without))
        return [*lines, *(f"from {self.name} import {name}" for name in own)]

    def _statements(self) -> Iterator[ast.stmt]:
        for node in self.tree.body:
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                yield from node.body
            else:
                yield node


class Library:
    """The modules of a project, each parsed once."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._modules: dict[str, Module | None] = {}

    def module(self, name: str) -> Module | None:
        """Return a module of the project's own; None for any other."""
        if name not in self._modules:
            path = self._project.module_file(name)
            self._modules[name] = Module(name, path) if path else None
        return self._modules[name]

    def origin(self, module_name: str, name: str) -> Origin:
        """Follow re-exports to where a name is defined."""
        module = self.module(module_name)
        if module is None or name in module.definitions or name not in module.imports:
            return Origin(module_name, name)
        source, alias = module.imports[name]
        if not source or self.module(source) is None:
            return Origin(module_name, name)
        return self.origin(source, alias.name)
