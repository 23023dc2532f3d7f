"""How good search is: labelled questions over real corpora, in every mode, by file.

The course's own data is what everybody has. Given the corpora that
`questions/kubeflow.jsonl` asks about, in COURSE_BENCH_MARKDOWN (the folder ``docs``) and
COURSE_BENCH_YAML (``manifests``), those are measured as well, each alone and both in one index;
COURSE_BENCH_QUESTIONS names a file with more questions about them. Their first run encodes 10,000
chunks, which takes minutes. COURSE_BENCH_FULL_SCHEMAS=1 also indexes the schemas that the policy
for custom resource definitions leaves out, which takes an hour.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import psycopg

from course_lib.embedder import EmbeddingClient, VectorCache
from course_lib.indexing import ingest
from course_lib.loader import Registry
from course_lib.loader.parsers import BUILT_IN
from course_lib.retriever import retrieve
from course_lib.settings import project_root, state_dir
from course_lib.store import connect, fresh_database
from tests.bench.measure import Row

FILES = 10
"""Files that count: the ranking of files is that of their best pieces."""

PIECES = 50
"""Pieces that are asked for, so that ten files are among them."""

Mode = Literal["dense", "hybrid", "hybrid + maxsim"]
MODES: tuple[Mode, ...] = ("dense", "hybrid", "hybrid + maxsim")
PARTITION = {"docs": "documentation", "manifests": "code_manifests", "code": "code_pipelines"}

OWN_SETS = ("own", "tune", "test")
KNOWN: Mapping[str, Mapping[Mode, float]] = {
    "docs": {"dense": 0.74, "hybrid": 0.79, "hybrid + maxsim": 0.85},
    "manifests": {"dense": 0.51, "hybrid": 0.64, "hybrid + maxsim": 0.71},
}
"""MRR@10 by file that is known of questions like those that COURSE_BENCH_QUESTIONS names."""

Question = dict[str, Any]
Rankings = dict[str, int | None]
"""Question's text → the place of the first file that answers it."""


class Scores(NamedTuple):
    """What a set of questions gives: shares of the questions, and the mean reciprocal rank."""

    hit_1: float
    hit_5: float
    found_10: float
    mrr_10: float

    @property
    def note(self) -> str:
        return f"hit@1 {self.hit_1:.2f}, hit@5 {self.hit_5:.2f}, found@10 {self.found_10:.2f}"


@dataclass(frozen=True)
class Corpus:
    """A folder and the sets of questions about it, by their names."""

    kind: str
    folder: Path
    questions: Mapping[str, Sequence[Question]]

    @property
    def all_questions(self) -> list[Question]:
        return [one for questions in self.questions.values() for one in questions]


def first_place(files: Iterable[str], question: Question) -> int | None:
    """Return the place of the first file that answers, among the first ten different ones.

    Examples
    --------
    >>> asked = {"gold_paths": ["c.md"], "also_acceptable_paths": []}
    >>> first_place(["a.md", "a.md", "b.md", "a.md", "c.md"], asked)
    3
    """
    answers = {*question["gold_paths"], *question["also_acceptable_paths"]}
    different = list(dict.fromkeys(files))[:FILES]
    return next((place for place, file in enumerate(different, 1) if file in answers), None)


def score(places: Sequence[int | None]) -> Scores:
    """Return the scores of the places at which questions were answered.

    Examples
    --------
    >>> score([1, 4, None, 6])
    Scores(hit_1=0.25, hit_5=0.5, found_10=0.75, mrr_10=0.3541666666666667)
    """
    found = [place for place in places if place is not None]
    count = max(len(places), 1)
    return Scores(
        sum(place == 1 for place in found) / count,
        sum(place <= 5 for place in found) / count,
        len(found) / count,
        sum(1 / place for place in found) / count,
    )


def measure() -> list[Row]:
    """Ask every question in every mode; compare each mode with the one before it."""
    embedder = _Remembering(cache=VectorCache(state_dir() / "bench" / "vectors.sqlite"))
    rows = _measure("course", _own_corpora(), embedder)
    kubeflow = _kubeflow_corpora()
    if kubeflow:
        rows += _measure("Kubeflow", kubeflow, embedder)
        if os.environ.get("COURSE_BENCH_FULL_SCHEMAS"):
            rows += _full_schemas(kubeflow[-1], embedder)
    return rows


def _measure(name: str, corpora: Sequence[Corpus], embedder: EmbeddingClient) -> list[Row]:
    rows = []
    with _index(corpora, embedder) as conn:
        for corpus in corpora:
            alone = {mode: _ask(conn, embedder, corpus, mode, joint=False) for mode in MODES}
            for label, questions in corpus.questions.items():
                known = KNOWN.get(corpus.kind) if label not in OWN_SETS else None
                rows += _rows(f"{name} {corpus.kind}, {label}", questions, alone, known)
            joint = {mode: _ask(conn, embedder, corpus, mode, joint=True) for mode in MODES}
            rows += _rows(f"{name} {corpus.kind}, joint index", corpus.all_questions, joint)
    return rows


def _rows(
    what: str,
    questions: Sequence[Question],
    places: Mapping[Mode, Rankings],
    known: Mapping[Mode, float] | None = None,
) -> list[Row]:
    """Return a row a mode: against what is known, or else against the mode before."""
    scores = [
        score([places[mode][question["question"]] for question in questions]) for mode in MODES
    ]
    rows = []
    for at, (mode, mine) in enumerate(zip(MODES, scores, strict=True)):
        before = max(at - 1, 0)
        theirs = known[mode] if known else scores[before].mrr_10
        rows.append(
            Row("quality", f"{what} ({len(questions)}): {mode}, MRR@10 by file",
                "known on such questions" if known else MODES[before], mine.mrr_10, theirs, "MRR",
                mine.mrr_10 / max(theirs, 1e-9), 1.0 if known else None, mine.note)
        )  # fmt: skip
    return rows


def _full_schemas(manifests: Corpus, embedder: EmbeddingClient) -> list[Row]:
    """Compare the index that the policy for definitions leaves with one of everything."""
    places: dict[bool, dict[Mode, Rankings]] = {}
    counts = {}
    for full in (False, True):
        with _index([manifests], embedder, full_schemas=full) as conn:
            row = conn.execute("SELECT count(*) FROM document_chunks").fetchone()
            counts[full] = row[0] if row else 0
            places[full] = {
                mode: _ask(conn, embedder, manifests, mode, joint=False) for mode in MODES
            }
    questions = manifests.all_questions
    rows = []
    for mode in MODES:
        policy, everything = (
            score([places[full][mode][question["question"]] for question in questions])
            for full in (False, True)
        )
        rows.append(
            Row("quality", f"policy for definitions, {len(questions)} questions: {mode}, MRR@10",
                f"full schemas ({counts[True]} pieces, not {counts[False]})", policy.mrr_10,
                everything.mrr_10, "MRR", policy.mrr_10 / max(everything.mrr_10, 1e-9), 1.0,
                f"{policy.note}; full: {everything.note}")
        )  # fmt: skip
    return rows


@contextmanager
def _index(
    corpora: Sequence[Corpus], embedder: EmbeddingClient, *, full_schemas: bool = False
) -> Iterator[psycopg.Connection]:
    """Ingest corpora into a database of their own, each as a repository and a partition."""
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
    with fresh_database("quality") as database, connect(database.url, autocommit=True) as conn:
        for corpus in corpora:
            ingest(
                corpus.folder,
                conn=conn,
                embedder=embedder,
                partition=PARTITION[corpus.kind],
                repo=corpus.kind,
                registry=registry,
            )
        conn.execute("VACUUM ANALYZE document_chunks")
        yield conn


def _ask(
    conn: psycopg.Connection, embedder: EmbeddingClient, corpus: Corpus, mode: Mode, *, joint: bool
) -> Rankings:
    """Return at which place each question finds its answer, in its own corpus or in all."""
    places: Rankings = {}
    for question in corpus.all_questions:
        results = retrieve(
            conn,
            embedder,
            question["question"],
            top_k=PIECES,
            threshold=-1,
            mode="dense" if mode == "dense" else "hybrid",
            rerank="maxsim" if mode == "hybrid + maxsim" else None,
            repo=None if joint else corpus.kind,
        )
        # A path of another corpus may be spelt the same; it is another file.
        files = (
            result.document_name if result.repo_slug == corpus.kind else f"\0{result.document_name}"
            for result in results
        )
        places[question["question"]] = first_place(files, question)
    return places


class _Remembering(EmbeddingClient):
    """A client that reads each passage word by word only once."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._tokens: dict[str, Any] = {}

    def encode_tokens(self, texts: Sequence[str], batch_size: int = 32) -> list[Any]:
        missing = [text for text in dict.fromkeys(texts) if text not in self._tokens]
        new = super().encode_tokens(missing, batch_size)
        self._tokens |= dict(zip(missing, new, strict=True))
        return [self._tokens[text] for text in texts]


def _own_corpora() -> list[Corpus]:
    data = project_root() / "data"
    names = {"docs": "documents", "manifests": "manifests", "code": "code"}
    return [
        Corpus(kind, data / name, {"own": _read(data / "questions" / f"{name}.jsonl")})
        for kind, name in names.items()
    ]


def _kubeflow_corpora() -> list[Corpus]:
    """Return the corpora that the environment names, if they are those of the questions."""
    folders = {
        kind: Path(os.environ[name])
        for kind, name in (("docs", "COURSE_BENCH_MARKDOWN"), ("manifests", "COURSE_BENCH_YAML"))
        if os.environ.get(name)
    }
    if len(folders) < 2:
        return []
    questions = _read(Path(__file__).parent / "questions" / "kubeflow.jsonl")
    sets: dict[str, list[Question]] = {"tune": [], "test": []}
    for question in questions:
        sets[question["split"]].append(question)
    more = os.environ.get("COURSE_BENCH_QUESTIONS")
    if more:
        sets[Path(more).stem] = _read(Path(more))
    for question in (one for some in sets.values() for one in some):
        for path in question["gold_paths"]:
            if not (folders[question["kind"]] / path).is_file():
                told = f"{folders[question['kind']]} has no {path}, which a question is about"
                print(f"{told}: only the course's own data is measured", file=sys.stderr)
                return []
    return [
        Corpus(
            kind,
            folder,
            {
                label: [question for question in some if question["kind"] == kind]
                for label, some in sets.items()
            },
        )
        for kind, folder in folders.items()
    ]


def _read(path: Path) -> list[Question]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
