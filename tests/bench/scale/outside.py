"""What is measured beside the made corpus: real vectors, the model's speed, the versions."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

from course_lib.settings import state_dir
from tests.bench.corpus import real_markdown
from tests.bench.scale.corpus import DIMENSION, Vectors
from tests.bench.scale.results import Figures

PLACES = (1, 10, 100, 1000)
TEXTS, SAMPLE = 512, 300
SAME = 0.9999
QUESTIONS = Path(__file__).parents[1] / "questions" / "kubeflow.jsonl"


def real_vectors(path: Path | None = None) -> Vectors | None:
    """Return the real MiniLM vectors that another bench has left on this machine, each once.

    None where there are none.
    """
    path = path or state_dir() / "bench" / "vectors.sqlite"
    if not path.is_file():
        return None
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as kept:
        raw = b"".join(row[0] for row in kept.execute("SELECT vector FROM vectors ORDER BY key"))
    vectors = np.frombuffer(raw, dtype=np.float32).reshape(-1, DIMENSION)
    _, first = np.unique(vectors, axis=0, return_index=True)
    return np.asarray(vectors[np.sort(first)])  # by key, a hash: in no order


def real_questions(vectors: Vectors, count: int) -> tuple[Vectors, Vectors]:
    """Return the vectors without those of questions, and the vectors of real questions.

    The questions are those that the bench of quality asks about the Kubeflow corpora.
    """
    from course_lib.embedder import EmbeddingClient

    lines = QUESTIONS.read_text(encoding="utf-8").splitlines()
    asked = EmbeddingClient(threads=1).encode([json.loads(line)["question"] for line in lines])
    # The other bench has encoded them too: a question must not be its own best answer.
    others = (vectors @ asked.T).max(axis=1) < SAME
    return vectors[others], asked[:count]


def likeness(rows: Vectors, questions: Vectors) -> Figures:
    """Return what vectors are like: how far their neighbours are, and how long their mean is."""
    return {
        "rows": len(rows),
        "of questions": distances(rows, questions),
        "of rows": distances(*sampled(rows, SAMPLE)),
        "mean_length": float(np.linalg.norm(rows.mean(axis=0))),
    }


def distances(vectors: Vectors, asked: Vectors) -> Figures:
    """Return how far the neighbours of some vectors are: quartiles of the cosine distance.

    Examples
    --------
    >>> distances(np.eye(1200, dtype=np.float32), np.eye(5, 1200, dtype=np.float32))["10"]
    [1.0, 1.0, 1.0]
    """
    nearest = -np.sort(-(asked @ vectors.T), axis=1)[:, : max(PLACES)]
    return {str(place): _quartiles(1 - nearest[:, place - 1]) for place in PLACES}


def sampled(vectors: Vectors, count: int) -> tuple[Vectors, Vectors]:
    """Return all but some vectors, and these.

    Examples
    --------
    >>> kept, chosen = sampled(np.eye(5, dtype=np.float32), 2)
    >>> kept.shape, chosen.shape
    ((3, 5), (2, 5))
    """
    chosen = np.random.default_rng(0).choice(len(vectors), size=count, replace=False)
    return np.delete(vectors, chosen, axis=0), vectors[chosen]


def encode_rate(texts: int = TEXTS) -> Figures:
    """Return chunks that the library's encoder does in a second of one core's time."""
    from course_lib.embedder import EmbeddingClient
    from course_lib.loader import split_text

    pieces = (piece.text for text in real_markdown() for piece in split_text(text, 512, 64))
    chosen = list(islice(pieces, texts))
    embedder = EmbeddingClient(threads=1)
    embedder.encode(chosen[:32])
    wall, cpu = time.perf_counter(), time.process_time()
    embedder.encode(chosen)
    cpu = time.process_time() - cpu
    return {
        "texts": len(chosen),
        "seconds": time.perf_counter() - wall,
        "cpu_seconds": cpu,
        "per_core_second": len(chosen) / cpu,
    }


def versions(conn: psycopg.Connection[Any]) -> dict[str, str]:
    """Return the versions of PostgreSQL and pgvector."""
    row = conn.execute(
        "SELECT current_setting('server_version'), "
        "(SELECT extversion FROM pg_extension WHERE extname = 'vector')"
    ).fetchone()
    return {"postgresql": row[0], "pgvector": row[1]} if row else {}


def _quartiles(values: np.ndarray[Any, Any]) -> list[float]:
    return [round(float(value), 4) for value in np.percentile(values, [25, 50, 75])]
