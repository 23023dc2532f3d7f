"""The final version of what an exercise asks for: out of the library, or out of the lab's solution.

An exercise whose answer is not a library function is in `solutions/NN_name.py` alone; its cell is
compiled from there, so that the reference exists once.
"""

from __future__ import annotations

import ast
import importlib
import linecache
import re
from pathlib import Path
from typing import Any

from course_lib.errors import InputError
from course_lib.settings import project_root
from course_lib.teaching.checks import Exercise
from course_lib.teaching.taught import function_of, unpacked_text

PACKED = "course_lib/teaching/lab/packed"
"""Where the solutions' sources are in a copy for learners, which has no folder `solutions/`."""

CELL = re.compile(r"^# %%(.*)$", re.MULTILINE)
MAGIC = re.compile(r"^\s*(?:!|%(?!\()).*$", re.MULTILINE)
"""A line for IPython; in a text of SQL, a line may begin with a placeholder."""


def reference(lab_id: str, exercise: Exercise) -> Any:
    """Return the final version of what an exercise asks for.

    Of a pipeline or a component, that is the function without kfp's decorator.

    Parameters
    ----------
    lab_id
        Two digits.
    exercise
        Which one.

    Raises
    ------
    InputError
        If the lab's solution is not there or does not hold the exercise.
    """
    if exercise.library is not None:
        module, _, name = exercise.library.partition(":")
        return function_of(getattr(importlib.import_module(module), name))
    path = solution_path(lab_id)
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".packed":
        text = unpacked_text(text)
    return from_solution(text, exercise, str(path))


def solution_path(lab_id: str) -> Path:
    """Return where a lab's solution (the source of its notebooks) is.

    Raises
    ------
    InputError
        If there is none.
    """
    root = project_root()
    found = sorted((root / "solutions").glob(f"{lab_id}_*.py"))
    found = found or sorted((root / PACKED).glob(f"{lab_id}_*.packed"))
    if not found:
        raise InputError(
            f"There is no solutions/{lab_id}_*.py", hint="Restore it: git checkout -- solutions"
        )
    return found[0]


def from_solution(source: str, exercise: Exercise, file: str = "<solution>") -> Any:
    """Compile an exercise's cell out of a solution in percent format and return what it defines.

    Before it run the imports, the constants and the exercises of the cells above: all that an
    exercise may refer to.

    Parameters
    ----------
    source
        The text of the solution.
    exercise
        Which one.
    file
        Shown in tracebacks.

    Raises
    ------
    InputError
        If there is no cell with that exercise's id, or it does not define the name.

    Examples
    --------
    >>> text = '''# %% exercise="1.1"
    ... def double(x):
    ...     return 2 * x
    ... '''
    >>> from course_lib.teaching.checks.drawn import Drawn
    >>> from_solution(text, Exercise("1.1", "double", tuple, Drawn()))(4)
    8
    """
    names = names_above(source, exercise, file)
    if exercise.name in names:
        return names[exercise.name]
    raise InputError(f"The solution of this exercise defines no {exercise.name}")


def names_above(source: str, exercise: Exercise, file: str = "<solution>") -> dict[str, Any]:
    """Return what the cells of a solution define up to that of an exercise, as `from_solution`."""
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"__name__": f"solution_{exercise.id}"}
    before, *cells = CELL.split(source)
    for header, text in zip(cells[::2], cells[1::2], strict=True):
        line, before = before.count("\n"), f"{before}{text}"
        if "[markdown]" in header:
            continue
        found = re.search(r'exercise="([^"]+)"', header)
        code = "\n" * line + MAGIC.sub("", text)
        tree = ast.parse(code, filename=file)
        if found is None:
            tree.body = [node for node in tree.body if _is_ground(node)]
        exec(compile(tree, file, "exec", dont_inherit=True), namespace)
        if found is not None and found[1] == exercise.id:
            return namespace
    raise InputError(f"{file} has no cell with exercise={exercise.id!r}")


def _is_ground(node: ast.stmt) -> bool:
    """Tell whether a statement is an import or gives a literal a name in capitals."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    if not isinstance(node, ast.Assign):
        return False
    capitals = all(isinstance(name, ast.Name) and name.id.isupper() for name in node.targets)
    try:
        ast.literal_eval(node.value)
    except ValueError:
        return False
    return capitals
