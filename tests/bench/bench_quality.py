"""How good search is: labelled questions over real corpora, in every mode, by file.

The course's own data is what everybody has. Given the corpora that the two files
`questions/kubeflow*.jsonl` ask about, in COURSE_BENCH_MARKDOWN (the folder ``docs``) and
COURSE_BENCH_YAML (``manifests``), those are measured as well, each alone and both in one index;
COURSE_BENCH_QUESTIONS names a file with more questions about them. Their first run encodes 10,000
chunks, which takes minutes. COURSE_BENCH_FULL_SCHEMAS=1 also indexes the schemas that the policy
for custom resource definitions leaves out, which takes an hour.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import psycopg

from course_lib.embedder import EmbeddingClient, VectorCache
from course_lib.evaluation import Corpus, Question, Run, compare, evaluate, indexed, read_questions
from course_lib.evaluation.corpora import searcher
from course_lib.indexing import IngestOptions
from course_lib.loader import Registry
from course_lib.loader.parsers import BUILT_IN
from course_lib.records import Query
from course_lib.settings import project_root, state_dir
from tests.bench.measure import Row

Mode = Literal["dense", "hybrid", "hybrid + maxsim"]
MODES: tuple[Mode, ...] = ("dense", "hybrid", "hybrid + maxsim")

OWN_SETS = ("own", "tune", "test", "fresh")
QUESTIONS = Path(__file__).parent / "questions"
KNOWN: Mapping[str, Mapping[Mode, float]] = {
    "docs": {"dense": 0.74, "hybrid": 0.79, "hybrid + maxsim": 0.85},
    "manifests": {"dense": 0.51, "hybrid": 0.64, "hybrid + maxsim": 0.71},
}
"""MRR@10 by file that is known of questions like those that COURSE_BENCH_QUESTIONS names."""

KNOWN_JOINT: Mapping[str, Mapping[Mode, float]] = {
    "manifests": {"hybrid": 0.48, "hybrid + maxsim": 0.58},
}
"""The same in one index of docs and manifests."""

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
    embedder = Remembering(cache=VectorCache(state_dir() / "bench" / "vectors.sqlite"))
    rows = _measure("course", _own_corpora(), embedder)
    kubeflow = _kubeflow_corpora()
    if kubeflow:
        rows += _measure("Kubeflow", kubeflow, embedder)
        if os.environ.get("COURSE_BENCH_FULL_SCHEMAS"):
            rows += _full_schemas(kubeflow[-1], embedder)
    return rows


def _measure(name: str, asked: Sequence[Asked], embedder: EmbeddingClient) -> list[Row]:
    rows = []
    with indexed([one.corpus for one in asked], embedder) as conn:
        for one in asked:
            kind = one.corpus.kind
            alone = _ask(conn, embedder, one, own=True)
            for label, questions in one.sets.items():
                known = KNOWN.get(kind) if label not in OWN_SETS else None
                rows += _rows(f"{name} {kind}, {label}", _part(alone, questions), known)
            joint = _ask(conn, embedder, one, own=False)
            listed = _ask(conn, embedder, one, own=False, one_list=True)
            for label, questions in one.sets.items():
                known = KNOWN_JOINT.get(kind) if label not in OWN_SETS else None
                some = _part(joint, questions)
                rows += _rows(f"{name} {kind}, {label}, joint index", some, known)
                rows.append(_merging_row(f"{name} {kind}, {label}", _part(listed, questions), some))
                if label not in OWN_SETS:
                    rows += _goal_rows(kind, label, _part(alone, questions), some)
    return rows


def _merging_row(what: str, listed: Mapping[Mode, Run], joint: Mapping[Mode, Run]) -> Row:
    """Return what searching the partitions alone brings, against one list of all of them."""
    before, after = listed[MODES[-1]], joint[MODES[-1]]
    change = compare(before, after)
    return Row(
        "quality", f"{what} ({len(after.answers)}): partitions searched alone, joint index, MRR@10",
        "one list of all", change.after, change.before, "MRR",
        change.after / max(change.before, 1e-9), None, f"difference {change.difference}"
    )  # fmt: skip


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


def _rows(
    what: str, runs: Mapping[Mode, Run], known: Mapping[Mode, float] | None = None
) -> list[Row]:
    """Return a row a mode: against what is known, or else against the mode before."""
    rows, known = [], known or {}
    for at, (mode, run) in enumerate(runs.items()):
        before = runs[MODES[max(at - 1, 0)]]
        mine, change = run.means(), compare(before, run)
        theirs = known.get(mode, change.before)
        rows.append(
            Row("quality", f"{what} ({mine['n']}): {mode}, MRR@10 by file",
                "known on such questions" if mode in known else before.name, mine["mrr@10"], theirs,
                "MRR",
                mine["mrr@10"] / max(theirs, 1e-9), 1.0 if mode in known else None,
                f"{_note(run)}; against {before.name} {change.difference}")
        )  # fmt: skip
    return rows


def _note(run: Run) -> str:
    """Return what else is to be known of a run."""
    mine = run.means()
    rest = ", ".join(f"{name} {mine[name]:.2f}" for name in ("hit@1", "hit@5", "hit@10"))
    return f"MRR {run.interval()}, {rest}"


def _full_schemas(manifests: Asked, embedder: EmbeddingClient) -> list[Row]:
    """Compare the index that the policy for definitions leaves with one of everything."""
    runs: dict[bool, dict[Mode, Run]] = {}
    counts = {}
    for full in (False, True):
        registry = _registry(full_schemas=full)
        with indexed([manifests.corpus], embedder, IngestOptions(registry=registry)) as conn:
            row = conn.execute("SELECT count(*) FROM document_chunks").fetchone()
            counts[full] = row[0] if row else 0
            runs[full] = _ask(conn, embedder, manifests, own=True)
    rows = []
    for mode in MODES:
        policy, everything = runs[False][mode], runs[True][mode]
        change = compare(everything, policy)
        rows.append(
            Row("quality", f"policy for definitions, {len(policy.answers)} questions: {mode}, "
                "MRR@10", f"full schemas ({counts[True]} pieces, not {counts[False]})",
                change.after, change.before, "MRR", change.after / max(change.before, 1e-9), 1.0,
                f"{_note(policy)}; difference {change.difference}")
        )  # fmt: skip
    return rows


def _registry(*, full_schemas: bool) -> Registry:
    registry = Registry()
    if full_schemas:
        [kubernetes] = [parser for parser in BUILT_IN if parser.id == "kubernetes"]
        changed = type(kubernetes)(
            kubernetes.id,
            kubernetes.function,
            extensions=kubernetes.extensions,
            options={**kubernetes.options, "full_schemas": True},
        )
        kustomize = next(parser for parser in BUILT_IN if parser.id == "kustomize")
        registry.register_parser(changed)
        registry.register_parser(kustomize)
    return registry


def _ask(
    conn: psycopg.Connection,
    embedder: EmbeddingClient,
    asked: Asked,
    *,
    own: bool,
    one_list: bool = False,
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
                    one_list=one_list,
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


class Remembering(EmbeddingClient):
    """A client that reads each passage word by word only once."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._tokens: dict[str, Any] = {}

    def encode_tokens(self, texts: Sequence[str], batch_size: int = 32) -> list[Any]:
        missing = [text for text in dict.fromkeys(texts) if text not in self._tokens]
        new = super().encode_tokens(missing, batch_size)
        self._tokens |= dict(zip(missing, new, strict=True))
        return [self._tokens[text] for text in texts]


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
                label: [question for question in some if question.kind == kind]
                for label, some in sets.items()
            },
        )
        for kind, folder in folders.items()
    ]
