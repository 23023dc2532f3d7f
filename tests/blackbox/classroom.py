"""A class of twenty-four that hands in lab 01, from a table of what each learner wrote.

Made from the notebook in `labs/`, as a learner's program would write it: nothing is validated.
None of them may run outside the grader's fence.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import nbformat

LABS = Path(__file__).parents[2] / "labs"
Notebook = dict[str, Any]

CUT = """
def find_cut(text, start, limit, floor=0, separators=("\\n\\n", "\\n", ". ", " ", "")):
    for sign in separators:
        found = [
            at + len(sign)
            for at in range(start, min(limit, len(text)) - len(sign) + 1)
            if text[at : at + len(sign)] == sign and at + len(sign) > floor
        ]
        if found:
            return max(found)
    return limit
""".strip()

SPLIT = """
from course_lib.loader.recursive import SEPARATORS, next_start
from course_lib.records import Span

def split_text(
    text, chunk_size=512, chunk_overlap=64, separators=SEPARATORS, *, snap_to_words=False
):
    for one in (text, *separators):
        if not isinstance(one, str):
            raise TypeError(f"text and separators are strings, not {type(one).__name__}")
    for name, size in (("chunk_size", chunk_size), ("chunk_overlap", chunk_overlap)):
        if type(size) is not int:
            raise TypeError(f"{name} is an integer, not {type(size).__name__}")
    if not 0 <= chunk_overlap < chunk_size:
        raise ValueError(f"chunk_overlap {chunk_overlap} does not fit chunk_size {chunk_size}")
    spans, begin = [], 0
    while begin < len(text):
        end = begin + chunk_size
        if end >= len(text):
            spans.append(Span(begin, len(text), text[begin:]))
            break
        end = find_cut(text, begin, end, begin + chunk_overlap, separators)
        spans.append(Span(begin, end, text[begin:end]))
        begin = next_start(text, end, chunk_overlap, snap_to_words=snap_to_words)
    return spans
""".strip()

RECURSIVE = """
def split_recursively(text, size, separators=("\\n\\n", "\\n", ". ", " ", "")):
    sign = [one for one in separators if one in text][0]
    parts = [part + sign for part in text.split(sign)] if sign else [*text, ""]
    parts[-1] = parts[-1][: len(parts[-1]) - len(sign)]
    done = []
    for part in parts:
        if len(part) > size:
            done.extend(split_recursively(part, size, separators[1:]))
        elif done and len(done[-1] + part) <= size:
            done[-1] += part
        elif part:
            done.append(part)
    return done
""".strip()

RIGHT = {
    "exercise-1-1": RECURSIVE,
    "exercise-1-2": CUT,
    "exercise-1-3": SPLIT,
}
DEFINED = "def split_recursively(*args):"
FIRST_CUT = CUT.replace("max(found)", "min(found)")
NAMELESS = RECURSIVE.replace("split_recursively", "nameless")
COPIED = RECURSIVE.replace("sign", "mark").replace("part", "piece").replace("done", "found")

ANSWERS: Mapping[str, Mapping[str, str]] = {
    "anna right": RIGHT,
    "ben untouched": {},
    "cleo partly": {**RIGHT, "exercise-1-2": FIRST_CUT, "exercise-1-3": "# later"},
    "dan renamed": {**RIGHT, "exercise-1-2": CUT.replace("find_cut", "my_cut")},
    "eva syntax": {**RIGHT, "exercise-1-1": RECURSIVE.replace("done = []", "done = = []")},
    "finn endless": {**RIGHT, "exercise-1-1": f"{DEFINED}\n    while True: pass"},
    "gina exits": {**RIGHT, "exercise-1-1": f"import os\n{RECURSIVE}\nos._exit(0)"},
    "hugo imports": {**RIGHT, "exercise-1-2": "from course_lib.loader.recursive import find_cut"},
    "ida reads solutions": {
        **RIGHT,
        "exercise-1-2": "import os\nfrom pathlib import Path\n"
        "root = Path(os.environ.get('COURSE_ROOT', '.'))\n"
        "(found,) = root.glob('solutions/01*.py')\nexec(found.read_text(encoding='utf-8'))",
    },
    "jan patches the check": {
        **RIGHT,
        "exercise-1-2": "def find_cut(*args):\n    return 0\n"
        "lab.check = lambda *args: print('✓ 1.2 passed (3 points)')",
    },
    "kim prints": {**RIGHT, "exercise-1-1": f"for _ in range(30): print('x' * 10**6)\n{RECURSIVE}"},
    "=1+1": {**RIGHT, "exercise-1-1": f"{DEFINED}\n    raise ValueError('<script>')"},
    "vera copies anna": {**RIGHT, "exercise-1-1": COPIED},
    "xeno by another name": {**RIGHT, "exercise-1-1": f"{NAMELESS}\nsplit_recursively = nameless"},
}  # fmt: skip
"""What learners wrote into an otherwise untouched notebook."""


def _cells(sheet: Notebook, kind: str) -> list[Notebook]:
    return [cell for cell in sheet["cells"] if cell["metadata"].get("nbgrader", {}).get(kind)]


def _without_checks(sheet: Notebook) -> Notebook:
    checks = _cells(sheet, "grade")
    return {**sheet, "cells": [cell for cell in sheet["cells"] if cell not in checks]}


def _with_points(sheet: Notebook) -> Notebook:
    for cell in _cells(sheet, "grade"):
        cell["metadata"]["nbgrader"]["points"] = 1000
        cell["source"] = "pass"
    return sheet


def _twice(sheet: Notebook) -> Notebook:
    (first, *_) = _cells(sheet, "solution")
    return {**sheet, "cells": [*sheet["cells"], {**first, "source": "def find_cut(): return 1"}]}


def _older(sheet: Notebook) -> Notebook:
    version_3: Notebook = nbformat.convert(nbformat.from_dict(sheet), 3)
    return version_3


CHANGED: Mapping[str, tuple[Mapping[str, str], Callable[[Notebook], Notebook]]] = {
    "lea deletes checks": (RIGHT, _without_checks),
    "max wants points": ({}, _with_points),
    "nora answers twice": (RIGHT, _twice),
    "otto older format": (RIGHT, _older),
}
"""What learners wrote, and what they did to the notebook."""


def written(answers: Mapping[str, str], lab: str = "01") -> Notebook:
    """Return a lab's notebook with answers in it."""
    (path,) = LABS.glob(f"{lab}_*.ipynb")
    sheet: Notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in sheet["cells"]:
        cell["source"] = answers.get(cell["id"], "".join(cell["source"]))
    return sheet


def hand_in(folder: Path) -> None:
    """Write the submissions of the class."""
    folder.mkdir()
    for name, answers in ANSWERS.items():
        _write(folder / f"{name}.ipynb", written(answers))
    for name, (answers, change) in CHANGED.items():
        _write(folder / f"{name}.ipynb", change(written(answers)))
    _write(folder / "quinn another lab.ipynb", written({}, "02"))
    (folder / "paul picture.ipynb").write_bytes(b"\x89PNG\r\n\x1a\n\x00\xff")
    (folder / "rosa empty.ipynb").touch()
    (folder / "sam nothing").mkdir()
    (folder / "tina late").mkdir()
    late = folder / "tina late" / "01 final (3).ipynb"
    _write(late, written(RIGHT))
    os.utime(late, (4_102_444_800, 4_102_444_800))  # 2100: no deadline is known
    _write(folder / "uwe.ipynb", written(RIGHT))
    (folder / "uwe").mkdir()
    _write(folder / "uwe" / "again.ipynb", written({}))
    _write(folder / ".ipynb", written(RIGHT))
    (folder / "zoe.zip").touch()


def _write(path: Path, sheet: Notebook) -> None:
    path.write_text(json.dumps(sheet), encoding="utf-8")
