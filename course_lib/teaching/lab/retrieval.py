"""The questions about a lab's documents, and a first, plain measure of how a search answers them.

Lab 16 takes measuring apart; until then one number for "found it" and one for "how far up" are
enough. Here an answer is a passage that holds it; `course_lib.evaluation` looks at files.
"""

from __future__ import annotations

import json
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import psycopg

from course_lib.answers.excerpts import COMMON
from course_lib.embedder import EmbeddingClient
from course_lib.errors import InputError
from course_lib.evaluation import Question, read_questions, recall_at, reciprocal_rank
from course_lib.loader import split_document
from course_lib.progress import progress_bar
from course_lib.records import Chunk, Document, Mode, Query, SearchResult, Span
from course_lib.retriever import search as search_passages
from course_lib.settings import project_root
from course_lib.store import create_schema, write_chunks

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

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


def without_answer() -> dict[str, list[str]]:
    """Return questions that no text of the course answers: near its subjects, and far from them.

    Examples
    --------
    >>> {kind: len(asked) for kind, asked in without_answer().items()}
    {'near': 28, 'far': 16}
    """
    kinds: dict[str, list[str]] = {}
    path = project_root() / "data" / "questions" / "unanswerable.jsonl"
    for asked in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        kinds.setdefault(asked["kind"], []).append(asked["question"])
    return kinds


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


class Corpora:
    """The same pages, cut in several ways: each way is a corpus with a name, in one database.

    Parameters
    ----------
    conn
        A connection to a lab's database.
    embedder
        The model.
    pages
        What is cut and stored.
    questions
        What is asked.

    Examples
    --------
    >>> corpora = Corpora(conn, embedder, pages, questions)  # doctest: +SKIP
    >>> corpora.index("sections", split_document)  # doctest: +SKIP
    >>> corpora.ask("sections", "dense")  # doctest: +SKIP
    [['1', 'answer', '3'], ['answer', '2', '3']]
    """

    def __init__(
        self,
        conn: psycopg.Connection[Any],
        embedder: EmbeddingClient,
        pages: Sequence[Document],
        questions: Sequence[Question],
    ) -> None:
        self.conn, self.embedder, self.pages, self.questions = conn, embedder, pages, questions
        create_schema(conn, embedder.dimension)

    def index(self, repo: str, split: Callable[[Document], Iterable[Chunk]]) -> None:
        """Store the pieces that `split` makes of the pages, as a corpus with the name `repo`."""
        pieces = [
            piece.model_copy(update={"repo_slug": repo})
            for page in self.pages
            for piece in split(page)
        ]
        texts = [piece.embedded_text for piece in pieces]
        write_chunks(self.conn, pieces, self.embedder.encode(texts, progress=True))

    def search(
        self, repo: str, mode: Mode, questions: Sequence[Question] | None = None
    ) -> list[list[SearchResult]]:
        """Return ten results of a corpus for each question, best first."""
        asked = self.questions if questions is None else questions
        vectors = self.embedder.encode([one.question for one in asked])
        queries = (
            Query(one.question, top_k=10, threshold=-1, mode=mode, repo=repo) for one in asked
        )
        return [search_passages(self.conn, *pair) for pair in zip(vectors, queries, strict=True)]

    def ask(
        self, repo: str, mode: Mode, questions: Sequence[Question] | None = None
    ) -> list[list[str]]:
        """Return a name for each of the ten results; see `rank_passages`."""
        asked = self.questions if questions is None else questions
        found = zip(self.search(repo, mode, asked), asked, strict=True)
        return [rank_passages(results, one) for results, one in found]


class FilePiece(NamedTuple):
    """A piece of a file: what a reader gets of it, and what is embedded."""

    document_name: str
    content: str
    text: str


def search_in(
    passages: Sequence[FilePiece], encode: Callable[[Sequence[str]], npt.NDArray[np.float32]]
) -> Callable[[str], list[FilePiece]]:
    """Return a search that puts all passages in order, the most similar first.

    Parameters
    ----------
    passages
        What is searched.
    encode
        Texts → unit vectors, such as ``lab.encode``.
    """
    vectors = encode([passage.text for passage in passages])

    def search(question: str) -> list[FilePiece]:
        scores = vectors @ encode([question])[0]
        return [passages[at] for at in (-scores).argsort(kind="stable")]

    return search


def cut_fixed(text: str, size: int, overlap: int) -> list[Span]:
    """Return the chunks of a text that is cut by its length alone.

    Examples
    --------
    >>> [span.text for span in cut_fixed("abcdefg", 4, 1)]
    ['abcd', 'defg']
    """
    starts = range(0, len(text) - overlap, size - overlap)
    return [Span(at, min(at + size, len(text)), text[at : at + size]) for at in starts]


def cut_all(
    files: Mapping[str, str],
    split: Callable[[str, int, int], Iterable[Span]],
    size: int,
    overlap: int,
) -> list[FilePiece]:
    """Return the chunks of all files, cut by a splitter such as `cut_fixed`."""
    return [
        FilePiece(name, one.text, one.text)
        for name, text in files.items()
        for one in split(text, size, overlap)
    ]


def count_torn(files: Mapping[str, str], passages: Iterable[FilePiece], most: int = 128) -> int:
    """Return how many sentences of at most so many characters are whole in no passage.

    Examples
    --------
    >>> count_torn({"a.md": "Stop. Wait here."}, [FilePiece("a.md", "Stop. Wa", "")])
    1
    """
    ends = r"(?<=[.!?:])\s+|\s*\n\s*"
    sentences = {(name, one) for name, text in files.items() for one in re.split(ends, text)}
    texts: dict[str, list[str]] = {name: [] for name in files}
    for passage in passages:
        texts[passage.document_name].append(passage.content)
    return sum(
        0 < len(one) <= most and not any(one in text for text in texts[name])
        for name, one in sentences
    )


def answered(
    questions: Sequence[Question],
    passages: Sequence[FilePiece],
    encode: Callable[[Sequence[str]], npt.NDArray[np.float32]],
    k: int = 5,
) -> list[float]:
    """Return for each question 1 if one of the `k` most similar passages answers it, else 0."""
    missed = measure(search_in(passages, encode), questions, k=k).missed
    return [float(one not in missed) for one in questions]


def can_repeat(chunk: str, overlap: int) -> int:
    r"""Return how many characters of a chunk the next can repeat, in whole lines and sentences.

    Examples
    --------
    >>> can_repeat("One. Two.\n", 8), can_repeat("One. Two.\n", 4)
    (5, 0)
    """
    repeated = 0
    for piece in reversed(re.split(r"(?<=\n)|(?<=\. )", chunk)):
        if repeated + len(piece) > overlap:
            break
        repeated += len(piece)
    return repeated


def stems(text: str) -> list[str]:
    """Return the words of a text in order, without common words and without endings.

    Examples
    --------
    >>> stems("It deserves a warning."), stems("Which warnings deserve it?")
    (['deserv', 'warn'], ['warn', 'deserv'])
    """
    return [_stem(word) for word in re.findall(r"\w+", text.casefold()) if word not in COMMON]


def _stem(word: str) -> str:
    shorter = re.sub(r"(?<=...)(ing|ed|es|s|e)$", "", word)
    return word if shorter == word else _stem(shorter)


def score_words(
    questions: Sequence[str], texts: Sequence[str], soon: float = 1.2, length: float = 0.75
) -> npt.NDArray[np.float64]:
    """Score each text for each question by their words (BM25), without common words and endings.

    Parameters
    ----------
    questions, texts
        A row and a column each.
    soon
        How soon more of the same word stops to count more: BM25's k1.
    length
        How much a long text loses, from 0 to 1: BM25's b.

    Examples
    --------
    >>> score_words(["the alarms"], ["an alarm", "the release"]).round(2).tolist()
    [[0.69, 0.0]]
    """
    import numpy as np

    counted = [Counter(stems(text)) for text in texts]
    lengths = np.array([one.total() for one in counted])
    damp = soon * (1 - length + length * lengths / lengths.mean())
    scores = np.zeros((len(questions), len(texts)))
    for row, question in zip(scores, questions, strict=True):
        for word in dict.fromkeys(stems(question)):  # each once, always in the same order
            found = np.array([one[word] for one in counted])
            holding = np.count_nonzero(found)
            rare = np.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
            row += rare * found * (soon + 1) / (found + damp)
    return scores


def first_by_both(
    question: str,
    chunks: Sequence[Chunk],
    encode: Callable[[Sequence[str]], npt.NDArray[np.float32]],
    most: int = 112,
) -> pd.DataFrame:
    """Return what a search by words and one by vectors show first, with the words in common.

    Parameters
    ----------
    question
        What is asked.
    chunks
        What is searched, under its title and headings.
    encode
        Texts → unit vectors, such as ``lab.encode``.
    most
        Characters shown of a text, below its heading.
    """
    import pandas as pd

    texts = [chunk.embedded_text for chunk in chunks]
    similarity = encode(texts) @ encode([question])[0]
    first = {"by words": score_words([question], texts)[0], "by vectors": similarity}
    rows = {}
    for way, scores in first.items():
        at = int(scores.argmax())
        shared = ", ".join(sorted({*stems(question)} & {*stems(texts[at])}))
        text = chunks[at].content.partition("\n\n")[2]
        rows[way] = chunks[at].source_path, shared or "none", f"{text[:most]} …"
    return pd.DataFrame(rows, index=["page", "shared words", "text"]).T


def find_right(questions: Sequence[Question], chunks: Sequence[Chunk]) -> npt.NDArray[np.int64]:
    """Return a row for each question: 1 for a chunk that answers it, 0 for the others."""
    import numpy as np

    right = [
        [asked.is_answered_by(one.source_path, one.content) for one in chunks]
        for asked in questions
    ]
    return np.array(right).astype(int)


def hit_in_five(scores: npt.NDArray[Any], right: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return 1 for each row with a right place among the five highest scores, else 0.

    Examples
    --------
    >>> import numpy as np
    >>> hit_in_five(np.array([[6, 5, 4, 3, 2, 1]]), np.array([[0, 0, 0, 0, 0, 1]])).tolist()
    [0]
    """
    import numpy as np

    five = (-scores).argsort(axis=1, kind="stable")[:, :5]
    hits: npt.NDArray[np.int64] = np.take_along_axis(right, five, axis=1).max(axis=1)
    return hits


def count_owned(passages: Sequence[FilePiece], questions: Iterable[Question]) -> int:
    """Return how many questions have a passage with the answer and its resource's kind and name."""
    return sum(
        any(
            asked.names_owner(one.text) and asked.is_answered_by(one.document_name, one.content)
            for one in passages
        )
        for asked in questions
    )
