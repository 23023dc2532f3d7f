"""`make bench`: one table of ratios against named peers, all of it measured in this run.

Beside the table a JSON file is written to `tests/bench/results/`, named by the hardware, with the
runs before it kept. What one part cannot measure leaves the others' figures, and so does what ends
the run early: Ctrl-C, or SIGTERM.
"""

from __future__ import annotations

import argparse
import importlib
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rich.console import Console

from course_lib.errors import CourseError
from tests.bench.history import RESULTS, History, HistoryError, hardware, load
from tests.bench.measure import Row
from tests.bench.peers import PeerError
from tests.bench.table import Plan, make_table, shown

PARTS = {
    "split": ("recursive split against two installed splitters", 30),
    "yaml": ("resource split against encoding its pieces", 45),
    "code": ("code split against LangChain's, definitions kept whole", 60),
    "encode": ("encoding against sentence-transformers", 120),
    "write": ("rows written against a bare COPY", 200),
    "ingest": ("a whole ingest against encoding alone, and again unchanged", 120),
    "start": ("a cold search, one text encoded", 60),
    "search": ("search against peers, with words and filters as well", 300),
    "recall": ("search among vectors like real ones, all at our recall", 300),
    "service": ("/search under 50 clients", 60),
    "quality": ("what retrieval finds", 300),
    "grade": ("grading against nbgrader", 300),
    "course": ("all labs through papermill", 400),
}
"""Part → what it measures, and the seconds it takes until there is a history; the longest last."""

SHOWS_ITSELF = {"course"}
EXPECTED = (PeerError, CourseError, OSError)
"""Errors that need no traceback."""
INTERRUPTED = 130

Measure = Callable[[], Sequence[Row]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the parts that were asked for; 1 if a part failed or missed its goal."""
    parts = "\n".join(f"  {name:9}{what}" for name, (what, _) in PARTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench",
        description=f"{__doc__}\nParts, all when none is named:\n{parts}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--no-history", action="store_true", help="print only, write nothing")
    parser.add_argument(
        "--last", action="store_true", help="show the last figures; measure nothing"
    )
    given = parser.parse_args(arguments)
    unknown = sorted(set(given.parts) - set(PARTS))
    if unknown:
        parser.error(f"there is no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    wanted = dict.fromkeys(given.parts or PARTS)
    # What ends it from outside, for instance `timeout`, keeps what was measured as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        history = History(None if given.no_history and not given.last else RESULTS, hardware())
    except HistoryError as error:
        parser.error(f"{error} {error.hint}")
    if given.last:
        return show_last(list(wanted), history)
    return run({part: _measure_of(part) for part in wanted}, history)


def run(parts: Mapping[str, Measure], history: History) -> int:
    """Measure one part after the other, keep what each gave, print the table.

    Returns
    -------
    int
        0 if all was measured and every goal reached, 130 after Ctrl-C or SIGTERM, 1 otherwise.
    """
    console = Console(width=None if sys.stdout.isatty() else 160)
    plan = Plan({part: history.seconds(part, PARTS.get(part, ("", 60))[1]) for part in parts})
    rows: list[Row] = []
    failed: list[str] = []
    interrupted = ""
    for part, measure in parts.items():
        begin, before, error = time.monotonic(), load(), ""
        found: list[Row] = []
        try:
            with shown(plan, part, alone=part not in SHOWS_ITSELF):
                found = list(measure())
        except KeyboardInterrupt:
            interrupted = part
            break
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
            failed.append(part)
            console.print(f"[red]{part} could not be measured:[/red]", end=" ")
            console.print(error, markup=False)
            if not isinstance(raised, EXPECTED):
                traceback.print_exc()
        rows += found
        history.add(part, found, time.monotonic() - begin, before, error)
    if rows:
        console.print(make_table(rows, history, hardware()))
    if interrupted:
        console.print(f"[yellow]interrupted in {interrupted}; what was measured before is kept")
    if failed:
        console.print(f"[red]not measured: {', '.join(failed)}")
    if history.path and history.path.exists():
        console.print(f"history: {_relative(history.path)}", soft_wrap=True, markup=False)
    if interrupted:
        return INTERRUPTED
    return 1 if failed or any(row.reached is False for row in rows) else 0


def show_last(parts: Sequence[str], history: History) -> int:
    """Print the last figures of each part on this hardware; 1 where there are none."""
    console = Console(width=None if sys.stdout.isatty() else 160)
    found = history.last(parts)
    for when, rows in found:
        console.print(make_table(rows, History(None, ""), f"{rows[0].part}, {when}"))
    if not found:
        console.print(f"nothing was measured yet on this hardware: {hardware()}")
    return 0 if found else 1


def _measure_of(part: str) -> Measure:
    """Return a part's measurement; it is imported when it begins, and fails alone if it cannot."""

    def measure() -> list[Row]:
        return list(importlib.import_module(f"tests.bench.bench_{part}").measure())

    return measure


def _relative(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


if __name__ == "__main__":
    sys.exit(main())
