"""The questions about a lab's documents, and a first, plain measure of how a search answers them.

Lab 16 takes measuring apart; until then one number for "found it" and one for "how far up" are
enough. Here an answer is a passage that holds it; `course_lib.evaluation` looks at files.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import psycopg

from course_lib.embedder import EmbeddingClient
from course_lib.errors import InputError
from course_lib.evaluation import Question, read_questions, recall_at, reciprocal_rank
from course_lib.loader import split_document
from course_lib.progress import progress_bar
from course_lib.records import Chunk, Document
from course_lib.settings import project_root
from course_lib.store import write_chunks

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

ANSWER = "answer"
"""What every passage that holds the answer is called where passages are ranked."""


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


def rank_passages(results: Iterable[Any], question: Question) -> list[str]:
    """Return a name for each passage: `ANSWER` where it holds the answer, its place elsewhere.

    Examples
    --------
    >>> from types import SimpleNamespace as Result
    >>> question = Question("q", "When?", "docs", ("a.md",), answer_contains=("at night",))
    >>> rank_passages([Result(document_name="a.md", content=text)
    ...                for text in ("By day.", "No, at night.")], question)
    ['1', 'answer']
    """
    return [
        ANSWER if question.is_answered_by(result.document_name, result.content) else str(place)
        for place, result in enumerate(results, start=1)
    ]


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
    recalls: list[float] = []
    ranks: list[float] = []
    times: list[float] = []
    missed: list[Question] = []
    asked = list(questions)
    with progress_bar(len(asked), "ask", "question") as advance:
        for question in asked:
            begun = time.perf_counter()
            results = search(question.question)
            times.append((time.perf_counter() - begun) * 1000)
            passages = rank_passages(results[:k], question)
            recalls.append(recall_at(passages, {ANSWER}, k))
            ranks.append(reciprocal_rank(passages, {ANSWER}, k))
            if not recalls[-1]:
                missed.append(question)
            advance(1)
    if not ranks:
        raise InputError("There are no questions to measure with")
    return Measurement(
        recall=statistics.fmean(recalls),
        mrr=statistics.fmean(ranks),
        latency_ms=statistics.median(times),
        k=k,
        questions=len(ranks),
        missed=tuple(missed),
    )


def pieces_of(page: Document, texts: Iterable[str]) -> list[Chunk]:
    """Return pieces of a page with these texts, under no heading."""
    first = split_document(page)[0]  # all other fields are those of this piece
    return [
        first.model_copy(update={"content": text, "custom_meta": {"chunkIndex": number}})
        for number, text in enumerate(texts)
    ]


def index_pages(
    conn: psycopg.Connection[Any],
    embedder: EmbeddingClient,
    pages: Iterable[Document],
    repo: str,
    split: Callable[[Document], Iterable[Chunk]],
) -> None:
    """Store the pieces that `split` makes of the pages, as a corpus with the name `repo`."""
    pieces = [
        piece.model_copy(update={"repo_slug": repo}) for page in pages for piece in split(page)
    ]
    texts = [piece.embedded_text for piece in pieces]
    write_chunks(conn, pieces, embedder.encode(texts, progress=True))


class Passage(NamedTuple):
    """A piece of a file: what a reader gets of it, and what is embedded."""

    document_name: str
    content: str
    text: str


Split = Callable[[str, str], Iterable[tuple[str, str]]]
"""Takes a file's name and text; returns what a reader gets and what is embedded, in pairs."""


def passages_of(split: Split, files: Mapping[str, str]) -> list[Passage]:
    """Return the pieces of all files.

    Examples
    --------
    >>> passages_of(lambda name, text: [(text, f"# {name}: {text}")], {"a.yaml": "a: 1"})
    [Passage(document_name='a.yaml', content='a: 1', text='# a.yaml: a: 1')]
    """
    return [Passage(name, *pair) for name, text in files.items() for pair in split(name, text)]


def search_in(
    passages: Sequence[Passage], encode: Callable[[Sequence[str]], npt.NDArray[np.float32]]
) -> Callable[[str], list[Passage]]:
    """Return a search that puts all passages in order, the most similar first.

    Parameters
    ----------
    passages
        What is searched.
    encode
        Texts → unit vectors, such as ``lab.encode``.
    """
    vectors = encode([passage.text for passage in passages])

    def search(question: str) -> list[Passage]:
        scores = vectors @ encode([question])[0]
        return [passages[at] for at in (-scores).argsort(kind="stable")]

    return search


def count_owned(passages: Sequence[Passage], questions: Iterable[Question]) -> int:
    """Return how many questions have a passage with the answer and its resource's kind and name."""
    return sum(
        any(
            asked.names_owner(one.text) and asked.is_answered_by(one.document_name, one.content)
            for one in passages
        )
        for asked in questions
    )
