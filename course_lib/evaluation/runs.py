"""A run: every question asked of one search goes in; what was found, measured, comes out.

A run keeps what was found and no metric, so that one that was written to a file can be measured
and compared with any other run of the same questions.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from course_lib.errors import InputError
from course_lib.evaluation.metrics import DEPTH, NAMES, all_metrics, first_different
from course_lib.evaluation.questions import Question, composed
from course_lib.evaluation.statistics import (
    ALL_EQUAL,
    TOO_FEW,
    Interval,
    bootstrap_interval,
    paired_interval,
    why_no_interval,
)
from course_lib.progress import progress_bar

Unit = Literal["file", "resource"]


@dataclass(frozen=True)
class Ranking:
    """What was found for one question: the first ten different files and resources."""

    question: Question
    files: tuple[str, ...]
    resources: tuple[str, ...]
    seconds: float = 0.0

    def metrics(self, by: Unit = "file") -> dict[str, float]:
        """Return the metrics of this question by their names."""
        if by == "file":
            asked = self.question
            return all_metrics(self.files, asked.gold_paths, asked.also_acceptable_paths)
        wanted = {_resource(one["kind"], one["name"]) for one in self.question.gold_resources}
        return all_metrics(self.resources, wanted)

    @cached_property
    def place(self) -> int | None:
        """Place of the first file that answers; None where there is none."""
        places = enumerate(self.files, start=1)
        return next((place for place, file in places if file in self.question.paths), None)


@dataclass(frozen=True)
class Run:
    """What one search found for each question.

    Attributes
    ----------
    name
        How it was searched, such as ``"hybrid"``.
    answers
        In the order of the questions.
    """

    name: str
    answers: tuple[Ranking, ...]

    @property
    def kinds(self) -> list[str]:
        """The kinds of the questions, in the order in which they first come."""
        return list(dict.fromkeys(answer.question.kind for answer in self.answers))

    def about(self, kind: str) -> Run:
        """Return the run of the questions of one kind."""
        return Run(self.name, tuple(one for one in self.answers if one.question.kind == kind))

    def values(self, metric: str = "mrr@10", by: Unit = "file") -> list[float]:
        """Return one number a question. By resource, questions without gold resources are left out.

        Raises
        ------
        InputError
            If there is no such metric.
        """
        if metric not in NAMES:
            raise InputError(
                f"there is no metric {metric!r}", hint=f"There are {', '.join(NAMES)}."
            )
        return [
            answer.metrics(by)[metric]
            for answer in self.answers
            if by == "file" or answer.question.gold_resources
        ]

    def interval(self, metric: str = "mrr@10") -> Interval:
        """Return a metric's mean and where it would be for other questions of this sort."""
        return bootstrap_interval(self.values(metric))

    def means(self, by: Unit = "file") -> dict[str, float]:
        """Return the means of all metrics by their names, and `n`, the number of questions."""
        columns = {metric: self.values(metric, by) for metric in NAMES}
        count = len(columns[NAMES[0]])
        means = {name: statistics.fmean(values) for name, values in columns.items() if values}
        return {**(means or dict.fromkeys(NAMES, 0.0)), "n": count}

    def by_kind(self) -> dict[str, dict[str, float]]:
        """Return kind → means: what `course eval --json` prints."""
        return {kind: self.about(kind).means() for kind in self.kinds}


@dataclass(frozen=True)
class Comparison:
    """Two runs of the same questions, compared question by question.

    Attributes
    ----------
    metric
        What is compared.
    before, after
        Its means.
    difference
        After minus before, as an interval.
    better, worse
        Ids of the questions that the second run answers better, or worse.
    unsure
        Why the interval says nothing; empty where it does.
    """

    metric: str
    before: float
    after: float
    difference: Interval
    better: tuple[str, ...]
    worse: tuple[str, ...]
    unsure: str = ""

    @property
    def verdict(self) -> Literal["better", "worse", "undecided"]:
        """What the interval of the difference says."""
        if self.difference.low > 0 and not self.unsure:
            return "better"
        return "worse" if self.difference.high < 0 and not self.unsure else "undecided"

    def __str__(self) -> str:
        mean, low, high = self.difference
        shown = f"({_UNSURE[self.unsure]})" if self.unsure else f"[{low:+.3f}, {high:+.3f}]"
        return (
            f"{self.metric} {self.before:.3f} → {self.after:.3f}: {mean:+.3f} {shown}, questions "
            f"better: {len(self.better)}, worse: {len(self.worse)}; {self.verdict}"
        )


_UNSURE = {
    TOO_FEW: "n is too small for an interval",
    ALL_EQUAL: "every question changed by the same, so there is no interval",
}


def evaluate(
    search: Callable[[Question], Sequence[Any]],
    questions: Iterable[Question],
    *,
    name: str = "",
    progress: bool = False,
) -> Run:
    """Ask every question once and keep what was found.

    Parameters
    ----------
    search
        Gets a question, returns passages, best first; enough of them that ten different files are
        among them. What is read of each is its `document_name`, `repo_slug`, `kind` and `name`, as
        `SearchResult` has them. A passage of a corpus (`repo_slug`) that is not the question's
        kind is one of another file, even where its path is spelt the same.
    questions
        What to ask.
    name
        Of the run.
    progress
        Show a bar on a terminal.

    Raises
    ------
    InputError
        If there are no questions.

    Examples
    --------
    >>> from types import SimpleNamespace as Passage
    >>> question = Question("q", "When?", "docs", ("a.md",))
    >>> found = [Passage(document_name=name, repo_slug="docs", kind="doc-section", name="")
    ...          for name in ("b.md", "b.md", "a.md")]
    >>> evaluate(lambda question: found, [question]).means()["mrr@10"]
    0.5
    """
    asked = list(questions)
    if not asked:
        raise InputError("there are no questions to measure with")
    answers = []
    with progress_bar(len(asked), "ask", "question", shown=progress) as advance:
        for question in asked:
            begun = time.perf_counter()
            results = search(question)
            seconds = time.perf_counter() - begun
            files, resources = _rankings(results, question)
            answers.append(Ranking(question, files, resources, seconds))
            advance(1)
    return Run(name, tuple(answers))


def compare(before: Run, after: Run, metric: str = "mrr@10") -> Comparison:
    """Compare two runs question by question, by the files that were found.

    Raises
    ------
    InputError
        If they did not ask the same questions.

    Examples
    --------
    >>> asked = [Question(f"q{n}", "?", "docs", ("a.md",)) for n in range(4)]
    >>> def run(name, *files):
    ...     return Run(name, tuple(Ranking(q, (f,), ()) for q, f in zip(asked, files)))
    >>> old, new = ("a.md", "a.md", "b.md", "b.md"), ("a.md", "a.md", "a.md", "b.md")
    >>> print(compare(run("old", *old), run("new", *new)))
    mrr@10 0.500 → 0.750: +0.250 [+0.000, +0.750], questions better: 1, worse: 0; undecided
    """
    asked = [[(one.question.id, one.question.question) for one in run.answers]
             for run in (before, after)]  # fmt: skip
    if asked[0] != asked[1]:
        raise InputError(
            "the two runs did not ask the same questions in the same order",
            hint="Run both with the same file of questions and the same corpora.",
        )
    old, new = before.values(metric), after.values(metric)
    pairs = list(zip((one.question.id for one in before.answers), old, new, strict=True))
    return Comparison(
        metric,
        statistics.fmean(old),
        statistics.fmean(new),
        paired_interval(old, new),
        tuple(id_ for id_, was, now in pairs if now > was),
        tuple(id_ for id_, was, now in pairs if now < was),
        why_no_interval([now - was for _, was, now in pairs]),
    )


def _rankings(
    results: Sequence[Any], question: Question
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the first different files and resources, named so that equal names are equal things.

    What is in another corpus bears its corpus before its path. A resource in a file that does
    not answer bears the file before its own name: another overlay has another one of that name.
    """
    files, resources = [], []
    for result in results:
        is_elsewhere = result.repo_slug != question.kind
        name = composed(result.document_name)
        file = f"{result.repo_slug}:{name}" if is_elsewhere else name
        resource = _resource(result.kind, result.name)
        files.append(file)
        resources.append(resource if file in question.paths else f"{file} {resource}")
    return tuple(first_different(files, DEPTH)), tuple(first_different(resources, DEPTH))


def _resource(kind: str, name: str) -> str:
    return f"{kind}/{name}"
