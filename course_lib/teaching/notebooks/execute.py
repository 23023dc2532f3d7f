"""Execute a notebook in a fresh kernel, and make what it put out fit to be committed.

`tidy_outputs` takes out of the outputs what differs from machine to machine and from run to run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_lib.teaching.notebooks.cells import first_line
from course_lib.teaching.notebooks.workers import CELL_TIMEOUT, KERNEL, OnCell

if TYPE_CHECKING:
    from nbformat import NotebookNode

WIDGET = "application/vnd.jupyter.widget-view+json"
_ADDRESS = re.compile(r"\b0x[0-9a-f]{8,16}\b")
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Failure:
    """Which cell ended a run, and its error.

    Attributes
    ----------
    cell
        Its number, counted from 0.
    cell_id, line
        Its id, and its first line.
    error
        As `in_short` gives it.
    """

    cell: int
    cell_id: str
    line: str
    error: str

    def __str__(self) -> str:
        return f"cell {self.cell} ({self.cell_id}, {self.line!r}) failed: {self.error}"


def execute(
    notebook: NotebookNode, folder: Path, on_cell: OnCell, *, allow_errors: bool = False
) -> Failure | None:
    """Execute a notebook from its first cell to its last, in place.

    Parameters
    ----------
    notebook
        Its outputs are those of this run afterwards.
    folder
        Where it runs.
    on_cell
        Called as each cell starts.
    allow_errors
        Whether the cells after one that failed are executed, too.

    Returns
    -------
    Failure or None
        Which cell ended the run; None where all of them ran.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError

    current = 0

    def on_start(cell_index: int = 0, **options: Any) -> None:
        nonlocal current
        current = cell_index
        on_cell(**options)

    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT,
        allow_errors=allow_errors,
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
        on_cell_start=on_start,
        **KERNEL,
    )
    try:
        client.execute()
    except CellExecutionError as raised:
        error = in_short(raised.ename, raised.evalue)
    except CellTimeoutError:
        error = f"Timeout: no end after {CELL_TIMEOUT} s"
    except RuntimeError:  # nbclient's DeadKernelError, and what it raises for one that never lived
        error = "Kernel: died"
    else:
        return None
    cell = notebook.cells[current]
    return Failure(current, cell.id, first_line(cell.source), error)


def in_short(ename: str, evalue: str) -> str:
    r"""Return an error's name and the last line of what it says; of a failed check the whole case.

    Examples
    --------
    >>> in_short("ValueError", "first\nlast line")
    'ValueError: last line'
    >>> in_short("CheckFailed", '1.1 half is not right yet\n  got  3\nlab.hint("1.1") gives hint 1')
    'CheckFailed: 1.1 half is not right yet\n  got  3'
    """
    lines = [line.rstrip() for line in _ANSI.sub("", evalue).splitlines() if line.strip()]
    if ename == "CheckFailed":
        return f"{ename}: " + "\n".join(line for line in lines if not line.startswith("lab.hint("))
    return f"{ename}: {lines[-1].strip()}" if lines else ename


def tidy_outputs(notebook: NotebookNode, root: Path) -> None:
    """Take out of the outputs what belongs to this machine or this run, in place.

    Widgets lose their view (a saved widget without its state shows as an error) and leave what was
    displayed beside them; paths below the project's root become relative; memory addresses lose
    their digits.
    """
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type != "code":
            continue
        kept = []
        for output in cell.outputs:
            data = output.get("data", {})
            if data.pop(WIDGET, None) is None or set(data) - {"text/plain"}:
                _localise(output, root)
                kept.append(output)
        cell.outputs = kept


def _localise(output: NotebookNode, root: Path) -> None:
    def plain(text: str) -> str:
        for absolute in (str(root), root.as_posix()):
            text = text.replace(absolute + "/", "").replace(absolute + "\\", "")
            text = text.replace(absolute, ".")
        home = str(Path.home())
        return re.sub(rf"{re.escape(home)}(?=[/\\])", "~", text) if len(home) > 3 else text

    if "text" in output:
        output["text"] = _ADDRESS.sub("0x…", plain(output["text"]))
    for kind, value in output.get("data", {}).items():
        if isinstance(value, str) and kind.startswith("text/"):
            value = plain(value)
            output["data"][kind] = _ADDRESS.sub("0x…", value) if kind == "text/plain" else value
    if "traceback" in output:
        output["traceback"] = [plain(line) for line in output["traceback"]]
