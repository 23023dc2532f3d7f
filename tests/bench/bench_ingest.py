"""A whole ingest against encoding its texts and nothing else, and an ingest of what is unchanged.

What an ingest does beside encoding (reading, splitting, writing, the index) happens in this process
and in the database's: so the wall clock decides. Both contestants encode on all cores, as they do
unless they are told otherwise; the rest of an ingest is done beside that.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

from course_lib.embedder import EmbeddingClient
from course_lib.embedder.weights import DEFAULT_MODEL
from course_lib.indexing import IngestReport, ingest
from course_lib.settings import project_root
from course_lib.store import connect, drop_schema, fresh_database
from tests.bench.corpus import real_markdown
from tests.bench.measure import Row, take_turns, wall

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
        return _compare(make_corpus(Path(name)), conn, os.cpu_count() or 1)


def _compare(corpus: Path, conn: psycopg.Connection, threads: int) -> list[Row]:
    client = Recording(DEFAULT_MODEL, threads=threads)
    drop_schema(conn)

    def run() -> IngestReport:
        return ingest(corpus, conn=conn, embedder=client)

    report = run()
    texts = list(client.texts)
    if report.chunks < FEWEST_CHUNKS:
        raise OSError(f"the corpus gives {report.chunks} chunks, not {FEWEST_CHUNKS:,}")
    encode = wall(lambda: client.encode(texts))
    ingest_again = wall(run)

    def ingest_anew() -> float:
        drop_schema(conn)
        return ingest_again()

    seconds = take_turns({"ingest": ingest_anew, "encode": encode}, turns=TURNS)
    again = take_turns({"again": ingest_again}, turns=UNCHANGED_TURNS)["again"]
    if run().unchanged != report.chunks:
        raise OSError("an ingest of an unchanged corpus changed rows")
    on_top = seconds["ingest"] / seconds["encode"] - 1
    return [
        Row("ingest", f"ingest of {report.documents} files, {report.chunks:,} chunks",
            f"encode alone, {client.backend.name} on {threads} cores",
            seconds["ingest"], seconds["encode"], "s", seconds["encode"] / seconds["ingest"],
            1 / (1 + MOST_ON_TOP), f"{on_top:+.1%} on top, at most {MOST_ON_TOP:.0%}"),
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
