"""Make the two notebooks of a lab from its source, without outputs.

One is the solution, still to be executed, the other the learner's version: what nbgrader's own
preprocessors make of the solution, so that an instructor who feeds `solutions/` to nbgrader
releases the same notebook. No file is written here, and nothing is executed.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from course_lib.teaching.notebooks.cells import BEGIN, defined_names, first_line, parse_code
from course_lib.teaching.notebooks.project import BuildError, LabSource, Project
from course_lib.teaching.notebooks.release import WITHHELD, released
from infra.course.build.cut import cut
from infra.course.build.recap import add_kept
from infra.course.build.source import MINUTES, Cell, Role, read_cells, read_meta
from infra.course.build.times import minutes_of

if TYPE_CHECKING:
    from nbformat import NotebookNode

GIVEN = re.compile(r"^# Given (up to|lines|from): *(.*)$", re.MULTILINE)
"""Between which lines of a text of SQL the learner's part is, and which of these are given."""

KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
COMPARED = "nbval-check-output"
IGNORED = "nbval-ignore-output"
LANGUAGE = {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"}


@dataclass(frozen=True)
class Assembled:
    """The two notebooks of a lab, without outputs.

    Attributes
    ----------
    source
        The lab.
    solution, lab
        The notebooks. The solution's metadata bear ``course.executed``, the hash of all that its
        outputs depend on.
    lines
        The line of the source in which each cell begins, by the cell's id.
    """

    source: LabSource
    solution: NotebookNode
    lab: NotebookNode
    lines: Mapping[str, int]


def assemble(source: LabSource, project: Project) -> Assembled:
    """Make the notebooks of one lab.

    Raises
    ------
    BuildError
        The source breaks a rule of this package's docstring; the message names the cell.
    """
    import nbformat

    cells = read_cells(source)
    exercises = project.checks(source.lab)
    sources, builds = _sources(source, cells, project)
    minutes = _minutes(cells, sources)
    meta = read_meta(source, cells, builds, minutes)
    solution = nbformat.v4.new_notebook()
    taken: set[str] = set()
    for cell, text in zip(cells, sources, strict=True):
        make = nbformat.v4.new_markdown_cell if cell.role == "prose" else nbformat.v4.new_code_cell
        node = make(text, id=_unique(_cell_id(cell, text), taken))
        if not solution.cells:
            node.source = text.replace(MINUTES, str(minutes))
        if tags := _tags(cell):
            node.metadata["tags"] = tags
        if nbgrader := _nbgrader(cell, node.id, exercises, source):
            node.metadata["nbgrader"] = nbgrader
        solution.cells.append(node)
    solution.metadata.update(kernelspec=dict(KERNELSPEC), language_info=dict(LANGUAGE), course=meta)
    lab = _learners(solution, source)
    solution.metadata["course"]["executed"] = _fingerprint(
        solution, project.checks_text(source.lab)
    )
    nbformat.validate(solution)
    nbformat.validate(lab)
    lines = {node.id: cell.line for node, cell in zip(solution.cells, cells, strict=True)}
    return Assembled(source, solution, lab, lines)


def _minutes(cells: Sequence[Cell], sources: Sequence[str]) -> int:
    texts: dict[str, list[str]] = {"prose": [], "code": [], "exercise": []}
    for cell, text in zip(cells, sources, strict=True):
        if WITHHELD.isdisjoint(cell.tags):
            texts[cell.role if cell.role in texts else "code"].append(text)
    return minutes_of(texts["prose"], texts["code"], texts["exercise"])


def _sources(
    source: LabSource, cells: Sequence[Cell], project: Project
) -> tuple[list[str], list[str]]:
    """Return the text of each cell, exercises filled in, and the modules that were shown."""
    earlier: set[str] = set()
    seen: set[str] = set()
    texts: list[str] = []
    builds: list[str] = []
    for cell in cells:
        text = cell.source
        if cell.role == "exercise":
            where = f"{source.path.name}, exercise {cell.exercise}"
            if cell.exercise in seen:
                raise BuildError(f"{where}: there are two exercises of this number")
            seen.add(cell.exercise)
            try:
                if BEGIN in text:
                    earlier |= defined_names(text)
                else:
                    module, name = _imported(text)
                    given = dict(GIVEN.findall(text))
                    text = cut(project, module, name, earlier=earlier, given=given)
                    earlier.add(name)
                    path = "/".join(module.split(".")[1:]) + ".py"
                    builds += [path] * (path not in builds)
            except BuildError as error:
                raise BuildError(f"{where}: {error.args[0]}", hint=error.hint) from None
        elif cell.role == "prose":
            text = add_kept(text, project.checks(source.lab).values())
        texts.append(text)
    return texts, builds


def _imported(text: str) -> tuple[str, str]:
    tree = parse_code(text)
    body = tree.body if tree else []
    if len(body) == 1 and isinstance(node := body[0], ast.ImportFrom) and not node.level:
        if [alias.asname for alias in node.names] == [None]:
            return node.module or "", node.names[0].name
    raise BuildError(
        "the cell is neither one `from module import name` nor holds a solution",
        hint=f"Put what the learner writes between `{BEGIN}` and `### END SOLUTION`.",
    )


def _cell_id(cell: Cell, text: str) -> str:
    fixed: dict[Role, str] = {
        "exercise": "exercise-" + cell.exercise.replace(".", "-"),
        "check": "check-" + cell.exercise.replace(".", "-"),
        "parameters": "parameters",
        "setup": "setup",
    }
    if cell.role in fixed:
        return fixed[cell.role]
    digest = hashlib.sha256(f"{cell.role}\n{text}".encode()).hexdigest()
    return f"{cell.role}-{digest[:10]}"


def _tags(cell: Cell) -> list[str]:
    """Return a cell's tags; nbval compares what the source says and nothing else."""
    if cell.role == "prose" or COMPARED in cell.tags:
        return list(cell.tags)
    return [*cell.tags, IGNORED]


def _unique(wanted: str, taken: set[str]) -> str:
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}-{number}"
    taken.add(name)
    return name


def _nbgrader(
    cell: Cell, cell_id: str, exercises: Mapping[str, Any], source: LabSource
) -> dict[str, Any] | None:
    if cell.role not in ("exercise", "check", "setup"):
        return None
    if cell.role != "setup" and cell.exercise not in exercises:
        raise BuildError(
            f"{source.path.name}: exercise {cell.exercise} has no checks",
            hint=f"The checks of lab {source.lab} know {', '.join(exercises) or 'no exercise'}.",
        )
    metadata: dict[str, Any] = {
        "grade": cell.role == "check",
        "grade_id": cell_id,
        "locked": cell.role != "exercise",
        "schema_version": 3,
        "solution": cell.role == "exercise",
        "task": False,
    }
    if cell.role == "check":
        metadata["points"] = exercises[cell.exercise].points
    return metadata


def _learners(solution: NotebookNode, source: LabSource) -> NotebookNode:
    """Return the learner's version, whose stubs must wait until they are called."""
    lab = released(solution, source.path.name)
    for cell in lab.cells:
        if cell.metadata.get("nbgrader", {}).get("solution"):
            tree = parse_code(cell.source)
            if tree is None or any(isinstance(node, ast.Raise) for node in tree.body):
                raise BuildError(
                    f"{source.path.name}, {cell.id} ({first_line(cell.source)!r}): its stub "
                    "does not stay quiet until it is called",
                    hint="An exercise is a function; the solution's region is the function's body.",
                )
    return lab


def _fingerprint(solution: NotebookNode, checks: str) -> str:
    """Return the hash of what the outputs depend on: the code cells, their tags, the checks."""
    code = [
        [cell.source, cell.metadata.get("tags", [])]
        for cell in solution.cells
        if cell.cell_type == "code"
    ]
    return hashlib.sha256(json.dumps([code, checks]).encode("utf-8")).hexdigest()[:16]
