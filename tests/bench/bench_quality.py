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
from pathlib import Path

from course_lib.embedder import EmbeddingClient, VectorCache
from course_lib.evaluation import Corpus, Question, Run, compare, evaluate, indexed, read_questions
from course_lib.evaluation.corpora import searcher
from course_lib.records import Mode, Query
from course_lib.settings import project_root, state_dir
from tests.bench.measure import Row

MODES: tuple[Mode, ...] = ("dense", "hybrid")
QUESTIONS = Path(__file__).parent / "questions"

Sets = Mapping[str, Sequence[Question]]


def measure() -> list[Row]:
    """Ask every question in every mode; compare each mode with the one before it."""
    embedder = EmbeddingClient(cache=VectorCache(state_dir() / "bench" / "vectors.sqlite"))
    data = project_root() / "data"
    names = {"docs": "documents", "manifests": "manifests", "code": "code"}
    own = {
        "own": [
            one
            for name in names.values()
            for one in read_questions(data / "questions" / f"{name}.jsonl")
        ],
        "fresh": _to_tune_on("course-fresh.jsonl"),
    }
    rows = _measure("course", {kind: data / name for kind, name in names.items()}, own, embedder)
    folders = {
        kind: Path(os.environ[name])
        for kind, name in (("docs", "COURSE_BENCH_MARKDOWN"), ("manifests", "COURSE_BENCH_YAML"))
        if os.environ.get(name)
    }
    if len(folders) == 2:
        sets = _about_kubeflow()
        if missing := _missing(folders, sets):
            print(f"{missing} is no file, but a question is about it: ", end="", file=sys.stderr)
            print("only the course's own data is measured", file=sys.stderr)
        else:
            rows += _measure("Kubeflow", folders, sets, embedder)
    return rows


def _about_kubeflow() -> Sets:
    asked = read_questions(QUESTIONS / "kubeflow.jsonl")
    sets = {split: [one for one in asked if one.split == split] for split in ("tune", "test")}
    sets["fresh"] = _to_tune_on("kubeflow-fresh.jsonl")
    if more := os.environ.get("COURSE_BENCH_QUESTIONS"):
        sets["more"] = read_questions(Path(more))
    return sets


def _missing(folders: Mapping[str, Path], sets: Sets) -> Path | None:
    """Return a file that a question is about and that is not there: it is another corpus then."""
    files = (
        folders[question.kind] / path
        for some in sets.values()
        for question in some
        for path in question.gold_paths
    )
    return next((file for file in files if not file.is_file()), None)


def _to_tune_on(name: str) -> list[Question]:
    """Return one half of the fresh questions; the other is asked once, when all is decided."""
    return [one for one in read_questions(QUESTIONS / name) if one.split == "tune"]


def _measure(
    name: str, folders: Mapping[str, Path], sets: Sets, embedder: EmbeddingClient
) -> list[Row]:
    """Return the rows of some corpora: each alone, and all of them in one index."""
    rows = []
    corpora = [Corpus(kind, folder) for kind, folder in folders.items()]
    with indexed(corpora, embedder) as conn:
        for kind in folders:
            for label, some in sets.items():
                asked = [one for one in some if one.kind == kind]
                for where in ("own corpus", "joint index") if asked else ():
                    runs = [
                        evaluate(
                            searcher(conn, embedder, Query(mode=mode), own=where == "own corpus"),
                            asked,
                            name=mode,
                        )
                        for mode in MODES
                    ]
                    rows += _rows(f"{name} {kind}, {label}, {where}", runs)
    return rows


def _rows(what: str, runs: Sequence[Run]) -> list[Row]:
    """Return a row a mode, against the mode before."""
    rows = []
    for before, run in zip([runs[0], *runs], runs, strict=False):
        change, means = compare(before, run), run.means()
        hits = ", ".join(f"{name} {means[name]:.2f}" for name in ("hit@1", "hit@5", "hit@10"))
        rows.append(
            Row("quality", f"{what} ({len(run.answers)}): {run.name}, MRR@10 by file",
                before.name, change.after, change.before, "MRR",
                change.after / max(change.before, 1e-9), None,
                f"MRR {run.interval()}, {hits}; against {before.name} {change.difference}")
        )  # fmt: skip
    return rows
