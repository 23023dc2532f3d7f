"""`make bench`: one table of ratios against named peers, all of it measured in this run.

What one part cannot measure leaves the others' figures, and so does what ends the run early:
Ctrl-C, or SIGTERM.
"""

from __future__ import annotations

import argparse
import importlib
import signal
import sys
import traceback
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from course_lib.errors import CourseError
from tests.bench.measure import Row, hardware
from tests.bench.peers import PeerError

PARTS = {
    "split": "recursive split against two installed splitters",
    "yaml": "resource split against encoding its pieces",
    "code": "code split against LangChain's, definitions kept whole",
    "encode": "encoding against sentence-transformers",
    "write": "rows written against a bare COPY",
    "ingest": "a whole ingest against encoding alone, and again unchanged",
    "start": "a cold search, one text encoded",
    "search": "search against peers, with words as well",
    "recall": "search among vectors like real ones, all at our recall",
    "service": "/search under 50 clients",
    "quality": "what retrieval finds",
    "grade": "grading against nbgrader",
    "course": "all labs through papermill",
}
"""Part → what it measures; the longest last."""

EXPECTED = (PeerError, CourseError, OSError)
"""Errors that need no traceback."""
INTERRUPTED = 130
_REACHED = {True: "[green]reached[/green]", False: "[red]missed[/red]", None: ""}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the parts that were asked for and print the table.

    Returns
    -------
    int
        0 if all was measured and every goal reached, 130 after Ctrl-C or SIGTERM, 1 otherwise.
    """
    parts = "\n".join(f"  {name:9}{what}" for name, what in PARTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench",
        description=f"{__doc__}\nParts, all when none is named:\n{parts}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", metavar="PART")
    wanted = list(dict.fromkeys(parser.parse_args(arguments).parts or PARTS))
    if unknown := sorted(set(wanted) - set(PARTS)):
        parser.error(f"there is no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    # What ends it from outside, for instance `timeout`, shows what was measured as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    console = Console(width=None if sys.stdout.isatty() else 160)
    rows: list[Row] = []
    failed: list[str] = []
    interrupted = ""
    for at, part in enumerate(wanted, 1):
        print(f"measuring {part} ({at} of {len(wanted)})", file=sys.stderr, flush=True)
        try:
            rows += measure(part)
        except KeyboardInterrupt:
            interrupted = part
            break
        except Exception as error:
            failed.append(part)
            console.print(f"[red]{part} could not be measured:[/red]", end=" ")
            console.print(f"{type(error).__name__}: {error}", markup=False)
            if not isinstance(error, EXPECTED):
                traceback.print_exc()
    if rows:
        console.print(make_table(rows))
    if interrupted:
        console.print(f"[yellow]interrupted in {interrupted}")
        return INTERRUPTED
    return 1 if failed or any(row.reached is False for row in rows) else 0


def measure(part: str) -> list[Row]:
    """Return a part's rows; it is imported only now, and fails alone if it cannot be."""
    return list(importlib.import_module(f"tests.bench.bench_{part}").measure())


def make_table(rows: Sequence[Row]) -> Table:
    """Return the rows as a table."""
    table = Table(title=hardware())
    for name in ("part", "what", "against", "ours", "theirs", "ratio", "goal", ""):
        is_number = name in {"ours", "theirs", "ratio"}
        table.add_column(name, justify="right" if is_number else "left")
    for row in rows:
        table.add_row(
            row.part, row.what, row.peer, f"{number(row.ours)} {row.unit}",
            f"{number(row.theirs)} {row.unit}", f"{row.ratio:.2f}",
            "" if row.goal is None else f"≥ {row.goal:.2f}",
            f"{_REACHED[row.reached]} {row.note}".strip(),
        )  # fmt: skip
    return table


def number(value: float) -> str:
    """Return a number with three digits that count, and never with an exponent.

    Examples
    --------
    >>> number(1384.2), number(13.84), number(0.001384)
    ('1,384', '13.8', '0.00138')
    """
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 0.001 or not value else f"{value:.6f}".rstrip("0")


if __name__ == "__main__":
    sys.exit(main())
