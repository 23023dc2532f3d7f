"""The questions about the documents, and a first, plain measure of how a search answers them.

Lab 12 takes measuring apart; until then one number for "found it" and one for "how far up" are
enough.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_lib.errors import InputError
from course_lib.settings import project_root


@dataclass(frozen=True)
class Question:
    """A question, and where its answer stands.

    Attributes
    ----------
    id
        As in ``"q01"``.
    question
        What is asked.
    kind
        The partition that it is about, as in ``"docs"``.
    gold_paths
        Names of the documents that hold the answer.
    gold_resources
        Kind and name of the resources in them, for manifests and code.
    also_acceptable_paths
        Documents that answer it too, if less directly.
    answer_contains
        Phrases of which the answering passage holds at least one.
    """

    id: str
    question: str
    kind: str
    gold_paths: tuple[str, ...]
    gold_resources: tuple[dict[str, str], ...] = ()
    also_acceptable_paths: tuple[str, ...] = ()
    answer_contains: tuple[str, ...] = ()

    def is_answered_by(self, document_name: str, content: str) -> bool:
        r"""Tell whether a passage holds the answer.

        It does if it comes from one of the documents and holds one of the phrases; case and line
        breaks do not count.

        Examples
        --------
        >>> q = Question("q", "?", "docs", ("a.md",), answer_contains=("at night",))
        >>> q.is_answered_by("a.md", "It runs at\nnight.")
        True
        >>> q.is_answered_by("b.md", "It runs at night.")
        False
        """
        if document_name not in self.gold_paths + self.also_acceptable_paths:
            return False
        passage = _plain(content)
        return any(_plain(phrase) in passage for phrase in self.answer_contains)

    def names_owner(self, text: str) -> bool:
        """Tell whether a text names kind and name of a resource that holds the answer.

        Examples
        --------
        >>> q = Question("m", "?", "manifests", ("a.yaml",), ({"kind": "Role", "name": "reader"},))
        >>> q.names_owner("# v1 Role reader"), q.names_owner("# v1 Role writer")
        (True, False)
        """
        return any(one["kind"] in text and one["name"] in text for one in self.gold_resources)


@dataclass(frozen=True)
class Measurement:
    """What a search finds and how long it takes.

    Attributes
    ----------
    recall
        Share of the questions with an answering passage among the first `k`.
    mrr
        Mean of 1 / rank of the first answering passage (0 where there is none).
    latency_ms
        Median milliseconds of a search.
    k
        How many results counted.
    questions
        How many questions were asked.
    missed
        The questions without an answer.
    """

    recall: float
    mrr: float
    latency_ms: float
    k: int
    questions: int
    missed: tuple[Question, ...]

    def __str__(self) -> str:
        return (
            f"recall@{self.k} {self.recall:.2f}, MRR {self.mrr:.2f}, "
            f"{self.latency_ms:.1f} ms at the median, {self.questions} questions"
        )


def questions_for(data_dir: Path) -> list[Question]:
    """Return the questions about a folder of documents.

    They are in `questions/<name of the folder>.jsonl` beside it, or else the course's own.
    """
    beside = data_dir.parent / "questions" / f"{data_dir.name}.jsonl"
    own = project_root() / "data" / "questions" / "documents.jsonl"
    return read_questions(beside if beside.is_file() else own)


def read_questions(path: Path) -> list[Question]:
    """Read questions, one JSON object a line.

    Raises
    ------
    InputError
        If the file is not there or a line is no question.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputError(f"{path.name} cannot be read: {error.strerror}") from None
    questions = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            questions.append(_question(json.loads(line), number))
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path.name}, line {number} is no question: {error!r}") from None
    return questions


def measure(
    search: Callable[[str], Sequence[Any]], questions: Iterable[Question], k: int = 5
) -> Measurement:
    """Ask each question once and look at the first `k` results.

    Parameters
    ----------
    search
        Gets the question, returns results with `document_name` and `content`, best first.
    questions
        What to ask.
    k
        How many results count.

    Examples
    --------
    >>> from types import SimpleNamespace as Result
    >>> question = Question("q", "When?", "docs", ("a.md",), answer_contains=("at night",))
    >>> found = [Result(document_name="a.md", content="By day."),
    ...          Result(document_name="a.md", content="No, at night.")]
    >>> measurement = measure(lambda text: found, [question])
    >>> measurement.recall, measurement.mrr
    (1.0, 0.5)
    """
    ranks: list[float] = []
    times: list[float] = []
    missed: list[Question] = []
    for question in questions:
        begun = time.perf_counter()
        results = search(question.question)
        times.append((time.perf_counter() - begun) * 1000)
        hits = (
            rank
            for rank, result in enumerate(results[:k], start=1)
            if question.is_answered_by(result.document_name, result.content)
        )
        first = next(hits, None)
        ranks.append(1 / first if first else 0.0)
        if first is None:
            missed.append(question)
    if not ranks:
        raise InputError("There are no questions to measure with")
    return Measurement(
        recall=sum(rank > 0 for rank in ranks) / len(ranks),
        mrr=statistics.fmean(ranks),
        latency_ms=statistics.median(times),
        k=k,
        questions=len(ranks),
        missed=tuple(missed),
    )


def _question(record: dict[str, Any], number: int) -> Question:
    lists = ("gold_paths", "gold_resources", "also_acceptable_paths", "answer_contains")
    return Question(
        id=str(record.get("id", f"q{number:02d}")),
        question=str(record["question"]),
        kind=str(record.get("kind", "")),
        **{name: tuple(record.get(name, ())) for name in lists},
    )


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
