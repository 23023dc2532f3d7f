"""The process that runs one lab: papermill, then HTML that needs no network.

`python -m course_lib.teaching.run.worker` is started by the runner, one process a lab, because
papermill changes the current folder of the process that it runs in.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_lib.teaching.build.execute import last_line, tidy_outputs
from course_lib.teaching.build.source import first_line
from course_lib.teaching.build.workers import CELL_TIMEOUT, serve

if TYPE_CHECKING:
    from nbformat import NotebookNode

SCORECARD = "application/vnd.course.scorecard+json"
"""The output that holds a lab's figures: a mapping of metric to value."""

_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
_OFFLINE = """
{%- extends 'lab/index.html.j2' -%}
{%- block html_head_js -%}{%- endblock html_head_js -%}
{%- block jupyter_widgets -%}{%- endblock jupyter_widgets -%}
{%- block html_head_js_mathjax -%}{%- endblock html_head_js_mathjax -%}
{%- block html_head_js_mermaidjs -%}{%- endblock html_head_js_mermaidjs -%}
{%- block html_head_css -%}
<style>main { max-width: 60rem; margin: 0 auto; padding: 1rem; }</style>
{%- endblock html_head_css -%}
"""


def run(task: Mapping[str, Any], on_cell: Callable[..., None]) -> dict[str, Any]:
    """Execute a solution and convert it.

    Parameters
    ----------
    task
        `notebook`, `output`, `html` and `root` (paths), `parameters`, and `secrets`: what to take
        out of everything that is written, with what to put in its place.
    on_cell
        Called with `cell_index` as each cell starts.

    Returns
    -------
    dict
        `error` (None, or `cell`, `line` and `message`) and `scorecard`.
    """
    from course_lib.teaching.quick_imports import quick_nbformat

    nbformat = quick_nbformat()  # papermill imports it as well
    import papermill
    from papermill.exceptions import PapermillExecutionError

    source, output = Path(task["notebook"]), Path(task["output"])
    seen: dict[str, str] = {}

    def on_start(cell: NotebookNode | None = None, cell_index: int = 0, **_: object) -> None:
        seen["line"] = first_line(cell.source) if cell is not None else ""
        seen["cell"] = str(cell.get("id", "")) if cell is not None else ""
        on_cell(cell_index=cell_index)

    error: dict[str, str] | None = None
    try:
        papermill.execute_notebook(
            source,
            output,
            parameters=dict(task["parameters"]),
            cwd=source.parent,
            kernel_name="python3",
            progress_bar=False,
            execution_timeout=CELL_TIMEOUT,
            store_widget_state=False,
            coalesce_streams=True,
            on_cell_start=on_start,
        )
    except PapermillExecutionError as raised:
        error = {**seen, "message": last_line(raised.ename, raised.evalue)}
    except Exception as raised:  # a dead kernel, a timeout: papermill lets them through
        error = {**seen, "message": last_line(type(raised).__name__, str(raised))}
    text = output.read_text(encoding="utf-8")
    for secret, shown in task["secrets"]:
        text = text.replace(secret, shown)
        error = {k: v.replace(secret, shown) for k, v in error.items()} if error else None
    notebook = nbformat.reads(text, as_version=4)
    tidy_outputs(notebook, Path(task["root"]))
    nbformat.write(notebook, output)
    Path(task["html"]).write_text(
        to_html(notebook, source.parent, Path(task["html"]).parent), encoding="utf-8"
    )
    return {"error": error, "scorecard": scorecard(notebook)}


def scorecard(notebook: NotebookNode) -> dict[str, Any]:
    """Return the figures that a notebook put out, later ones over earlier ones."""
    found: dict[str, Any] = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            card = output.get("data", {}).get(SCORECARD)
            if isinstance(card, dict):
                found.update(card)
    return found


def to_html(notebook: NotebookNode, folder: Path, target: Path) -> str:
    """Return a notebook as one HTML page that loads nothing from anywhere.

    Parameters
    ----------
    notebook
        With its outputs; formulas stay as TeX.
    folder
        Where its links and pictures are relative to.
    target
        The folder of the page: links are made to lead from there.
    """
    from nbconvert import HTMLExporter

    def lead(match: re.Match[str]) -> str:
        picture, text, link = match.groups()
        if picture or re.match(r"[a-z]+:|#", link):
            return match[0]
        relative = Path(os.path.relpath(folder / link, target)).as_posix()
        return f"[{text}]({relative})"

    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = _LINK.sub(lead, cell.source)
    exporter = HTMLExporter(embed_images=True, raw_template=_OFFLINE)
    title = notebook.metadata.get("course", {}).get("title", "")
    resources = {"metadata": {"name": title, "path": str(folder)}}
    page: str = exporter.from_notebook_node(notebook, resources)[0]
    return page


if __name__ == "__main__":
    serve(run)
