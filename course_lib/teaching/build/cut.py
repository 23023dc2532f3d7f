"""Cut a function out of the library, with the imports that it needs in a notebook.

`ast` and the file are read, never the imported object: decorated components have no source for
`inspect`, and comments above a definition would leak the answer. The part that a learner writes is
put between nbgrader's markers, so that `ClearSolutions` makes the stub. ruff says which imports are
needed, and sorts them.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from course_lib.teaching.build.library import Library, Module, Origin
from course_lib.teaching.build.project import BuildError

BEGIN = "### BEGIN SOLUTION"
END = "### END SOLUTION"
RECORDS = "records"
DEFERRED = "from __future__ import annotations\n"

_RUFF = [
    *(sys.executable, "-m", "ruff", "check", "--isolated", "--fix", "--exit-zero"),
    *("--select", "F401,F821,I001", "--output-format", "json", "--line-length", "100"),
    *("--config", 'lint.isort.known-first-party = ["course_lib"]'),
    *("--config", "lint.isort.combine-as-imports = true"),
    *("--config", "lint.isort.split-on-trailing-comma = false"),
    *("--config", "lint.isort.order-by-type = false"),
    *("--config", "lint.isort.case-sensitive = true"),
    *("--config", 'lint.isort.no-lines-before = ["third-party", "first-party"]'),
]
"""Removes imports that are not used, sorts the others, and names what is not defined."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The source of an exercise cell, and the names it defines with where they come from."""

    source: str
    defines: Mapping[str, Origin]


def cut(
    library: Library,
    module_name: str,
    names: Sequence[str],
    *,
    earlier: Mapping[str, Origin | None] | None = None,
) -> Cut:
    """Return the source of an exercise cell for functions of the library.

    Parameters
    ----------
    library
        The project's modules.
    module_name, names
        What the source's cell imports.
    earlier
        Names that earlier exercises of this notebook define, with their origin (None: the notebook
        itself). These are not imported: the learner's own is used.

    Raises
    ------
    BuildError
        The name is not defined there, has no docstring, or needs a name that nobody defines.
    """
    earlier = earlier or {}
    defines: dict[str, Origin] = {}
    pieces: list[str] = []
    modules: list[Module] = []
    wanted: dict[str, str] = {}
    for name in names:
        origin = library.origin(module_name, name)
        module = library.module(origin.module)
        if module is None:
            raise BuildError(f"{origin.module} is not a module of this project")
        node = module.definitions.get(origin.name)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            pieces.append(_piece(module, node))
            modules.append(module)
            defines[origin.name] = origin
        elif isinstance(node, ast.ClassDef) and origin.module.split(".")[-1] != RECORDS:
            raise BuildError(f"{origin.name} is a class", hint="An exercise is a function.")
        elif origin.name in module.assigned:
            wanted[name] = f"from {origin.module} import {origin.name}"
        else:
            raise BuildError(
                f"{origin.module} does not define {origin.name}",
                hint="Import it from the module that holds its source.",
            )
    if not pieces:
        raise BuildError(f"no function among {', '.join(names)} of {module_name}")
    hidden = {*defines, *earlier}
    lines = [line for module in modules for line in module.import_lines(hidden)]
    head, undefined = _needed([*lines, *wanted.values()], list(wanted), pieces)
    for name in undefined:
        _allow(library, modules[0], name, earlier)
    return Cut("\n\n\n".join([head] * bool(head) + pieces), defines)


def _piece(module: Module, node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return the source of a function, with markers around what the learner writes."""
    if ast.get_docstring(node) is None:
        raise BuildError(
            f"{node.name} in {module.name} has no docstring",
            hint="The docstring is the statement of the exercise.",
        )
    if len(node.body) < 2:
        raise BuildError(f"{node.name} in {module.name} has no body to write")
    docstring = node.body[0]
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1
    indent = " " * docstring.col_offset
    return "\n".join(
        [
            *module.lines[first : docstring.end_lineno],
            indent + BEGIN,
            *module.lines[docstring.end_lineno : node.end_lineno],
            indent + END,
        ]
    )


def _needed(lines: Sequence[str], wanted: list[str], pieces: list[str]) -> tuple[str, list[str]]:
    """Return the import lines that are wanted or used, and the names that are not defined."""
    mark = f"__all__ = {wanted!r}\n"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cell.py"
        file.write_text(DEFERRED + "\n".join([*lines, mark, *pieces]) + "\n", encoding="utf-8")
        done = subprocess.run(
            [*_RUFF, str(file)], capture_output=True, encoding="utf-8", check=True
        )
        head = file.read_text(encoding="utf-8").partition(mark)[0].removeprefix(DEFERRED).strip()
    found = [one["message"] for one in json.loads(done.stdout) if one["code"] == "F821"]
    return head, [message.split("`")[1] for message in found]


def _allow(
    library: Library, module: Module, name: str, earlier: Mapping[str, Origin | None]
) -> None:
    """Raise where a name that a cell takes from the notebook is not the one that it means."""
    if name not in earlier:
        raise BuildError(f"{module.name} uses {name}, which it neither defines nor imports")
    if earlier[name] not in (None, library.origin(module.name, name)):
        raise BuildError(
            f"{module.name} uses {name}, and an earlier exercise defines another {name}",
            hint="Two functions of one name cannot both be exercises of one lab.",
        )
