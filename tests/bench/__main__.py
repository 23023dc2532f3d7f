"""`make bench`: one table of ratios against named peers, all of it measured in this run.

Beside the table a JSON file is written to `tests/bench/results/`, named by the hardware, with the
runs before it kept.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import os
import platform
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from course_lib.errors import CourseError
from tests.bench.measure import Row
from tests.bench.peers import PeerError

PARTS = ("split", "yaml", "code", "encode", "write", "search", "service", "quality", "grade")
RESULTS = Path(__file__).parent / "results"


def main() -> int:
    """Measure the parts that were asked for; 1 if a part failed or missed its goal."""
    parser = argparse.ArgumentParser(prog="course bench", description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; all when left out")
    parser.add_argument("--no-history", action="store_true", help="print only, write nothing")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.parts) - set(PARTS))
    if unknown:
        parser.error(f"there is no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    console = Console(width=None if sys.stdout.isatty() else 160)
    rows: list[Row] = []
    failed = []
    for part in arguments.parts or PARTS:
        with console.status(f"measuring {part}"):
            try:
                rows += importlib.import_module(f"tests.bench.bench_{part}").measure()
            except (PeerError, CourseError, OSError) as error:
                failed.append(part)
                console.print(f"[red]{part} could not be measured:[/red] {error}")
    console.print(_table(rows))
    if rows and not arguments.no_history:
        console.print(f"history: {_keep(rows)}")
    missed = [row for row in rows if row.reached is False]
    return 1 if failed or missed else 0


def _table(rows: list[Row]) -> Table:
    table = Table(title=hardware())
    for name in ("part", "what", "against", "ours", "theirs", "ratio", "goal", ""):
        table.add_column(name, justify="right" if name in {"ours", "theirs", "ratio"} else "left")
    for row in rows:
        reached = {True: "[green]reached[/green]", False: "[red]missed[/red]", None: ""}
        table.add_row(
            row.part, row.what, row.peer, f"{row.ours:.3g} {row.unit}",
            f"{row.theirs:.3g} {row.unit}", f"{row.ratio:.2f}",
            "" if row.goal is None else f"≥ {row.goal:.2f}", f"{reached[row.reached]} {row.note}",
        )  # fmt: skip
    return table


def _keep(rows: list[Row]) -> Path:
    RESULTS.mkdir(exist_ok=True)
    name = re.sub(r"[^a-z0-9]+", "-", hardware().lower()).strip("-")
    path = RESULTS / f"{name}.json"
    history = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    history.append({"when": now, "rows": [row.to_dict() for row in rows]})
    path.write_text(json.dumps(history, indent=1) + "\n", encoding="utf-8")
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def hardware() -> str:
    """Return the processor's name, the number of cores and the operating system."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        found = re.search(r"model name\s*:\s*(.+)", info.read_text(encoding="utf-8"))
        name = found[1] if found else name
    return f"{name}, {os.cpu_count()} cores, {platform.system()}"


if __name__ == "__main__":
    sys.exit(main())
