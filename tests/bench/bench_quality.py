"""How good search is: labelled questions over real corpora, in every mode, by file.

The course's own data is what everybody has. Given the corpora that the two files
`questions/kubeflow*.jsonl` ask about, in COURSE_BENCH_MARKDOWN (the folder ``docs``) and
COURSE_BENCH_YAML (``manifests``), those are measured as well, each alone and both in one index;
COURSE_BENCH_QUESTIONS names a file with more questions about them. Their first run encodes 10,000
chunks, which takes minutes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psycopg

from course_lib.embedder import EmbeddingClient, VectorCache
from course_lib.evaluation import Corpus, Question, Run, compare, evaluate, indexed, read_questions
from course_lib.evaluation.corpora import searcher
from course_lib.records import Query
from course_lib.settings import project_root, state_dir
from tests.bench.measure import Row

Mode = Literal["dense", "hybrid", "hybrid + maxsim"]
MODES: tuple[Mode, ...] = ("dense", "hybrid", "hybrid + maxsim")

OWN_SETS = ("own", "tune", "test", "fresh")
QUESTIONS = Path(__file__).parent / "questions"
GOALS = (
    ("docs", "own corpus", "mrr@10", 0.85),
    ("docs", "own corpus", "hit@10", 0.95),
    ("docs", "joint index", "mrr@10", 0.80),
    ("manifests", "own corpus", "mrr@10", 0.72),
    ("manifests", "own corpus", "hit@10", 0.92),
    ("manifests", "joint index", "mrr@10", 0.62),
)
"""What hybrid search with MaxSim is to reach; README.md says how near unseen questions came."""


@dataclass(frozen=True)
class Asked:
    """A corpus and the sets of questions about it, by their names."""

    corpus: Corpus
    sets: Mapping[str, Sequence[Question]]

    @property
    def questions(self) -> list[Question]:
        return [one for questions in self.sets.values() for one in questions]


def measure() -> list[Row]:
    """Ask every question in every mode; compare each mode with the one before it."""
    embedder = EmbeddingClient(cache=VectorCache(state_dir() / "bench" / "vectors.sqlite"))
    embedder.tokens_kept = 2_000_000_000  # each passage is read word by word only once
    rows = _measure("course", _own_corpora(), embedder)
    kubeflow = _kubeflow_corpora()
    if kubeflow:
        rows += _measure("Kubeflow", kubeflow, embedder)
    return rows


def _measure(name: str, asked: Sequence[Asked], embedder: EmbeddingClient) -> list[Row]:
    rows = []
    with indexed([one.corpus for one in asked], embedder) as conn:
        for one in asked:
            kind = one.corpus.kind
            alone = _ask(conn, embedder, one, own=True)
            joint = _ask(conn, embedder, one, own=False)
            for label, questions in one.sets.items():
                what = f"{name} {kind}, {label}"
                apart, together = _part(alone, questions), _part(joint, questions)
                rows += _rows(what, apart) + _rows(f"{what}, joint index", together)
                if label not in OWN_SETS:
                    rows += _goal_rows(kind, label, apart, together)
    return rows


def _goal_rows(
    kind: str, label: str, alone: Mapping[Mode, Run], joint: Mapping[Mode, Run]
) -> list[Row]:
    """Return the rows of the goals for one kind of questions."""
    runs = {"own corpus": alone[MODES[-1]], "joint index": joint[MODES[-1]]}
    return [
        Row("quality", f"Kubeflow {kind}, {label}, {where}: {metric}, goal", "goal",
            runs[where].means()[metric], goal, metric, runs[where].means()[metric] / goal, 1.0,
            str(runs[where].interval(metric)))
        for about, where, metric, goal in GOALS
        if about == kind
    ]  # fmt: skip


def _rows(what: str, runs: Mapping[Mode, Run]) -> list[Row]:
    """Return a row a mode, against the mode before."""
    rows = []
    for at, (mode, run) in enumerate(runs.items()):
        before = runs[MODES[max(at - 1, 0)]]
        change = compare(before, run)
        rows.append(
            Row("quality", f"{what} ({len(run.answers)}): {mode}, MRR@10 by file",
                before.name, change.after, change.before, "MRR",
                change.after / max(change.before, 1e-9), None,
                f"{_note(run)}; against {before.name} {change.difference}")
        )  # fmt: skip
    return rows


def _note(run: Run) -> str:
    """Return what else is to be known of a run."""
    mine = run.means()
    rest = ", ".join(f"{name} {mine[name]:.2f}" for name in ("hit@1", "hit@5", "hit@10"))
    return f"MRR {run.interval()}, {rest}"


def _ask(
    conn: psycopg.Connection,
    embedder: EmbeddingClient,
    asked: Asked,
    *,
    own: bool,
) -> dict[Mode, Run]:
    """Ask every question in every mode, in its own corpus or in all."""
    return {
        mode: evaluate(
            searcher(
                conn,
                embedder,
                Query(
                    mode="dense" if mode == "dense" else "hybrid",
                    rerank="maxsim" if mode == "hybrid + maxsim" else None,
                ),
                own=own,
            ),
            asked.questions,
            name=mode,
        )
        for mode in MODES
    }


def _part(runs: Mapping[Mode, Run], questions: Sequence[Question]) -> dict[Mode, Run]:
    """Return the runs of some of their questions."""
    some = {(one.id, one.question) for one in questions}
    return {
        mode: Run(
            mode,
            tuple(one for one in run.answers if (one.question.id, one.question.question) in some),
        )
        for mode, run in runs.items()
    }


def _own_corpora() -> list[Asked]:
    data = project_root() / "data"
    names = {"docs": "documents", "manifests": "manifests", "code": "code"}
    fresh = _to_tune_on("course-fresh.jsonl")
    return [
        Asked(
            Corpus(kind, data / name),
            {
                "own": read_questions(data / "questions" / f"{name}.jsonl"),
                "fresh": [question for question in fresh if question.kind == kind],
            },
        )
        for kind, name in names.items()
    ]


def _to_tune_on(name: str) -> list[Question]:
    """Return one half of the fresh questions; the other is asked once, when all is decided."""
    return [one for one in read_questions(QUESTIONS / name) if one.split == "tune"]


def _kubeflow_corpora() -> list[Asked]:
    """Return the corpora that the environment names, if they are those of the questions."""
    folders = {
        kind: Path(os.environ[name])
        for kind, name in (("docs", "COURSE_BENCH_MARKDOWN"), ("manifests", "COURSE_BENCH_YAML"))
        if os.environ.get(name)
    }
    if len(folders) < 2:
        return []
    questions = read_questions(QUESTIONS / "kubeflow.jsonl")
    fresh = _to_tune_on("kubeflow-fresh.jsonl")
    sets: dict[str, list[Question]] = {"tune": [], "test": [], "fresh": fresh}
    for question in questions:
        sets[question.split].append(question)
    more = os.environ.get("COURSE_BENCH_QUESTIONS")
    if more:
        sets[Path(more).stem] = read_questions(Path(more))
    for question in (one for some in sets.values() for one in some):
        for path in question.gold_paths:
            if not (folders[question.kind] / path).is_file():
                told = f"{folders[question.kind]} has no {path}, which a question is about"
                print(f"{told}: only the course's own data is measured", file=sys.stderr)
                return []
    return [
        Asked(
            Corpus(kind, folder),
            {
                label: about
                for label, some in sets.items()
                if (about := [question for question in some if question.kind == kind])
            },
        )
        for kind, folder in folders.items()
    ]
