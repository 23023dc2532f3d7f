"""The import lines on top of a cell: collected in any order, given merged and sorted."""

from __future__ import annotations

import sys

LINE = 100


class Imports:
    """Import lines, merged and sorted: the standard library, others, the project's own."""

    def __init__(self) -> None:
        self._plain: set[tuple[str, str | None]] = set()
        self._from: dict[str, set[tuple[str, str | None]]] = {}

    def add(self, module: str | None, name: str, asname: str | None) -> None:
        """Add ``from module import name as asname``; ``import name`` where `module` is None."""
        asname = None if asname == name else asname
        if module is None:
            self._plain.add((name, asname))
        elif module != "__future__":
            self._from.setdefault(module, set()).add((name, asname))

    def lines(self) -> list[str]:
        """Return the lines."""

        def spelt(name: str, asname: str | None) -> str:
            return f"{name} as {asname}" if asname else name

        found = [(_rank(name), 0, name, f"import {spelt(name, a)}") for name, a in self._plain]
        for module, names in self._from.items():
            listed = ", ".join(spelt(*pair) for pair in sorted(names, key=lambda pair: pair[0]))
            line = f"from {module} import {listed}"
            if len(line) > LINE:
                inner = listed.replace(", ", ",\n    ")
                line = f"from {module} import (\n    {inner},\n)"
            found.append((_rank(module), 1, module, line))
        return [line for *_, line in sorted(found)]


def _rank(module: str) -> int:
    top = module.split(".")[0]
    if top in sys.stdlib_module_names:
        return 0
    return 2 if top == __name__.split(".")[0] else 1
