"""Passages for tests, with whatever matters to them, and an index of a few files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from course_lib.answers import Passage
from course_lib.answers.passages import FoundBy
from course_lib.embedder import EmbeddingClient
from course_lib.indexing import IngestOptions, ingest
from course_lib.records import SearchResult
from course_lib.store.databases import FreshDatabase
from tests.schemas import own_schema


def make_result(
    content: str = "Some text.", path: str = "docs/a.md", **fields: Any
) -> SearchResult:
    return SearchResult(
        **{
            "chunk_id": f"{path} {content}",
            "document_name": path,
            "chunk_index": 0,
            "content": content,
            "similarity_score": 0.5,
            "score": 0.5,
            "partition": "documentation",
            "repo_slug": "docs",
            "branch": "",
            "kind": "section",
            "name": "Section",
            **fields,
        }
    )


def make_passage(
    index: int = 1,
    content: str = "Some text.",
    path: str = "docs/a.md",
    *,
    origin: FoundBy = "search",
    score: float = 0.5,
    **fields: Any,
) -> Passage:
    return Passage(index, make_result(content, path, **fields), origin, score)


@contextmanager
def index_of(
    files: Mapping[str, str],
    folder: Path,
    embedder: EmbeddingClient,
    database: FreshDatabase,
    options: IngestOptions | None = None,
) -> Iterator[psycopg.Connection]:
    """Write files, ingest them into a schema of their own, and give a connection to it."""
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    with own_schema(database) as made, made.connect() as conn:
        ingest(folder, options=options, conn=conn, embedder=embedder)
        yield conn
