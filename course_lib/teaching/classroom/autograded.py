"""The notebook that a person reads in formgrader: the master's, with answers and their outputs.

Formgrader shows it in the instructor's browser, beside the gradebook. So it holds text and no
markup of a learner's: outputs are plain text, and Markdown goes through nbconvert's `SanitizeHTML`.
"""

from __future__ import annotations

import copy
import json
import re
import shutil
from pathlib import Path
from typing import Any

from course_lib.files import write_atomically
from course_lib.teaching.classroom.comments import shown, without_hidden
from course_lib.teaching.grade import Grade, Master

_MATHJAX = re.compile(r"\\((?:href|class|style|cssId|data|require|html)\b)")
"""Commands of MathJax that write attributes of the page."""


def autograded(master: Master, grade: Grade) -> dict[str, Any]:
    """Return the notebook, as JSON has it: what ran, the learner's own cells, no hidden tests.

    Learners get it as feedback as well, so that it holds no more of the checks than they had.
    """
    notebook = copy.deepcopy(master.notebook)
    marks = {mark.grade_id: mark for mark in grade.marks}
    for cell, made in zip(master.cells, notebook["cells"], strict=True):
        made["source"] = grade.answers.get(cell.grade_id, cell.stub)
        if cell.kind == "markdown" and cell.grade_id in grade.answers:
            made["source"] = sanitized(made["source"])
        if cell.kind != "code":
            continue
        text = grade.outputs.get(cell.grade_id, "")
        if cell.role == "check" and cell.source != cell.stub:
            text = without_hidden(marks[cell.grade_id], cell)
        output = {"output_type": "stream", "name": "stdout", "text": shown(text)}
        made["outputs"] = [output] if text else []
        made["execution_count"] = None
    for number, one in reversed(list(enumerate(grade.added))):
        kind = "markdown" if one.kind == "markdown" else "code"  # a raw cell would be markup
        source = sanitized(one.source) if kind == "markdown" else one.source
        own: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": shown(source)}
        if kind == "code":
            own |= {"execution_count": None, "outputs": []}
        if notebook["nbformat_minor"] >= 5:
            own["id"] = f"added-{number}"
        notebook["cells"].insert(one.place, own)
    return notebook


def write_autograded(notebook: dict[str, Any], folder: Path, name: str) -> None:
    """Write the notebook into its folder, and nothing else; `keep_times` adds its time stamp.

    nbgrader copies whatever was handed in there, and formgrader serves it.
    """
    target = folder / f"{name}.ipynb"
    for path in folder.glob("*"):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path != target:
            path.unlink()
    write_atomically(target, json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


def sanitized(source: str) -> str:
    """Return Markdown whose HTML is harmless, and without links, images and MathJax's own links.

    Bleach, which nbconvert uses, reads HTML alone, and would leave `[x](javascript:…)`.
    """
    from nbconvert.preprocessors.sanitize import SanitizeHTML

    text = str(SanitizeHTML().sanitize_html_tags(source)).replace("[", "&#91;")
    return _MATHJAX.sub(r"\1", text)
