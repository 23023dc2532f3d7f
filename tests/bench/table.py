"""The table that a run ends with, and the line that says how far it is."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.table import Table
from rich.text import Text

from tests.bench.history import History
from tests.bench.measure import Row

_REACHED = {True: "[green]reached[/green]", False: "[red]missed[/red]", None: ""}


def make_table(rows: Sequence[Row], history: History, title: str) -> Table:
    """Return the rows as a table; `before` is the ratio of the last run on this hardware."""
    table = Table(title=title)
    for name in ("part", "what", "against", "ours", "theirs", "ratio", "before", "goal", ""):
        is_number = name in {"ours", "theirs", "ratio", "before"}
        table.add_column(name, justify="right" if is_number else "left")
    for row in rows:
        before = history.ratio(row)
        table.add_row(
            row.part, row.what, row.peer, f"{number(row.ours)} {row.unit}",
            f"{number(row.theirs)} {row.unit}", f"{row.ratio:.2f}",
            "" if before is None else f"{before:.2f}",
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


def minutes(seconds: float) -> str:
    """Return a time as people say it.

    Examples
    --------
    >>> minutes(12), minutes(50), minutes(250)
    ('12 s', '1 min', '4 min')
    """
    return f"{seconds:.0f} s" if seconds < 45 else f"{seconds / 60:.0f} min"


class Plan:
    """Which parts are measured, and how long each is going to take."""

    def __init__(self, estimates: Mapping[str, float]) -> None:
        self._estimates = estimates

    def left(self, part: str, elapsed: float = 0.0) -> float:
        """Return the seconds from the beginning of a part, or `elapsed` later, to the end."""
        names = list(self._estimates)
        later = names[names.index(part) + 1 :]
        here = max(self._estimates[part] - elapsed, 0.0)
        return here + sum(self._estimates[name] for name in later)

    def line(self, part: str, elapsed: float = 0.0) -> str:
        """Return what is being measured, which of how many it is, and about how long it takes."""
        names = list(self._estimates)
        place = f"{names.index(part) + 1} of {len(names)}"
        return f"measuring {part} ({place}), about {minutes(self.left(part, elapsed))} left"


@contextmanager
def shown(plan: Plan, part: str, *, alone: bool = True) -> Iterator[None]:
    """Say what is being measured: a line that moves on a terminal, a plain one elsewhere.

    `alone` is False for a part that shows a bar of its own.
    """
    console = Console(stderr=True)
    if not (console.is_terminal and alone):
        print(plan.line(part), file=sys.stderr, flush=True)
        yield
        return
    begin = time.monotonic()

    class Line(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(plan.line(part, time.monotonic() - begin))

    columns = (SpinnerColumn(), Line(), TextColumn("[dim]Ctrl-C keeps what was measured"))
    with Progress(*columns, console=console, transient=True) as progress:
        progress.add_task(part, total=None)
        yield
