"""The whole course through papermill, as `make run` does it, against what its cells compute.

The labs' own compute is the time that papermill notes for each code cell, in the same run: what
else the machine does slows the cells as it slows everything around them (the process, the kernel's
start, the HTML, the page).
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

from course_lib.teaching.run import run_labs
from tests.bench.measure import Row

MOST_OF_COMPUTE = 1.3
MOST_SECONDS_A_LAB = 60.0
AT_ONCE = 2
"""Labs at a time, as `make run` has it."""


def measure() -> list[Row]:
    """Run all labs.

    Raises
    ------
    OSError
        If a lab failed: its time says nothing then.
    """
    with tempfile.TemporaryDirectory(prefix="bench-course-") as name:
        begin = time.perf_counter()
        runs = run_labs(jobs=AT_ONCE, out=Path(name))
        seconds = time.perf_counter() - begin
        if failed := [
            f"lab {one.lab}: {one.error.get('message')}" for one in runs if not one.passed
        ]:
            raise OSError("; ".join(failed))
        cells = sum(compute(run.notebook) for run in runs if run.notebook)
    slowest = max(runs, key=lambda run: run.seconds)
    each = ", ".join(f"{run.lab} {run.seconds:.0f}" for run in runs)
    return [
        Row("course", f"{len(runs)} labs through papermill, {AT_ONCE} at a time",
            "the code cells' own time", seconds, cells, "s", cells / seconds, 1 / MOST_OF_COMPUTE,
            f"{seconds / cells:.2f} of it, at most {MOST_OF_COMPUTE}; seconds by lab: {each}"),
        Row("course", f"the slowest lab, {slowest.lab}", "limit", slowest.seconds,
            MOST_SECONDS_A_LAB, "s", MOST_SECONDS_A_LAB / slowest.seconds, 1.0),
    ]  # fmt: skip


def compute(notebook: Path) -> float:
    """Return the seconds that papermill noted for a notebook's code cells."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return sum(
        float(cell["metadata"]["papermill"]["duration"] or 0)
        for cell in cells
        if cell["cell_type"] == "code"
    )
