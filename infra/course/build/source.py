"""Read a lab's source in jupytext's percent format: its cells, and what its head says.

What a cell is (exercise, check, set-up, parameters) is worked out here once; other modules read
`Cell.role`.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from course_lib.teaching.notebooks.cells import (
    BEGIN,
    as_python,
    calls_in,
    checked_exercise,
    first_line,
    parse_code,
)
from course_lib.teaching.notebooks.project import BuildError, LabSource

Role = Literal["prose", "code", "parameters", "setup", "exercise", "check", "claim"]

_KEYS = {"tags", "exercise"}
_EXERCISE_ID = re.compile(r"\d+\.\d+[a-z]?")
_TITLE = re.compile(r"# (\d\d) · (.+)")


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a source, and the line in which it begins."""

    role: Role
    source: str
    line: int
    tags: tuple[str, ...] = ()
    exercise: str = ""


MINUTES = "{minutes}"
"""Is in the head of a source for the lab's estimated time."""


ELECTIVE = "**Elective.**"
"""Begins the paragraph of a lab's head that says what it adds to the core, and for whom."""


def read_cells(source: LabSource) -> list[Cell]:
    """Return the cells of a source.

    Raises
    ------
    BuildError
        A cell's metadata is not what the builder knows, or the file does not start with a cell.
    """
    import jupytext

    text = source.path.read_text(encoding="utf-8")
    notebook = jupytext.reads(text, fmt="py:percent")
    cells = []
    starts = [at for at, line in enumerate(text.splitlines(), 1) if line.startswith("# %%")]
    for index, node in enumerate(notebook.cells):
        where = f"{source.path.name}, cell {index} ({first_line(node.source)!r})"
        metadata = {key: node.metadata[key] for key in node.metadata if key != "lines_to_next_cell"}
        if unknown := set(metadata) - _KEYS:
            raise BuildError(
                f"{where}: unknown metadata {sorted(unknown)[0]!r}",
                hint=f"A cell may bear {', '.join(sorted(_KEYS))}.",
            )
        exercise = str(metadata.get("exercise", ""))
        if exercise and not _EXERCISE_ID.fullmatch(exercise):
            raise BuildError(f'{where}: an exercise is numbered like "1.2", not {exercise!r}')
        tags = tuple(metadata.get("tags", ()))
        cells.append(
            Cell(
                role=_role(node.cell_type, node.source, tags, exercise, where),
                source=node.source.strip("\n"),
                line=starts[index] + 1 if len(starts) == len(notebook.cells) else 1,
                tags=tags,
                exercise=exercise or (checked_exercise(node.source) or ""),
            )
        )
    if not cells or cells[0].role != "prose":
        raise BuildError(
            f"{source.path.name} does not start with a text cell",
            hint="The first line is `# %% [markdown]`; the cell begins with `# # NN · Title`.",
        )
    return cells


def read_meta(
    source: LabSource, cells: Sequence[Cell], builds: list[str], minutes: int
) -> dict[str, Any]:
    """Return what the head of a lab says about it: ``course`` in the notebooks' metadata.

    Parameters
    ----------
    source, cells
        The lab.
    builds
        The modules that its exercises show: what it builds, unless the table has a column
        ``Builds``.
    minutes
        How long it takes.

    Raises
    ------
    BuildError
        The title, the promise or the table is missing, or not as this package's docstring says.
    """
    head: list[str] = []
    for cell in cells:
        if cell.role != "prose":
            break
        head.append(cell.source)
    blocks = [block.strip() for block in "\n\n".join(head).split("\n\n") if block.strip()]
    title = _TITLE.fullmatch(blocks[0].splitlines()[0])
    if title is None or title[1] != source.lab:
        raise BuildError(
            f"{source.path.name}: the title is {blocks[0].splitlines()[0]!r}",
            hint=f"It reads `# {source.lab} · Where to cut`.",
        )
    promise = next((block for block in blocks[1:] if re.match(r"[\w*_]", block)), "")
    if not promise:
        raise BuildError(f"{source.path.name}: no paragraph of promise follows the title")
    elective = next((block for block in blocks if block.startswith(ELECTIVE)), "")
    row = _head_table(source, blocks)
    objectives = [part.strip() for part in row["you will be able to"].split("·") if part.strip()]
    if MINUTES not in row.get("time", "") or not objectives:
        raise BuildError(
            f"{source.path.name}: the table at the head gives no objectives or no time",
            hint=f"Objectives are separated by ` · `, the time is `about {MINUTES} min`.",
        )
    named = [part.strip().strip("`") for part in row.get("builds", "").split("·") if part.strip()]
    return {
        "lab": source.lab,
        "title": title[2].strip(),
        "promise": " ".join(promise.split()),
        "objectives": objectives,
        "minutes": minutes,
        "needs": row.get("needs", ""),
        "builds": named or builds,
        "elective": " ".join(elective.removeprefix(ELECTIVE).split()),
    }


def code_lines(source: str) -> int:
    r"""Return how many lines of a code cell hold code: no blank lines, comments or docstrings.

    Comments of SQL, which are within a text, do not count, either.

    Examples
    --------
    >>> code_lines('def f():\n    "Say."\n\n    # why\n    return 1')
    2
    """
    tree = parse_code(source)
    if tree is None:
        return len([line for line in source.splitlines() if line.strip()])
    comments = enumerate(source.splitlines(), start=1)
    docstrings = {number for number, line in comments if line.lstrip().startswith("--")}
    for node in ast.walk(tree):
        kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        if isinstance(node, kinds) and ast.get_docstring(node) is not None:
            text = node.body[0]
            docstrings.update(range(text.lineno, (text.end_lineno or 0) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(as_python(source)).readline):
        if token.type != tokenize.COMMENT and token.string.strip():
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - docstrings)


def _role(kind: str, source: str, tags: Sequence[str], exercise: str, where: str) -> Role:
    if kind == "markdown":
        if exercise:
            raise BuildError(f"{where}: an exercise is a code cell")
        return "prose"
    if kind != "code":
        raise BuildError(f"{where}: a {kind} cell has no place in a lab")
    if exercise:
        return "exercise"
    if BEGIN in source:
        raise BuildError(f'{where}: a solution in a cell without exercise="…"')
    if "parameters" in tags:
        return "parameters"
    if "claim" in tags:
        return "claim"
    if checked_exercise(source):
        return "check"
    starts = any(
        isinstance(call.func, ast.Name) and call.func.id == "start" for call in calls_in(source)
    )
    return "setup" if starts else "code"


def _head_table(source: LabSource, blocks: Sequence[str]) -> dict[str, str]:
    for block in blocks:
        rows = [
            [part.strip() for part in line.strip().strip("|").split("|")]
            for line in block.splitlines()
            if line.strip().startswith("|")
        ]
        if len(rows) >= 3 and rows[0][0].lower() == "you will be able to":
            return dict(zip([name.lower() for name in rows[0]], rows[2], strict=False))
    raise BuildError(
        f"{source.path.name}: no table `| You will be able to | Time | Needs |` at the head",
        hint="It is in the first text cell, with one row.",
    )
