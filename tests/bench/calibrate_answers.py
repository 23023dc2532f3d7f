"""How sure the extractive generator can be: labelled questions go in, weights and figures come out.

Run it after a change to the search, to the units or to the signs, and put the weights that it
prints into `course_lib/answers/confidence.py`:

    python -m tests.bench.calibrate_answers

The figures are of five-fold cross-validation: each question is judged with weights that were fitted
without it. The questions without an answer are weighed as heavily as the others together.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
import psycopg

from course_lib.answers import Passage, retrieve_context
from course_lib.answers.confidence import ENOUGH, LEVELS, Signs, in_words
from course_lib.answers.generators.base import Request
from course_lib.answers.generators.extractive import Extractive
from course_lib.answers.prompts import Prompt
from course_lib.answers.units import units_of
from course_lib.embedder import EmbeddingClient
from course_lib.indexing import ingest
from course_lib.records import Query, Scope
from course_lib.settings import project_root
from course_lib.store import connect, fresh_database

PARTITIONS = {"documents": "documentation", "manifests": "code_manifests", "code": "code_pipelines"}
FOLDS = 5


class Judged(NamedTuple):
    """A question's set, its signs, what is quoted when it is answered, and what should be in it."""

    name: str
    signs: Signs
    quoted: str
    wanted: tuple[str, ...]


class Measured(Extractive):
    """The generator, which answers whatever it thinks of its chances and keeps the signs."""

    signs = Signs(0, 0, 0, 0)

    def _judge(self, question: str, units: Any) -> tuple[list[float], Signs]:
        scores, self.signs = super()._judge(question, units)
        return scores, Signs(1, 1, 1, 0)


def main() -> None:
    """Print the weights and how well they do."""
    judged = _judge_all()
    signs = np.array([one.signs for one in judged])
    answerable = np.array([one.name in PARTITIONS for one in judged])
    model = _fit(signs, answerable)
    print("WEIGHTS =", Signs(*(round(float(weight), 2) for weight in model.coef_[0])))
    print("CONSTANT =", round(float(model.intercept_[0]), 2))
    chances = _cross_validated(signs, answerable)
    from sklearn.metrics import roc_auc_score

    print(f"area under the ROC curve: {roc_auc_score(answerable, chances):.3f}")
    names = np.array([one.name for one in judged])
    for name in dict.fromkeys(names.tolist()):
        some = chances[names == name]
        said = "answered" if name in PARTITIONS else "refused"
        share = (some >= ENOUGH).mean() if name in PARTITIONS else (some < ENOUGH).mean()
        print(f"{name}: {len(some)} questions, {share:.0%} {said}")
    level = np.array([in_words(chance) for chance in chances])
    for said in dict.fromkeys(in_words(least) for least in LEVELS):
        with_one, without = (
            int((level == said)[which].sum()) for which in (answerable, ~answerable)
        )
        print(f"{said}: {with_one} with an answer, {without} without")
    for name in PARTITIONS:
        found = [
            any(_squeezed(text) in _squeezed(one.quoted) for text in one.wanted)
            for one in judged
            if one.name == name
        ]
        print(f"{name}: {np.mean(found):.0%} quote the very words that are the answer")


def _judge_all() -> list[Judged]:
    data = project_root() / "data"
    embedder = EmbeddingClient(cache=True)
    judged = []
    with fresh_database("calibrate") as fresh, connect(fresh.url, autocommit=True) as conn:
        for folder, partition in PARTITIONS.items():
            scope = Scope(repo=folder, partition=partition)
            ingest(data / folder, scope, conn=conn, embedder=embedder)
        for name in (*PARTITIONS, "unanswerable"):
            lines = (data / "questions" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
            for line in lines:
                question = json.loads(line)
                judged.append(_judge(conn, embedder, question, name))
    return judged


def _judge(
    conn: psycopg.Connection, embedder: EmbeddingClient, question: dict[str, Any], name: str
) -> Judged:
    asked = question["question"]
    passages: tuple[Passage, ...] = retrieve_context(conn, embedder, Query(asked, top_k=6)).passages
    assert any(units_of(passage) for passage in passages)
    generator = Measured(embedder)
    quoted = "".join(generator.stream(Request(Prompt("", ""), asked, passages, 1, 0)))
    label = name if name in PARTITIONS else f"no answer, {question['kind']}"
    return Judged(label, generator.signs, quoted, tuple(question["answer_contains"]))


def _fit(signs: np.ndarray[Any, Any], answerable: np.ndarray[Any, Any]) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=10, class_weight="balanced", max_iter=1_000).fit(signs, answerable)


def _cross_validated(
    signs: np.ndarray[Any, Any], answerable: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    from sklearn.model_selection import StratifiedKFold

    chances = np.zeros(len(signs))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    for seen, unseen in folds.split(signs, answerable):
        model = _fit(signs[seen], answerable[seen])
        chances[unseen] = model.predict_proba(signs[unseen])[:, 1]
    return chances


def _squeezed(text: str) -> str:
    return " ".join(text.replace("…", " ").split())


if __name__ == "__main__":
    main()
