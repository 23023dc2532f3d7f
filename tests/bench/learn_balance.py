"""Learn how partitions are weighed against each other: questions in, `balance.json` out.

A conditional logit model: of all the pieces that were read for a question, which one is in a file
that answers it? It learns from the course's own questions and from the half of
`questions/kubeflow.jsonl` that is for tuning; the other half is for `bench_quality` to measure.

    python -m tests.bench.learn_balance --markdown …/docs --yaml …/manifests
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from course_lib.embedder import EmbeddingClient, VectorCache
from course_lib.evaluation import Corpus, Question, indexed, read_questions
from course_lib.retriever import search
from course_lib.retriever.balance import partitions_in, read, words_of
from course_lib.settings import project_root, state_dir
from tests.bench.bench_quality import Remembering

Array = np.ndarray[Any, Any]

PARTITIONS = ("documentation", "code_manifests", "code_pipelines")
KNOWN_FROM = 3
"""A word has to stand in so many questions."""

SHRINK = 1.0
"""How strongly a word's weights are held at 0, so that a few questions do not decide."""

WRITTEN = project_root() / "course_lib" / "retriever" / "balance.json"


class Example(NamedTuple):
    """What was read for a question: one row a piece."""

    words: set[str]
    logs: Array
    """Logarithms of the likeness and, negative, of the place: float of shape (pieces, 2)."""
    partition: Array
    answers: Array


def examples(
    corpora: Sequence[Corpus], questions: Sequence[Question], embedder: EmbeddingClient
) -> list[Example]:
    """Ask every question in every partition; leave out those whose answer is not found at all."""
    asked = []
    with indexed(corpora, embedder) as conn:
        names = [name for name in partitions_in(conn) if name in PARTITIONS]
        for question in questions:
            vector = embedder.encode([question.question])[0]
            found = {
                name: search(conn, vector, 20, -1, name, question=question.question)
                for name in names
            }
            pieces = [
                (np.log(max(piece.likeness, 0.01)), -np.log(piece.place), PARTITIONS.index(name),
                 piece.result.repo_slug == question.kind
                 and piece.result.document_name in question.paths)
                for name, some in read(embedder, question.question, found).items()
                for piece in some if piece.likeness is not None
            ]  # fmt: skip
            table = np.array(pieces, float)
            if table[:, 3].any():
                asked.append(
                    Example(
                        words_of(question.question),
                        table[:, :2],
                        table[:, 2].astype(int),
                        table[:, 3].astype(bool),
                    )
                )
    return asked


class Fitted(NamedTuple):
    """The model: powers of likeness and place, weights of partitions, and of words in them."""

    powers: Array
    partitions: Array
    words: dict[str, Array]

    def order(self, example: Example) -> Array:
        """Return the pieces' logarithmic weights."""
        known = [self.words[word] for word in sorted(example.words) if word in self.words]
        lean = self.partitions + sum(known, np.zeros(len(PARTITIONS))) / max(len(known), 1) ** 0.5
        weights: Array = example.logs @ self.powers + lean[example.partition]
        return weights


def fit(asked: Sequence[Example]) -> Fitted:
    """Return the weights under which the pieces that answer are likeliest."""
    counts = Counter(word for example in asked for word in example.words)
    words = sorted(word for word, count in counts.items() if count >= KNOWN_FROM)
    spoken = np.array([[word in example.words for word in words] for example in asked], float)
    spoken /= np.sqrt(np.maximum(spoken.sum(axis=1, keepdims=True), 1))
    parts, longest = len(PARTITIONS), max(len(example.partition) for example in asked)
    logs = np.zeros((len(asked), longest, 2))
    belongs = np.zeros((len(asked), longest, parts))
    outside = np.full((len(asked), longest), -np.inf)
    wrong = np.full((len(asked), longest), -np.inf)
    for row, example in enumerate(asked):
        count = len(example.partition)
        logs[row, :count] = example.logs
        belongs[row, np.arange(count), example.partition] = 1
        outside[row, :count] = 0
        wrong[row, :count][example.answers] = 0

    def loss(values: Array) -> tuple[float, Array]:
        powers, bias, leans = values[:2], values[2 : 2 + parts], values[2 + parts :]
        leans = leans.reshape(len(words), parts)
        weights = logs @ powers + np.einsum("qcp,qp->qc", belongs, bias + spoken @ leans) + outside
        every = logsumexp(weights, axis=1, keepdims=True)
        right = logsumexp(weights + wrong, axis=1, keepdims=True)
        surplus = np.exp(weights - every) - np.exp(weights + wrong - right)
        by_partition = np.einsum("qc,qcp->qp", surplus, belongs)
        slope = [
            np.einsum("qc,qcf->f", surplus, logs),
            by_partition.sum(axis=0) + 0.02 * bias,
            (spoken.T @ by_partition + SHRINK * leans).ravel(),
        ]
        held = SHRINK / 2 * (leans**2).sum() + 0.01 * (bias**2).sum()
        return float((every - right).sum() + held), np.concatenate(slope)

    begin = np.zeros(2 + parts + len(words) * parts)
    best = minimize(loss, begin, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    leans = best[2 + parts :].reshape(len(words), parts)
    return Fitted(best[:2], best[2 : 2 + parts], dict(zip(words, leans, strict=True)))


def first_answers(model: Fitted, asked: Sequence[Example]) -> float:
    """Return the share of questions whose first piece is in a file that answers."""
    return float(np.mean([one.answers[np.argmax(model.order(one))] for one in asked]))


def by_folds(asked: Sequence[Example], folds: int = 5) -> float:
    """Return that share of questions that the model has not seen."""
    shares = []
    for fold in range(folds):
        seen = [one for at, one in enumerate(asked) if at % folds != fold]
        shares.append(first_answers(fit(seen), asked[fold::folds]))
    return float(np.mean(shares))


def write(model: Fitted, path: Path, name: str) -> None:
    """Write the weights, to two decimals, the words in alphabetical order."""

    def rounded(values: Array) -> dict[str, float]:
        return {
            partition: round(float(value), 2) + 0.0
            for partition, value in zip(PARTITIONS, values, strict=True)
        }

    record = {
        "model": name,
        "likeness": round(float(model.powers[0]), 2),
        "place": round(float(model.powers[1]), 2),
        "partitions": rounded(model.partitions),
        "words": {word: rounded(values) for word, values in sorted(model.words.items())},
    }
    text = json.dumps(record, indent=1)
    # A word's weights on one line.
    for partition in PARTITIONS:
        text = text.replace(f'\n   "{partition}"', f' "{partition}"').replace("\n  }", " }")
    path.write_text(text + "\n", encoding="utf-8")


def main() -> int:
    """Learn, say how well it goes, and write the weights."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--markdown", type=Path, required=True, help="the unpacked folder docs")
    parser.add_argument("--yaml", type=Path, required=True, help="the unpacked folder manifests")
    parser.add_argument("--output", type=Path, default=WRITTEN)
    arguments = parser.parse_args()
    embedder = Remembering(cache=VectorCache(state_dir() / "bench" / "vectors.sqlite"))
    asked = learning_set(embedder, arguments.markdown, arguments.yaml)
    model = fit(asked)
    print(
        f"{len(asked)} questions: first piece right {first_answers(model, asked):.3f}, "
        f"of unseen ones {by_folds(asked):.3f}",
        file=sys.stderr,
    )
    write(model, arguments.output, embedder.model_name)
    return 0


def learning_set(embedder: EmbeddingClient, markdown: Path, yaml: Path) -> list[Example]:
    """Return the course's own questions, and the half of the others that is for tuning."""
    data = project_root() / "data"
    own = {"docs": "documents", "manifests": "manifests", "code": "code"}
    questions = [
        one for name in own.values() for one in read_questions(data / "questions" / f"{name}.jsonl")
    ]
    asked = examples([Corpus(kind, data / name) for kind, name in own.items()], questions, embedder)
    more = read_questions(Path(__file__).parent / "questions" / "kubeflow.jsonl")
    return asked + examples(
        [Corpus("docs", markdown), Corpus("manifests", yaml)],
        [one for one in more if one.split == "tune"],
        embedder,
    )


if __name__ == "__main__":
    raise SystemExit(main())
