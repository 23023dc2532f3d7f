"""A whole ingest against encoding its texts and nothing else, and an ingest of what is unchanged.

What an ingest does beside encoding (reading, splitting, writing, the index) happens in this process
and in the database's: so the wall clock decides, and this process's CPU time stands beside it. Both
contestants encode on all cores, as they do unless they are told otherwise; the rest of an ingest is
done beside that. Once more with one core left free, for the record: where two cores share one
processor's units, work on the free one slows the other.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import psycopg

from course_lib.embedder import EmbeddingClient
from course_lib.embedder.weights import DEFAULT_MODEL
from course_lib.indexing import IngestReport, ingest
from course_lib.settings import project_root
from course_lib.store import connect, drop_schema, fresh_database
from tests.bench.corpus import real_markdown
from tests.bench.measure import Row, take_turns

FEWEST_CHUNKS = 1_500
MOST_ON_TOP = 0.10
UNCHANGED_GOAL = 100.0
TURNS, ONE_FREE_TURNS, UNCHANGED_TURNS = 3, 1, 15
MOST_CHARACTERS = 450_000
"""Of Markdown, beside the course's own data: about 1,900 chunks together."""


class Recording(EmbeddingClient):
    """Remembers what it was asked to encode."""

    def __init__(self, model: str, *, threads: int) -> None:
        super().__init__(model, threads=threads)
        self.texts: list[str] = []

    def encode(
        self, texts: Sequence[str], batch_size: int = 32, progress: bool = False
    ) -> np.ndarray[Any, np.dtype[np.float32]]:
        self.texts += texts
        return super().encode(texts, batch_size, progress)


def measure() -> list[Row]:
    """Ingest into an empty database and encode the same texts, in turn; then ingest again."""
    cores = os.cpu_count() or 1
    with (
        tempfile.TemporaryDirectory(prefix="bench-ingest-") as name,
        fresh_database("bench") as database,
        connect(database.url, autocommit=True) as conn,
    ):
        corpus = make_corpus(Path(name))
        rows = _compare(corpus, conn, cores, TURNS, 1 / (1 + MOST_ON_TOP))
        if cores > 1:
            rows += _compare(corpus, conn, cores - 1, ONE_FREE_TURNS, None)[:1]
    return rows


def _compare(
    corpus: Path, conn: psycopg.Connection, threads: int, turns: int, goal: float | None
) -> list[Row]:
    client = Recording(DEFAULT_MODEL, threads=threads)
    drop_schema(conn)

    def run() -> IngestReport:
        return ingest(corpus, conn=conn, embedder=client)

    report = run()
    texts = list(client.texts)
    if report.chunks < FEWEST_CHUNKS:
        raise OSError(f"the corpus gives {report.chunks} chunks, not {FEWEST_CHUNKS:,}")
    used: dict[str, list[float]] = {"ingest": [], "encode": []}
    seconds = take_turns(
        {
            "ingest": _timed(run, used["ingest"], before=lambda: drop_schema(conn)),
            "encode": _timed(lambda: client.encode(texts), used["encode"]),
        },
        turns=turns,
    )
    again = take_turns({"again": _timed(run, [])}, turns=UNCHANGED_TURNS)["again"]
    if run().unchanged != report.chunks:
        raise OSError("an ingest of an unchanged corpus changed rows")
    cpu = {name: median(values[1:]) for name, values in used.items()}
    what = f"ingest of {report.documents} files, {report.chunks:,} chunks"
    peer = f"encode alone, {client.backend.name} on {threads} of {os.cpu_count()} cores"
    on_top = seconds["ingest"] / seconds["encode"] - 1
    cpu_on_top = cpu["ingest"] / cpu["encode"] - 1
    return [
        Row("ingest", what, peer, seconds["ingest"], seconds["encode"], "s",
            seconds["encode"] / seconds["ingest"], goal,
            f"{on_top:+.1%} on top" + (f", at most {MOST_ON_TOP:.0%}" if goal else "")),
        Row("ingest", f"{what}, this process", peer, cpu["ingest"], cpu["encode"], "CPU-s",
            cpu["encode"] / cpu["ingest"], None, f"{cpu_on_top:+.1%} on top"),
        Row("ingest", "the same again, unchanged", "first ingest", again, seconds["ingest"], "s",
            seconds["ingest"] / again, UNCHANGED_GOAL),
    ]  # fmt: skip


def make_corpus(folder: Path) -> Path:
    """Fill a folder with the course's own data and real Markdown; return it."""
    shutil.copytree(project_root() / "data", folder / "data")
    markdown = folder / "markdown"
    markdown.mkdir()
    size = 0
    for number, text in enumerate(real_markdown(MOST_CHARACTERS)):
        if size >= MOST_CHARACTERS:
            break
        size += len(text)
        (markdown / f"{number:04d}.md").write_text(text, encoding="utf-8", newline="")
    return folder


def _timed(
    work: Callable[[], object], used: list[float], before: Callable[[], object] = lambda: None
) -> Callable[[], float]:
    """Return what runs `work` and returns its seconds; its CPU seconds are appended to `used`."""

    def turn() -> float:
        before()
        begin, begin_cpu = time.perf_counter(), time.process_time()
        work()
        used.append(time.process_time() - begin_cpu)
        return time.perf_counter() - begin

    return turn
