"""The whole course through papermill, as `make run` does it, against what its cells compute.

The labs' own compute is the time that papermill notes for each code cell, in the same run: what
else the machine does slows the cells as it slows everything around them (the process, the kernel's
start, the HTML, the page).
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from course_lib.teaching.run import LabRun, run_labs
from tests.bench.measure import Row

MOST_OF_COMPUTE = 1.3
MOST_SECONDS_A_LAB = 60.0
AT_ONCE = 2
"""Labs at a time, as `make run` has it."""


@dataclass(frozen=True)
class LabTime:
    """Seconds of one lab: its whole process, and its code cells."""

    lab: str
    whole: float
    compute: float


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
        return rows(lab_times(runs), seconds)


def lab_times(runs: Sequence[LabRun]) -> list[LabTime]:
    """Return what each lab took.

    Raises
    ------
    OSError
        If one of them failed.
    """
    failed = [f"lab {run.lab}: {run.error.get('message', '')}" for run in runs if not run.passed]
    if failed:
        raise OSError("; ".join(failed))
    times = []
    for run in runs:
        assert run.notebook is not None  # it passed
        notebook = json.loads(run.notebook.read_text(encoding="utf-8"))
        times.append(LabTime(run.lab, run.seconds, compute(notebook)))
    return times


def compute(notebook: Mapping[str, object]) -> float:
    """Return the seconds that papermill noted for a notebook's code cells."""
    cells = notebook["cells"]
    assert isinstance(cells, list)
    return sum(
        float(cell["metadata"]["papermill"]["duration"] or 0)
        for cell in cells
        if cell["cell_type"] == "code"
    )


def rows(times: Sequence[LabTime], seconds: float) -> list[Row]:
    """Return the table's rows for a run of `seconds`."""
    own = sum(time.compute for time in times)
    processes = sum(time.whole for time in times)
    slowest = max(times, key=lambda time: time.whole)
    each = ", ".join(f"{time.lab} {time.whole:.0f}/{time.compute:.0f}" for time in times)

    def against_cells(how: str, ours: float, note: str) -> Row:
        return Row(
            part="course",
            what=f"{len(times)} labs through papermill, {how}",
            peer="the code cells' own time",
            ours=ours,
            theirs=own,
            unit="s",
            ratio=own / ours,
            goal=1 / MOST_OF_COMPUTE,
            note=f"{ours / own:.2f} of it{note}",
        )

    return [
        against_cells(
            f"{AT_ONCE} at a time, from start to end", seconds, f", at most {MOST_OF_COMPUTE}"
        ),
        against_cells(
            "their processes one by one", processes, f"; seconds by lab, all/cells: {each}"
        ),
        Row(
            part="course",
            what=f"the slowest lab, {slowest.lab}",
            peer="limit",
            ours=slowest.whole,
            theirs=MOST_SECONDS_A_LAB,
            unit="s",
            ratio=MOST_SECONDS_A_LAB / slowest.whole,
            goal=1.0,
        ),
    ]
