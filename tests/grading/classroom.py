"""A small master of an instructor's own, and what learners make of it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat

from course_lib.teaching.grade.submissions import Submission, shown, submission_in

DOUBLE = '''def double(x):
    """Return twice x."""
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION'''

LONGEST = '''def longest(words):
    """Return the longest word, the first among equals."""
    ### BEGIN SOLUTION
    best = words[0]
    for word in words:
        if len(word) > len(best):
            best = word
    return best
    ### END SOLUTION'''

CHECK_DOUBLE = """assert type(double(2)) is int and double(2) == 4
assert double("ab") == "abab"
### BEGIN HIDDEN TESTS
assert double(-3) == -6, "the hidden -3"
### END HIDDEN TESTS"""

CHECK_LONGEST = """assert longest(["a", "bcd", "ef", "ghi"]) == "bcd", "the first among equals"
assert type(longest(["a"])) is str"""

CHECK_LATER = """points = 2.0 * (longest(["x"]) == "x")
points"""

SETUP = "import math\nfrom pathlib import Path\n\nwords = ['one', 'three']"

RIGHT = {
    "double": "def double(x):\n    return x + x",
    "longest": "def longest(words):\n    return max(words, key=len)",
}


IN_ITS_AUDIT = """
import itertools, os, sys
mine = find_cut
def find_cut(*args, **named):
    frame = sys._getframe(1)
    while frame:
        if frame.f_code.co_name == "outcomes_of":
            {}
        frame = frame.f_back
    return mine(*args, **named)
"""
"""What is written below an answer to 1.2 that does something else where it is asked."""


def cell(source: str, grade_id: str = "", *, kind: str = "code", **metadata: Any) -> Any:
    """Return a cell with nbgrader's metadata."""
    make = nbformat.v4.new_code_cell if kind == "code" else nbformat.v4.new_markdown_cell
    node = make(source, id=(grade_id or f"c{abs(hash(source)) % 10**8}"))
    if grade_id:
        defaults = {"grade": False, "solution": False, "locked": True, "task": False}
        node.metadata["nbgrader"] = {
            **defaults, "schema_version": 3, "grade_id": grade_id, **metadata,
        }  # fmt: skip
    return node


def master_notebook() -> Any:
    """Return the master: two answers, three checks, a cell that no check needs."""
    return nbformat.v4.new_notebook(
        cells=[
            cell("# Words", kind="markdown"),
            cell(SETUP, "setup"),
            cell("separator = '-'"),
            cell(DOUBLE, "double", solution=True, locked=False),
            cell(CHECK_DOUBLE, "check-double", grade=True, points=3),
            cell(LONGEST, "longest", solution=True, locked=False),
            cell(CHECK_LONGEST, "check-longest", grade=True, points=5),
            cell(CHECK_LATER, "check-later", grade=True, points=2),
            cell("print('the end')"),
        ]
    )


def write_master(folder: Path, notebook: Any = None) -> Path:
    """Write a master and return its path."""
    path = folder / "words.ipynb"
    nbformat.write(notebook or master_notebook(), path)
    return path


def learners(released: Any, answers: Mapping[str, str]) -> Any:
    """Return a learner's notebook: the released one with answers written into it."""
    notebook = nbformat.from_dict(json.loads(json.dumps(released)))
    for one in notebook.cells:
        name = one.metadata.get("nbgrader", {}).get("grade_id")
        if name in answers:
            one.source = answers[name]
    return notebook


def hand_in(folder: Path, name: str, notebook: Any) -> Path:
    """Write a submission as a learner's program would: without any validation."""
    path = folder / f"{name}.ipynb"
    path.write_text(json.dumps(notebook), encoding="utf-8")
    return path


def handed_in(folder: Path, *, preferred: str = "") -> list[Submission]:
    """Return what is in a folder, one notebook or one folder a learner."""
    return [
        Submission(shown(path.stem), path)
        if path.suffix == ".ipynb"
        else submission_in(path, path.name, preferred=preferred)
        for path in sorted(folder.iterdir())
    ]
