"""Cut an answer out of the library: a function, a text of SQL or a pipeline, for a notebook's cell.

`ast` and the file are read, never the imported object: decorated components have no source for
`inspect`, and comments above a definition would leak the answer. The part that a learner writes is
put between nbgrader's markers, so that `ClearSolutions` makes the stub. ruff says which imports are
needed, and sorts them. The statement of an exercise is a function's docstring, and the comment at
the head of a text of SQL.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import symtable
import sys
import tempfile
from collections.abc import Collection, Mapping
from itertools import groupby
from pathlib import Path

from course_lib.teaching.notebooks.cells import BEGIN, END, SQL_BEGIN, SQL_END
from course_lib.teaching.notebooks.project import BuildError, Project
from course_lib.teaching.taught import find_answer, kfp_decorators, line_of, sql_literal, sql_of

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


def cut(
    project: Project,
    module: str,
    name: str,
    *,
    earlier: Collection[str] = (),
    given: Mapping[str, str] | None = None,
) -> str:
    """Return the source of an exercise cell for an answer of the library.

    Parameters
    ----------
    project
        Whose library.
    module, name
        What the source's cell imports.
    earlier
        Names that earlier exercises of this notebook define. These are not imported: the learner's
        own is used.
    given
        The last line ``up to`` which it is given to the learner, and of a text of SQL the beginning
        of the line ``from`` which; between them, ``lines`` that match a regular expression. Without
        them that is the docstring, or the comment at its head.

    Raises
    ------
    BuildError
        The name is not defined there, has no statement of the exercise, or needs a name that nobody
        defines.
    """
    path = project.module_file(module)
    if path is None:
        raise BuildError(f"{module} is not a module of this project")
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text, filename=path.name)
    node = find_answer(text, name)
    if node is not None and (query := sql_of(node, path.parent)[0]):
        return f"{name} = {_sql_piece(name, query, given or {})}"
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        raise BuildError(
            f"{module} does not define a function {name}",
            hint="An exercise is a function or a text of SQL: import it from the module that holds "
            "its source.",
        )
    piece = _piece(text.split("\n"), node, module, given or {})  # lines as ast counts them
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


def _piece(
    lines: list[str],
    node: ast.FunctionDef | ast.AsyncFunctionDef,
    module: str,
    given: Mapping[str, str],
) -> str:
    """Return the source of a function, with markers around what the learner writes."""
    if ast.get_docstring(node) is None:
        raise BuildError(
            f"{node.name} in {module} has no docstring",
            hint="The docstring is the statement of the exercise.",
        )
    if len(node.body) < 2:
        raise BuildError(f"{node.name} in {module} has no body to write")
    docstring = node.body[0]
    head = docstring.end_lineno or 0
    if given:
        try:
            head += [line.strip() for line in lines[head : node.end_lineno]].index(given["up to"])
        except (KeyError, ValueError):
            raise BuildError(f"{node.name} has no line {given}") from None
        head += 1
    # kfp would run the stub of a pipeline at once: the lab decorates it below.
    first = (node.lineno if kfp_decorators(node) else line_of(node)) - 1
    # What is given may end inside a block.
    after = next(line for line in lines[head : node.end_lineno] if line.strip())
    indent = " " * (len(after) - len(after.lstrip()))
    return "\n".join(
        [
            *lines[first:head],
            indent + BEGIN,
            *lines[head : node.end_lineno],
            indent + END,
        ]
    )


def _sql_piece(name: str, query: str, given: Mapping[str, str]) -> str:
    """Return a text of SQL as Python, with markers around what the learner writes."""
    lines = query.strip("\n").split("\n")
    head = next((at for at, one in enumerate(lines) if not one.startswith("--")), len(lines))
    end = len(lines)
    if given:
        try:
            head = [line.strip() for line in lines].index(given["up to"]) + 1
            if "from" in given:
                end = next(at for at in range(head, end) if lines[at].startswith(given["from"]))
        except (ValueError, StopIteration):
            raise BuildError(f"{name} has no lines between {given}") from None
    if not head or not "".join(lines[head:]).strip():
        raise BuildError(
            f"{name} does not begin with a comment, or has nothing to write after it",
            hint="The comment at the head of a text of SQL is the statement of the exercise.",
        )
    marked = lines[:head]
    between = re.compile(given.get("lines", r"(?!)"))
    for is_given, group in groupby(lines[head:end], lambda one: bool(between.search(one))):
        part = list(group)
        marked += part if is_given else [SQL_BEGIN, *part, SQL_END]
    marked += lines[end:]
    return sql_literal("\n" + "\n".join(marked) + "\n")


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
