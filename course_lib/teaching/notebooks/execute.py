"""Execute a notebook in a fresh kernel, and make what it put out fit to be committed.

`tidy_outputs` takes out of the outputs what differs from machine to machine and from run to run.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_lib.teaching.notebooks.cells import first_line
from course_lib.teaching.notebooks.workers import CELL_TIMEOUT, KERNEL, OnCell

if TYPE_CHECKING:
    from nbformat import NotebookNode

WIDGET = "application/vnd.jupyter.widget-view+json"
_ADDRESS = re.compile(r"\b0x[0-9a-f]{8,16}\b")
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


def execute(
    notebook: NotebookNode, folder: Path, on_cell: OnCell, *, allow_errors: bool = False
) -> str:
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
    str
        Which cell ended the run, and the last line of its error; empty where all of them ran.
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
        error = last_line(raised.ename, raised.evalue)
    except CellTimeoutError:
        error = f"Timeout: no end after {CELL_TIMEOUT} s"
    except RuntimeError:  # nbclient's DeadKernelError, and what it raises for one that never lived
        error = "Kernel: died"
    else:
        return ""
    cell = notebook.cells[current]
    return f"cell {current} ({cell.id}, {first_line(cell.source)!r}) failed: {error}"


def last_line(ename: str, evalue: str) -> str:
    """Return an error as one line: its name, and the last line of what it says."""
    lines = [line.strip() for line in _ANSI.sub("", evalue).splitlines() if line.strip()]
    return f"{ename}: {lines[-1]}" if lines else ename


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
