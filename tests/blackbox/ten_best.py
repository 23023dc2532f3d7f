"""The ten best for questions on `data/`: asked, kept as golden files, and judged when they change.

A golden file of rankings does not forbid a change: a search that finds as much as before may find
it in another order. What is held is how much of the right files comes, and how much of the ten.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from tests.blackbox.conftest import CORPORA
from tests.blackbox.golden import read_golden, write_golden, writing

PER_CORPUS = 20
MEAN_MAY_FALL = 0.02
LEAST_OVERLAP, LEAST_MEAN_OVERLAP, LEAST_MEAN_OF_THREE = 0.7, 0.97, 0.9


@dataclass(frozen=True)
class Asked:
    """A question on `data/`, and the files that answer it, as `corpus/path`."""

    id: str
    question: str
    gold: frozenset[str]


def questions(data: Path, per_corpus: int = PER_CORPUS) -> list[Asked]:
    """Return as many questions of each corpus, evenly out of all there are."""
    found: list[Asked] = []
    for name, (_, repo) in CORPORA.items():
        text = (data / "questions" / f"{name}.jsonl").read_text(encoding="utf-8")
        records = [json.loads(line) for line in text.splitlines()]
        for place in range(per_corpus):
            record = records[place * len(records) // per_corpus]
            gold = frozenset(f"{repo}/{path}" for path in record["gold_paths"])
            found.append(Asked(record["id"], record["question"], gold))
    return found


def listed(results: Iterable[Any]) -> list[list[Any]]:
    """Return results as a golden file has them: corpus/path, place in it, similarity, kind/name."""
    return [
        [
            f"{one.repo_slug}/{one.document_name}",
            one.chunk_index,
            round(float(one.similarity_score), 3),
            f"{one.kind}/{one.name}",
        ]
        for one in results
    ]


def hold_ten_best(
    name: str, asked: Sequence[Asked], ten_best: Callable[[str], Iterable[Any]], mode: str
) -> None:
    """Ask each question, and compare what comes with the golden file; write it where asked to."""
    now = [
        {
            "id": one.id,
            "question": one.question,
            "mode": mode,
            "ten": listed(ten_best(one.question)),
        }
        for one in asked
    ]
    if writing():
        write_golden(name, now)
        return
    golden = read_golden(name)
    assert [(one["id"], one["question"]) for one in golden] == [
        (one["id"], one["question"]) for one in now
    ], f"golden/{name}.jsonl is about other questions: write it again"
    gold = [one.gold for one in asked]
    problems: list[str] = []
    for metric, value in {"recall@10": _recall, "MRR@10": _reciprocal}.items():
        before, after = (
            fmean(value(right, one["ten"]) for right, one in zip(gold, run, strict=True))
            for run in (golden, now)
        )
        if after < before - MEAN_MAY_FALL:
            problems.append(f"{metric} falls from {before:.3f} to {after:.3f}")
    pairs = list(zip(golden, now, strict=True))
    overlaps = [_overlap(old["ten"], new["ten"]) for old, new in pairs]
    if fmean(overlaps) < LEAST_MEAN_OVERLAP:
        problems.append(f"only {fmean(overlaps):.3f} of the ten best are the golden ones")
    threes = [_overlap(old["ten"][:3], new["ten"][:3]) for old, new in pairs]
    if fmean(threes) < LEAST_MEAN_OF_THREE:
        problems.append(f"only {fmean(threes):.3f} of the three best are the golden ones")
    problems += [
        f"{one.id}: only {overlap:.1f} of the ten are the golden ones"
        for one, overlap in zip(asked, overlaps, strict=True)
        if overlap < LEAST_OVERLAP
    ]
    changes = [line for old, new in pairs for line in _changes(old, new)]
    assert not problems, "\n".join([f"golden/{name}.jsonl:", *problems, *changes])


def _recall(gold: frozenset[str], ten: list[list[Any]]) -> float:
    return len(gold & {path for path, *_ in ten}) / len(gold)


def _reciprocal(gold: frozenset[str], ten: list[list[Any]]) -> float:
    # By file: a file counts where it first comes.
    files = list(dict.fromkeys(path for path, *_ in ten))
    return next((1 / place for place, path in enumerate(files, 1) if path in gold), 0.0)


def _overlap(old: list[list[Any]], new: list[list[Any]]) -> float:
    return len(_pieces(old) & _pieces(new)) / max(len(old), len(new), 1)


def _pieces(ten: list[list[Any]]) -> set[tuple[str, int]]:
    return {(path, place) for path, place, *_ in ten}


def _changes(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Return a question, what is gone from its ten best and what is new; nothing if all stayed."""
    before, after = old["ten"], new["ten"]
    gone = [f"  - {one}" for one in before if (one[0], one[1]) not in _pieces(after)]
    come = [f"  + {one}" for one in after if (one[0], one[1]) not in _pieces(before)]
    return [f"{old['id']} {old['question']}", *gone, *come] if gone or come else []
