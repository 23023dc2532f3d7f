"""Eight writers and twenty readers at one index: no error, no half document, the last write stays.

Writers bring folders and files, send documents to the API and take some away, all of them the same
documents. Readers search with the library and through the API. All are at it at the same time.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import psycopg

from course_lib.indexing import ingest
from course_lib.records import Scope
from course_lib.service import ServiceConfig, create_app, new_key
from course_lib.service.config import key_digest
from course_lib.store import connect, fresh_database
from tests.faults.crew import (
    SOURCES,
    Notes,
    Version,
    Write,
    Writer,
    read,
    read_library,
    read_service,
    text_of,
    versions_in,
)
from tests.faults.ground import PATIENCE, Hashed, environment, forks, own_folder
from tests.faults.indexes import all_rows, torn_documents
from tests.service.running import running

WRITERS, READERS = 8, 10
"""Readers of each kind: with the library, and through the API."""


def write_and_read(seconds: float, seed: int) -> dict[str, Any]:
    """Let all of them work for so long; return the figures.

    Raises
    ------
    AssertionError
        If anybody met an error or half a document, or the index is not what was written last.
    """
    dimension = {"RAG_VECTOR_DIM": str(Hashed.dimension), "RAG_THREADS": "1"}
    with (
        environment(dict(dimension)),
        own_folder() as folder,
        fresh_database("traffic") as database,
        connect(database.url, autocommit=True) as conn,
    ):
        for repo in SOURCES:
            (folder / repo).mkdir()
            (folder / repo / "0.md").write_text(
                text_of(f"{repo}/0.md", (0, 0), 3), encoding="utf-8"
            )
            ingest(folder / repo, Scope(repo=repo), conn=conn, embedder=Hashed())
        first = [Write(f"{repo}/0.md", (0, 0), 0.0, 0.0) for repo in SOURCES]
        with _service(database.url) as (service, key):
            notes = _work(database.url, service, key, folder, seed, seconds)
        kinds = Counter(error[:60] for error in notes.errors)
        assert not kinds, f"{kinds.total()} errors: {dict(kinds)}, such as {notes.errors[0]}"
        assert notes.whole, "no reader has seen a document"
        assert not (torn := torn_documents(conn, Hashed())), torn
        last = _last_writes(conn, first + notes.writes)
        rows = _compare(conn, folder, last)
        return {
            "done": notes.done,
            "documents seen whole": notes.whole,
            "documents at the end, each as some last write left it": len(last),
            "rows compared with an index of these alone": rows,
        }


@contextlib.contextmanager
def _service(url: str) -> Iterator[tuple[str, str]]:
    """Serve the index, and make a key of its tenant."""
    key = new_key("local")
    config = ServiceConfig(database_url=url, keys={key_digest(key): "local"})
    with running(create_app(config, embedder=Hashed())) as service:
        yield service.url, key


def _work(url: str, service: str, key: str, folder: Path, seed: int, seconds: float) -> Notes:
    rng = Random(seed)
    places = {read_library: url, read_service: service}
    notes = Notes()
    # Each counts the seconds from when it begins: on a busy machine, to begin takes longer.
    with ProcessPoolExecutor(WRITERS + len(places), mp_context=forks()) as crew:
        works = [
            crew.submit(
                Writer(
                    number, url, service, key, folder / f"of-{number}", rng.randrange(2**32)
                ).work,
                seconds,
            )
            for number in range(WRITERS)
        ]
        for reader, place in places.items():
            seeds = [rng.randrange(2**32) for _ in range(READERS)]
            works.append(crew.submit(read, reader, place, seeds, seconds))
        for work in works:
            notes += work.result(seconds + 2 * PATIENCE)
    return notes


def _last_writes(conn: psycopg.Connection[Any], writes: list[Write]) -> dict[str, Version]:
    """Return which version each document has, having checked that no later write lost to it.

    Writes that overlap in time may have come in either order; of two others, the later one counts.
    """
    contents = conn.execute("SELECT content FROM documents").fetchall()
    there = versions_in(content for (content,) in contents)
    for repo, count in SOURCES.items():
        for number in range(count):
            name = f"{repo}/{number}.md"
            mine = [write for write in writes if write.document == name]
            latest = max((write.begin for write in mine), default=0.0)
            possible = {write.version for write in mine if write.end >= latest} or {None}
            assert there.get(name) in possible, f"{name} is {there.get(name)}, not of {possible}"
    return there


def _compare(conn: psycopg.Connection[Any], folder: Path, last: dict[str, Version]) -> int:
    """Compare the index with one of just these documents, built in peace; return the rows."""
    final = folder / "final"
    for name, content in conn.execute(
        "SELECT repo_slug || '/' || document_name, content FROM documents"
    ):
        assert name in last
        (final / name).parent.mkdir(parents=True, exist_ok=True)
        (final / name).write_text(content, encoding="utf-8", newline="\n")
    with fresh_database("peace") as peace, connect(peace.url, autocommit=True) as other:
        for place in sorted(final.iterdir()):
            ingest(place, Scope(repo=place.name), conn=other, embedder=Hashed())
        ours, theirs = all_rows(conn), all_rows(other)
    assert ours == theirs
    return sum(map(len, theirs.values()))
