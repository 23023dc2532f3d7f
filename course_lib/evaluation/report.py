"""A run as a person reads it: tables by kind, and what changed since another run."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from course_lib.errors import InputError
from course_lib.evaluation.metrics import NAMES
from course_lib.evaluation.questions import Question
from course_lib.evaluation.runs import Run, Unit, compare
from course_lib.evaluation.statistics import FEWEST, INTERVALS, bootstrap_interval, why_no_interval

if TYPE_CHECKING:
    import pandas as pd


def run_lines(run: Run) -> Iterator[str]:
    """Yield a table by file, and one by resource where questions name resources."""
    units: list[Unit] = ["file"]
    if any(answer.question.gold_resources for answer in run.answers):
        units.append("resource")
    for by in units:
        yield f"{run.name}, by {by}:"
        yield table(run, by).to_string()
    yield (f"{INTERVALS}; n is too small for one with fewer than {FEWEST} questions")


def table(run: Run, by: Unit = "file") -> pd.DataFrame:
    """Return the metrics of a run, one a row; a column for each kind of questions.

    Examples
    --------
    >>> from course_lib.evaluation.questions import Question
    >>> from course_lib.evaluation.runs import Ranking
    >>> asked = Question("q1", "When?", "docs", ("a.md", "c.md"))
    >>> print(table(Run("dense", (Ranking(asked, ("b.md", "a.md"), ()),))).loc[["mrr@10"]])
                       docs (1)
    mrr@10  0.500 (n too small)
    """
    import pandas as pd

    columns = {}
    for kind in run.kinds:
        part = run.about(kind)
        if count := len(part.values(by=by)):
            columns[f"{kind} ({count})"] = [_cell(part.values(name, by)) for name in NAMES]
    return pd.DataFrame(columns, index=list(NAMES))


def comparison_lines(before: Run, after: Run) -> Iterator[str]:
    """Yield what changed between two runs, by kind, with the interval of the difference.

    The questions that both asked are compared; how many others there are is said, by kind.
    """
    yield f"Against {before.name}, question by question:"
    earlier = {one.question.key: one for one in before.answers}
    later = {one.question.key: one for one in after.answers}
    both = [key for key in later if key in earlier]
    new = Run(after.name, tuple(later[key] for key in both))
    # Both are judged by the new labels: one that was mended does not change the search.
    old = Run(
        before.name,
        tuple(replace(earlier[key], question=later[key].question) for key in both),
    )
    for kind in new.kinds:
        yield f"  {kind}: {compare(old.about(kind), new.about(kind))}"
    for whose, asked, other in (("the kept run", earlier, later), ("this run", later, earlier)):
        counts = Counter(one.question.kind for key, one in asked.items() if key not in other)
        if counts:
            told = ", ".join(f"{kind} ({count})" for kind, count in counts.items())
            yield f"  left out, since only {whose} asked them: {told}"
    judged = sum(earlier[key].question.right != later[key].question.right for key in both)
    if judged:
        yield (
            f"  judged again: {judged} of the questions have other right answers than in the kept "
            "run"
        )


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


def _cell(values: Sequence[float]) -> str:
    """Return a mean with its interval, or why it has none.

    Examples
    --------
    >>> _cell([0.0, 1.0]), _cell([1.0] * 9), _cell([0.0, 1.0] * 50)
    ('0.500 (n too small)', '1.000 (all equal)', '0.500 [0.40, 0.60]')
    """
    if why := why_no_interval(values):
        return f"{statistics.fmean(values):.3f} ({why})"
    mean, low, high = bootstrap_interval(values)
    return f"{mean:.3f} [{low:.2f}, {high:.2f}]"
