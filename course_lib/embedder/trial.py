"""One engine's trial: run as a program, it prints how fast and how faithful an engine is here.

`agreement.json` holds passages and questions, and for each question the ten passages that torch
ranks first. An engine is as good as the share of them that it finds.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from course_lib.embedder.bert import Bert, read_bert
from course_lib.embedder.bert_backend import BertBackend
from course_lib.embedder.model import plan_batches

AGREEMENT = Path(__file__).with_name("agreement.json")
Array = np.ndarray[Any, np.dtype[np.float32]]


def measure(bert: Bert, engine: str, faster_than: float) -> dict[str, float | None]:
    """Return chunks a second on one core, and the share of torch's top ten that was kept.

    The share is None for an engine that is slower than `faster_than` on the first passages.
    """
    agreement = json.loads(AGREEMENT.read_text(encoding="utf-8"))
    passages: list[str] = agreement["passages"]
    backend = BertBackend(bert, engine, threads=1, in_memory=True)
    sample = passages[::5]
    _encode(backend, sample)  # the first run compiles
    speed = _speed(backend, sample)
    if speed <= faster_than:
        return {"chunks_per_second": round(speed, 1), "top10_kept": None}
    found = top_ten(_encode(backend, agreement["questions"]), _encode(backend, passages))
    pairs = zip(found, agreement["top10"], strict=True)
    kept = sum(len(set(mine) & set(reference)) for mine, reference in pairs)
    return {
        "chunks_per_second": round(speed, 1),
        "top10_kept": kept / (10 * len(found)),
    }


def top_ten(questions: Array, passages: Array) -> list[list[int]]:
    """Return for each question the places of its ten nearest passages, nearest first.

    Examples
    --------
    >>> passages = np.eye(12, dtype=np.float32)
    >>> top_ten(np.array([[0.1] * 5 + [1.0] + [0.0] * 6], dtype=np.float32), passages)[0][:2]
    [5, 0]
    """
    order = np.argsort(-(questions @ passages.T), axis=1, kind="stable")
    return [[int(place) for place in row[:10]] for row in order]


def _speed(backend: BertBackend, texts: list[str]) -> float:
    """Return texts a second of CPU time: what else runs on this machine does not count."""
    seconds = []
    for _ in range(3):
        start = time.process_time()
        _encode(backend, texts)
        seconds.append(time.process_time() - start)
    return len(texts) / sorted(seconds)[1]


def _encode(backend: BertBackend, texts: list[str]) -> Array:
    prepared = backend.prepare(texts)
    vectors = np.empty((len(texts), backend.dimension), dtype=np.float32)
    for batch in plan_batches([len(ids) for ids in prepared], 32, backend.padded_tokens):
        vectors[batch] = backend.encode([prepared[place] for place in batch])
    return vectors


if __name__ == "__main__":
    found = read_bert(Path(sys.argv[1]))
    if found is None:
        raise SystemExit(f"{sys.argv[1]} holds no BERT sentence encoder")
    print(json.dumps(measure(found, sys.argv[2], float(sys.argv[3]))))
