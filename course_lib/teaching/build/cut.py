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
import symtable
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path

from course_lib.teaching.build.project import BuildError, Project

BEGIN = "### BEGIN SOLUTION"
END = "### END SOLUTION"
SQL_BEGIN = "-- BEGIN SOLUTION"
"""Within a text of SQL, up to ``-- END SOLUTION``."""

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


def cut(project: Project, module: str, name: str, *, earlier: Collection[str] = ()) -> str:
    """Return the source of an exercise cell for a function of the library.

    Parameters
    ----------
    project
        Whose library.
    module, name
        What the source's cell imports.
    earlier
        Names that earlier exercises of this notebook define. These are not imported: the learner's
        own is used.

    Raises
    ------
    BuildError
        The name is not defined there, has no docstring, or needs a name that nobody defines.
    """
    path = project.module_file(module)
    if path is None:
        raise BuildError(f"{module} is not a module of this project")
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text, filename=path.name)
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    found = [node for node in tree.body if isinstance(node, kinds) and node.name == name]
    if not found:
        raise BuildError(
            f"{module} does not define a function {name}",
            hint="An exercise is a function: import it from the module that holds its source.",
        )
    piece = _piece(text.split("\n"), found[-1], module)  # lines as ast counts them
    head, undefined = _needed(_import_lines(module, text, tree, {name, *earlier}), piece)
    for one in undefined:
        if one not in earlier:
            raise BuildError(f"{module} uses {one}, which it neither defines nor imports")
    return "\n\n\n".join([head] * bool(head) + [piece])


def _import_lines(module: str, text: str, tree: ast.Module, without: Collection[str]) -> list[str]:
    """Return a line that imports it for each name that a module binds, but for some."""
    scope = symtable.symtable(text, module, "exec")
    own = {symbol.get_name() for symbol in scope.get_symbols() if symbol.is_assigned()}
    lines = [f"from {module} import {name}" for name in sorted(own.difference(without))]
    for node in tree.body:
        is_for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for one in node.body if isinstance(node, ast.If) and is_for_types else [node]:
            if isinstance(one, ast.Import | ast.ImportFrom):
                source = f"from {one.module} " if isinstance(one, ast.ImportFrom) else ""
                for alias in one.names:
                    if (alias.asname or alias.name.split(".")[0]) not in {*own, *without}:
                        lines.append(f"{source}import {ast.unparse(alias)}")
    return lines


def _piece(lines: list[str], node: ast.FunctionDef | ast.AsyncFunctionDef, module: str) -> str:
    """Return the source of a function, with markers around what the learner writes."""
    if ast.get_docstring(node) is None:
        raise BuildError(
            f"{node.name} in {module} has no docstring",
            hint="The docstring is the statement of the exercise.",
        )
    if len(node.body) < 2:
        raise BuildError(f"{node.name} in {module} has no body to write")
    docstring = node.body[0]
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1
    indent = " " * docstring.col_offset
    return "\n".join(
        [
            *lines[first : docstring.end_lineno],
            indent + BEGIN,
            *lines[docstring.end_lineno : node.end_lineno],
            indent + END,
        ]
    )


def _needed(lines: list[str], piece: str) -> tuple[str, list[str]]:
    """Return the import lines that are used, and the names that are not defined."""
    mark = "__all__ = []\n"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cell.py"
        file.write_text(DEFERRED + "\n".join([*lines, mark, piece]) + "\n", encoding="utf-8")
        done = subprocess.run(
            [*_RUFF, str(file)], capture_output=True, encoding="utf-8", check=True
        )
        head = file.read_text(encoding="utf-8").partition(mark)[0].removeprefix(DEFERRED).strip()
    found = [one["message"] for one in json.loads(done.stdout) if one["code"] == "F821"]
    return head, [message.split("`")[1] for message in found]
