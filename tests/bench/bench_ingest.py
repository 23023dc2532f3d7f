"""A whole ingest against encoding its texts and nothing else, and an ingest of what is unchanged.

What an ingest does beside encoding (reading, splitting, writing, the index) happens in this process
and in the database's, so the CPU time of both is counted, and held to the goal: other work on the
machine does not change it. Both contestants encode on all cores, as
they do unless they are told otherwise.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import psycopg

from course_lib.embedder import EmbeddingClient
from course_lib.embedder.weights import DEFAULT_MODEL
from course_lib.indexing import IngestReport, ingest
from course_lib.settings import project_root
from course_lib.store import connect, drop_schema, fresh_database
from tests.bench.corpus import real_markdown
from tests.bench.measure import Row, Timed, take_turns, wall

FEWEST_CHUNKS = 1_500
MOST_ON_TOP = 0.10
UNCHANGED_GOAL = 100.0
TURNS, UNCHANGED_TURNS = 3, 15
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
    with (
        tempfile.TemporaryDirectory(prefix="bench-ingest-") as name,
        fresh_database("bench") as database,
        connect(database.url, autocommit=True) as conn,
    ):
        return _compare(make_corpus(Path(name)), conn)


def _compare(corpus: Path, conn: psycopg.Connection) -> list[Row]:
    client = Recording(DEFAULT_MODEL, threads=os.cpu_count() or 1)
    backend = psutil.Process(conn.info.backend_pid)

    def run() -> IngestReport:
        return ingest(corpus, conn=conn, embedder=client)

    def first() -> IngestReport:
        drop_schema(conn)
        return run()

    report = run()
    texts = list(client.texts)
    if report.chunks < FEWEST_CHUNKS:
        raise OSError(f"the corpus gives {report.chunks} chunks, not {FEWEST_CHUNKS:,}")
    work = {"ingest": first, "encode": lambda: client.encode(texts)}
    cpu = take_turns({name: _cpu(one, backend) for name, one in work.items()}, TURNS)
    whole = wall(first)()
    again = take_turns({"again": wall(run)}, UNCHANGED_TURNS)["again"]
    if run().unchanged != report.chunks:
        raise OSError("an ingest of an unchanged corpus changed rows")
    on_top = cpu["ingest"] / cpu["encode"] - 1
    return [
        Row("ingest", f"ingest of {report.documents} files, {report.chunks:,} chunks",
            f"encode alone, {client.backend.name} on all cores", cpu["ingest"], cpu["encode"],
            "CPU-s", cpu["encode"] / cpu["ingest"], 1 / (1 + MOST_ON_TOP),
            f"{on_top:+.1%} on top, at most {MOST_ON_TOP:.0%}; with the database's"),
        Row("ingest", "the same again, unchanged", "first ingest", again, whole, "s",
            whole / again, UNCHANGED_GOAL),
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


def _cpu(work: Callable[[], object], backend: psutil.Process) -> Timed:
    """Return what runs `work` and returns the CPU seconds of this process and the database's."""

    def spent() -> float:
        theirs = backend.cpu_times()
        return time.process_time() + float(theirs.user + theirs.system)

    def timed() -> float:
        begin = spent()
        work()
        return spent() - begin

    return timed
