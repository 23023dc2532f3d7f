"""A run as a person reads it: tables by kind, what changed, and what each question found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from course_lib.evaluation.metrics import NAMES
from course_lib.evaluation.runs import Answer, Run, Unit, compare

if TYPE_CHECKING:
    from rich.console import Console


def print_run(console: Console, run: Run) -> None:
    """Print a table by file, and one by resource where questions name resources."""
    _print_table(console, run, "file")
    if any(answer.question.gold_resources for answer in run.answers):
        _print_table(console, run, "resource")


def print_comparison(console: Console, before: Run, after: Run) -> None:
    """Print what changed between two runs, by kind, with the interval of the difference."""
    console.print(f"Against {before.name}, question by question:")
    for kind in after.kinds:
        console.print(
            f"  {kind}: {compare(before.about(kind), after.about(kind))}", highlight=False
        )


def print_each(console: Console, run: Run) -> None:
    """Print what each question found and missed, the ones that found nothing first."""
    for answer in sorted(run.answers, key=lambda one: -(one.place or len(one.files) + 1)):
        console.print("\n".join(_lines(answer)), markup=False, highlight=False, soft_wrap=True)


def _print_table(console: Console, run: Run, by: Unit) -> None:
    from rich.table import Table

    parts = {kind: run.about(kind) for kind in run.kinds}
    counts = {kind: len(part.values(by=by)) for kind, part in parts.items()}
    table = Table(
        title=f"{run.name}, by {by}", caption="in brackets: where 95 % of redrawn sets lie"
    )
    table.add_column("")
    for kind, count in counts.items():
        if count:
            table.add_column(f"{kind} ({count})", justify="right")
    for name in NAMES:
        intervals = [part.interval(name, by) for kind, part in parts.items() if counts[kind]]
        cells = [f"{one.mean:.3f} \\[{one.low:.2f}, {one.high:.2f}]" for one in intervals]
        table.add_row(name, *cells)
    console.print(table)


def _lines(answer: Answer) -> list[str]:
    r"""Return what one question found and missed.

    Examples
    --------
    >>> from course_lib.evaluation.questions import Question
    >>> asked = Question("q1", "When?", "docs", ("a.md", "c.md"))
    >>> print("\n".join(_lines(Answer(asked, ("b.md", "a.md"), ()))))
    q1  place 2  When?
        1 b.md
      ✓ 2 a.md
      missed: c.md
    """
    asked = answer.question
    place = f"place {answer.place}" if answer.place else "not found"
    lines = [f"{asked.id}  {place}  {asked.question}"]
    for at, file in enumerate(answer.files, start=1):
        if at > max(3, answer.place or 0):
            break
        lines.append(f"  {'✓' if file in asked.paths else ' '} {at} {file}")
    if answer.missed:
        lines.append(f"  missed: {', '.join(answer.missed)}")
    return lines
