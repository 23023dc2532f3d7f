"""A run as a person reads it: tables by kind, what changed, and what each question found."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from course_lib.errors import InputError
from course_lib.evaluation.metrics import NAMES
from course_lib.evaluation.questions import Question
from course_lib.evaluation.runs import Answer, Run, Unit, compare
from course_lib.evaluation.statistics import FEWEST, INTERVALS, bootstrap_interval, why_no_interval

if TYPE_CHECKING:
    from rich.console import Console


def print_run(console: Console, run: Run) -> None:
    """Print a table by file, and one by resource where questions name resources."""
    _print_table(console, run, "file")
    if any(answer.question.gold_resources for answer in run.answers):
        _print_table(console, run, "resource")


def print_comparison(show: Callable[[str], None], before: Run, after: Run) -> None:
    """Print what changed between two runs, by kind, with the interval of the difference.

    The questions that both asked are compared; how many others there are is said, by kind.
    """
    show(f"Against {before.name}, question by question:")
    earlier = {one.question.key: one for one in before.answers}
    later = {one.question.key: one for one in after.answers}
    both = [key for key in later if key in earlier]
    new = Run(after.name, tuple(later[key] for key in both))
    # Both are judged by the new labels: one that was mended does not change the search.
    old = Run(
        before.name,
        tuple(replace(earlier[key], question=later[key].question) for key in both),
    )
    lines = [f"{kind}: {compare(old.about(kind), new.about(kind))}" for kind in new.kinds]
    for whose, asked, other in (("the kept run", earlier, later), ("this run", later, earlier)):
        counts = Counter(one.question.kind for key, one in asked.items() if key not in other)
        if counts:
            told = ", ".join(f"{kind} ({count})" for kind, count in counts.items())
            lines.append(f"left out, since only {whose} asked them: {told}")
    judged = sum(earlier[key].question.right != later[key].question.right for key in both)
    if judged:
        lines.append(
            f"judged again: {judged} of the questions have other right answers than in the kept run"
        )
    for line in lines:
        show(f"  {line}")


def check_comparable(before: Run, questions: Iterable[Question]) -> None:
    """Refuse to compare with a run that asked none of these questions.

    Raises
    ------
    InputError
        If none of them is in it.
    """
    if not {one.question.key for one in before.answers} & {one.key for one in questions}:
        raise InputError(
            "the kept run asked none of these questions, so there is nothing to compare",
            hint="A question is the same where its id, its kind and its wording are: compare with "
            "a run of the same file of questions and the same corpora.",
        )


def print_each(show: Callable[[str], None], run: Run) -> None:
    """Print what each question found and missed, the ones that found nothing first."""
    for answer in sorted(run.answers, key=lambda one: -(one.place or len(one.files) + 1)):
        show("\n".join(_lines(answer)))


def _print_table(console: Console, run: Run, by: Unit) -> None:
    from rich.table import Table

    parts = {kind: run.about(kind) for kind in run.kinds}
    counts = {kind: len(part.values(by=by)) for kind, part in parts.items()}
    caption = INTERVALS
    if any(0 < count < FEWEST for count in counts.values()):
        caption += f"; n is too small for an interval with fewer than {FEWEST} questions"
    table = Table(title=f"{run.name}, by {by}", caption=caption)
    table.add_column("")
    for kind, count in counts.items():
        if count:
            table.add_column(f"{kind} ({count})", justify="right")
    for name in NAMES:
        values = [part.values(name, by) for kind, part in parts.items() if counts[kind]]
        table.add_row(name, *map(_cell, values))
    console.print(table)


def _cell(values: Sequence[float]) -> str:
    r"""Return a mean with its interval, or why it has none, as rich's markup.

    Examples
    --------
    >>> _cell([0.0, 1.0]), _cell([1.0] * 9), _cell([0.0, 1.0] * 50)
    ('0.500 (n too small)', '1.000 (all equal)', '0.500 \\[0.40, 0.60]')
    """
    if why := why_no_interval(values):
        return f"{statistics.fmean(values):.3f} ({why})"
    mean, low, high = bootstrap_interval(values)
    return f"{mean:.3f} \\[{low:.2f}, {high:.2f}]"


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
