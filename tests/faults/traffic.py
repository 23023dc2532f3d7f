"""Eight writers and twenty readers at one index: no error, no half document, the last write stays.

Writers bring folders and files, send documents to the API and take some away, all of them the same
documents. Readers search with the library and through the API. All are at it at the same time.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random
from statistics import median
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
    start_together,
    text_of,
    versions_in,
    wait_at,
)
from tests.faults.ground import PATIENCE, Hashed, Tell, environment, forks, own_folder
from tests.faults.indexes import all_rows, torn_documents
from tests.service.running import running

WRITERS = 8
READERS = {"library": 12, "API": 8}


def write_and_read(seconds: float, seed: int, tell: Tell = lambda done: None) -> dict[str, Any]:
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
            written, found = _work(database.url, service, key, folder, seed, seconds, tell)
        errors = written.errors + found.errors
        kinds = Counter(error[:60] for error in errors)
        assert not errors, f"{len(errors)} errors: {dict(kinds)}, such as {errors[0]}"
        assert found.whole, "no reader has seen a document"
        assert not (torn := torn_documents(conn, Hashed())), torn
        last = _last_writes(conn, first + written.writes)
        rows = _compare(conn, folder, last)
        return {
            "writers": WRITERS,
            "readers": READERS,
            "seconds": seconds,
            "writes": _figures(written, seconds),
            "reads": _figures(found, seconds),
            "documents seen whole": found.whole,
            "half documents": 0,
            "errors": 0,
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


def _work(
    url: str, service: str, key: str, folder: Path, seed: int, seconds: float, tell: Tell
) -> tuple[Notes, Notes]:
    rng = Random(seed)
    context = forks()
    line = context.Barrier(WRITERS + len(READERS) + 1)
    pool = ProcessPoolExecutor(
        WRITERS + len(READERS), mp_context=context, initializer=wait_at, initargs=(line,)
    )
    written, found = Notes(), Notes()
    with pool as crew:
        writing = [
            crew.submit(
                Writer(
                    number, url, service, key, folder / f"of-{number}", rng.randrange(2**32)
                ).work,
                seconds,
            )
            for number in range(WRITERS)
        ]
        reading = [
            crew.submit(read, reader, place, [rng.randrange(2**32) for _ in range(count)], seconds)
            for reader, place, count in (
                (read_library, url, READERS["library"]),
                (read_service, service, READERS["API"]),
            )
        ]
        end = start_together(line) + seconds
        while time.monotonic() < end:
            time.sleep(1)
            tell(1)
        for work in writing:
            written += work.result(PATIENCE)
        for work in reading:
            found += work.result(PATIENCE)
    return written, found


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


def _figures(notes: Notes, seconds: float) -> dict[str, Any]:
    return {
        what: {
            "number": len(times),
            "a second": round(len(times) / seconds, 1),
            "median ms": round(1000 * median(times), 1),
            "p95 ms": round(1000 * sorted(times)[int(0.95 * len(times))], 1),
        }
        for what, times in sorted(notes.seconds.items())
    }
