"""Run one lab: papermill, then HTML that needs no network."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from course_lib.store.urls import hide_password
from course_lib.teaching.lab.scorecard import MIME
from course_lib.teaching.notebooks.cells import first_line
from course_lib.teaching.notebooks.execute import in_short, tidy_outputs
from course_lib.teaching.notebooks.project import LabSource, Project
from course_lib.teaching.notebooks.workers import CELL_TIMEOUT, KERNEL, OnCell

if TYPE_CHECKING:
    from nbformat import NotebookNode

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


@dataclass(frozen=True)
class LabRun:
    """How one lab went.

    Attributes
    ----------
    lab, title
        Its number and title.
    status
        `interrupted` is a lab that Ctrl-C ended, or kept from starting.
    seconds
        Wall time, start-up of the kernel and HTML included.
    notebook, html
        What was written, None where the run did not get that far.
    error
        Empty, or `cell` (its id), `line` (its first) and `message` (the error in short).
    scorecard
        Metrics and values that the notebook put out.
    cells
        How many it has.
    """

    lab: str
    title: str
    status: Literal["passed", "failed", "interrupted"]
    seconds: float = 0.0
    notebook: Path | None = None
    html: Path | None = None
    error: Mapping[str, str] = field(default_factory=dict)
    scorecard: Mapping[str, Any] = field(default_factory=dict)
    cells: int = 0

    @property
    def passed(self) -> bool:
        """Whether every cell ran."""
        return self.status == "passed"


def run_lab(
    run: LabRun,
    source: LabSource,
    project: Project,
    given: Mapping[str, str],
    out: Path,
    on_cell: OnCell,
) -> LabRun:
    """Execute a solution, convert it, and return how it went.

    Parameters
    ----------
    run
        What is known of it before.
    source, project
        Which lab, and whose.
    given
        Parameters; the lab gets those that its `parameters` cell declares. No password of them is
        in what is written.
    out
        The folder to write to.
    on_cell
        Called as each cell starts.
    """
    import nbformat
    import papermill
    from papermill.exceptions import PapermillExecutionError

    started = time.monotonic()
    path = project.solution_notebook(source)
    output, html = out / f"{source.lab}.ipynb", out / f"{source.lab}.html"
    declared = papermill.inspect_notebook(str(path))
    parameters = {name: value for name, value in given.items() if name in declared}
    solution = nbformat.read(path, as_version=4)
    # Of other data, or of another model, the lab says nothing.
    if {"data_dir", "embedding_model"} & set(parameters):
        solution.cells = [c for c in solution.cells if "claim" not in c.metadata.get("tags", [])]
    seen: dict[str, str] = {}

    def on_start(cell: NotebookNode, **options: Any) -> None:
        seen.update(cell=cell.id, line=first_line(cell.source))
        on_cell(**options)

    error: dict[str, str] = {}
    try:
        papermill.execute_notebook(
            solution,
            output,
            parameters=parameters,
            progress_bar=False,
            execution_timeout=CELL_TIMEOUT,
            resources={"metadata": {"path": str(path.parent)}},
            on_cell_start=on_start,
            **KERNEL,
        )
    except PapermillExecutionError as raised:
        error = {**seen, "message": in_short(raised.ename, raised.evalue)}
    except Exception as raised:  # a dead kernel, a timeout: papermill lets them through
        error = {**seen, "message": in_short(type(raised).__name__, str(raised))}
    text = output.read_text(encoding="utf-8")
    if url := given.get("database_url"):
        text = text.replace(url, hide_password(url))
        error = {key: value.replace(url, hide_password(url)) for key, value in error.items()}
    notebook = nbformat.reads(text, as_version=4)
    tidy_outputs(notebook, project.root)
    nbformat.write(notebook, output)
    html.write_text(to_html(notebook, path.parent, out), encoding="utf-8")
    return replace(
        run,
        status="failed" if error else "passed",
        seconds=time.monotonic() - started,
        notebook=output,
        html=html,
        error=error,
        scorecard=scorecard(notebook),
    )


def scorecard(notebook: NotebookNode) -> dict[str, Any]:
    """Return the figures that a notebook put out, later ones over earlier ones."""
    found: dict[str, Any] = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            card = output.get("data", {}).get(MIME)
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
