"""Execute a notebook in a fresh kernel, and make what it put out fit to be committed.

`python -m course_lib.teaching.build.execute` is the worker process that executes one;
`tidy_outputs` takes out of the outputs what differs from machine to machine and from run to run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_lib.teaching.build.source import first_line
from course_lib.teaching.build.workers import CELL_TIMEOUT, serve

if TYPE_CHECKING:
    from nbformat import NotebookNode

WIDGET = "application/vnd.jupyter.widget-view+json"
_ADDRESS = re.compile(r"\b0x[0-9a-f]{8,16}\b")
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


def execute(task: Mapping[str, Any], on_cell: Callable[..., None]) -> dict[str, Any]:
    """Execute a notebook from its first cell to its last.

    Parameters
    ----------
    task
        `notebook` (JSON), `cwd` (the folder it runs in), `allow_errors`.
    on_cell
        Called with `cell_index` as each cell starts.

    Returns
    -------
    dict
        `notebook` with outputs (JSON), and `error`: None, or what `describe_error` says.
    """
    from course_lib.teaching.quick_imports import quick_nbformat

    nbformat = quick_nbformat()
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    notebook = nbformat.reads(task["notebook"], as_version=4)
    current = [0]

    def on_start(cell_index: int = 0, **_: object) -> None:
        current[0] = cell_index
        on_cell(cell_index=cell_index)

    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT,
        kernel_name="python3",
        allow_errors=bool(task.get("allow_errors")),
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
        resources={"metadata": {"path": task["cwd"]}},
        on_cell_start=on_start,
    )
    error = None
    try:
        client.execute()
    except CellExecutionError as raised:
        error = describe_error(notebook, current[0], raised.ename, raised.evalue)
    except CellTimeoutError:
        text = f"no end after {CELL_TIMEOUT} s"
        error = describe_error(notebook, current[0], "Timeout", text)
    except DeadKernelError:
        error = describe_error(notebook, current[0], "Kernel", "died")
    return {"notebook": nbformat.writes(notebook), "error": error}


def describe_error(notebook: NotebookNode, index: int, ename: str, evalue: str) -> dict[str, Any]:
    """Return what people need to know of a failed cell: which it is and the error's last line."""
    cell = notebook.cells[index]
    return {
        "index": index,
        "cell": cell.get("id", ""),
        "line": first_line(cell.source),
        "message": last_line(ename, evalue),
    }


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
            data = output.get("data")
            if (
                data is not None
                and data.pop(WIDGET, None) is not None
                and set(data) <= {"text/plain"}
            ):
                continue
            _localise(output, root)
            kept.append(output)
        cell.outputs = kept


def _localise(output: NotebookNode, root: Path) -> None:
    def plain(text: str) -> str:
        for absolute in (str(root), root.as_posix()):
            text = text.replace(absolute + "/", "").replace(absolute + "\\", "")
            text = text.replace(absolute, ".")
        for home in (str(Path.home()),):
            if len(home) > 3:
                text = re.sub(rf"{re.escape(home)}(?=[/\\])", "~", text)
        return text

    if "text" in output:
        output["text"] = _ADDRESS.sub("0x…", plain(output["text"]))
    for kind, value in output.get("data", {}).items():
        if isinstance(value, str) and kind.startswith("text/"):
            value = plain(value)
            output["data"][kind] = _ADDRESS.sub("0x…", value) if kind == "text/plain" else value
    if "traceback" in output:
        output["traceback"] = [plain(line) for line in output["traceback"]]


if __name__ == "__main__":
    serve(execute)
