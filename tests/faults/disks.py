"""Full disks: the data directory's, the state folder's, that of the vector cache and of output.

Each disk is a small one in memory, filled to its last page. Whoever needs room must say what
happened, to what, and what to do; nothing may be half-written; and once there is room, the same
command succeeds.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from course_lib.embedder.cache import VectorCache
from course_lib.indexing import ingest
from course_lib.records import Scope
from course_lib.store import connect, default_url, fresh_database
from tests.faults.corpora import Folder
from tests.faults.ground import Hashed, environment, own_folder, own_place
from tests.faults.indexes import Rows, all_rows, found_otherwise, torn_documents
from tests.faults.small_disks import Disk, small_disk
from tests.faults.victim import Aim, Victim

DATA_MEGABYTES = 192
SMALL_MEGABYTES = 2
BIG_TEXT = 100_000
"""Characters of a document that does not fit any more."""


@dataclass
class Report:
    """What was said on each full disk, in a folder of the run's own."""

    folder: Path
    said: dict[str, str] = field(default_factory=dict)
    rows: int = 0

    def add(self, place: str, said: str) -> None:
        """Note a message, without the place on this machine that a run has to itself."""
        self.said[place] = " ".join(said.replace(str(self.folder), "FOLDER").split())


def fill_disks(seed: int) -> dict[str, Any]:
    """Fill one disk after the other; return the figures.

    Raises
    ------
    NoSmallDiskError
        If no disk can be mounted here.
    AssertionError
        If an error says too little, something was half-written, or it does not succeed at last.
    """
    with own_folder() as folder, small_disk(folder / "data", DATA_MEGABYTES) as data:
        report = Report(folder)
        with own_place(data.path):
            docs = Folder(folder / "docs", Random(seed))
            _data_directory(data, docs, folder, report)
            with small_disk(folder / "small", SMALL_MEGABYTES) as small:
                for part in (_outputs, _state_folder, _vector_cache):
                    part(small, docs, folder, report)
                    small.empty()
    return {"what was said": report.said, "rows compared": report.rows}


def _course(folder: Path, *words: str, url: str = "") -> tuple[int, str]:
    """Run a command with the model that hashes."""
    return Victim.start(["course", *words], Aim(), folder / "said.txt", url).end()


def refused(ended: tuple[int, str]) -> str:
    """Return what a command said that ended as it should: error, place, and what to do."""
    code, said = ended
    lines = said.strip().splitlines()
    assert code == 1 and "Traceback" not in said, (code, said)
    first = next(number for number, line in enumerate(lines) if line.startswith("error: "))
    assert len(lines) > first + 1, f"no hint: {said}"
    assert "full" in said or "No space left" in said, f"the disk is not named: {said}"
    return "\n".join(lines[first:])


def _data_directory(data: Disk, docs: Folder, folder: Path, report: Report) -> None:
    """An ingest into a data directory whose disk fills up."""
    words = ["ingest", str(docs.path), "--repo", "docs"]
    code, said = _course(folder, *words)
    assert code == 0, said
    with connect(autocommit=True) as conn:
        before = all_rows(conn)
    docs.change()
    for number in range(3):
        docs.write_big(number, BIG_TEXT)
    data.fill(spare=60_000)
    report.add("data directory", refused(_course(folder, *words)))
    with connect(autocommit=True) as conn:
        assert not (torn := torn_documents(conn, Hashed())), torn
        kept = all_rows(conn)["documents"]
    assert kept, "what was there is gone"
    data.empty()
    code, said = _course(folder, *words)
    assert code == 0, said
    assert before["documents"] != _compare(docs, report)["documents"]


def _compare(docs: Folder, report: Report) -> Rows:
    """Hold the index against one that was built in peace."""
    with connect(autocommit=True) as conn, fresh_database("peace") as peace:
        with connect(peace.url, autocommit=True) as other:
            ingest(docs.path, Scope(repo="docs"), conn=other, embedder=Hashed())
            theirs = all_rows(other)
        assert all_rows(conn) == theirs
        wrong = found_otherwise(conn, Hashed(), Random(0), questions=5)
        assert not wrong, wrong
    report.rows += sum(map(len, theirs.values()))
    return theirs


def _outputs(small: Disk, docs: Folder, folder: Path, report: Report) -> None:
    """JSON Lines: the file of before stays, and no part of a new one."""
    small_docs = Folder(folder / "few", Random(1), documents=6)
    output = small.path / "out"
    load = ["load", str(small_docs.path), "--output-dir", str(output)]
    code, said = _course(folder, *load)
    assert code == 0, said
    before = _files(small.path)
    small_docs.change()
    small.fill()
    report.add("output of load", refused(_course(folder, *load)))
    assert _files(small.path) == before, "a file changed, or a part of one was left"
    small.empty()
    code, said = _course(folder, *load)
    assert code == 0, said
    assert _files(small.path) != before


def _files(path: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(path)): file.read_bytes()
        for file in sorted(path.rglob("*"))
        if file.is_file() and file.name != "filler"
    }


def _state_folder(small: Disk, docs: Folder, folder: Path, report: Report) -> None:
    """A state folder without room, with a database that lies elsewhere or is to be made in it."""
    url = default_url()
    state = small.path / "state"
    words = ["ingest", str(docs.path), "--repo", "docs"]
    small.fill()
    with environment({"COURSE_STATE": str(state)}):
        report.add("state folder without a server", refused(_course(folder, *words)))
        # The index is elsewhere, and needs no room here.
        code, said = _course(folder, *words, url=url)
        assert code == 0, said
        run = ["pipeline", "run", "--set", f"source={docs.path}"]
        report.add("folder of a pipeline's run", refused(_course(folder, *run, url=url)))


def _vector_cache(small: Disk, docs: Folder, folder: Path, report: Report) -> None:
    """A cache that cannot keep anything says so once, and harms nobody."""
    texts = [f"text {number}" for number in range(500)]
    vectors = np.random.default_rng(0).normal(size=(500, 384)).astype(np.float32)
    path = small.path / "vectors.sqlite"
    VectorCache(path).put("model", texts[:10], vectors[:10])
    small.fill()
    with _heard("course_lib.embedder.cache") as said:
        cache = VectorCache(path)
        cache.put("model", texts, vectors)
        cache.put("model", texts, vectors)
        assert cache.get("model", texts) == {}
    assert len(said) == 1 and "is not used" in said[0], said
    report.add("vector cache", said[0])
    small.empty()
    cache = VectorCache(path)
    cache.put("model", texts, vectors)
    found = cache.get("model", texts)
    assert all(np.array_equal(found[place], row) for place, row in enumerate(vectors))


@contextlib.contextmanager
def _heard(name: str) -> Iterator[list[str]]:
    """Hear what a module warns of."""
    said: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger(name)
    logger.addHandler(handler)
    try:
        yield said
    finally:
        logger.removeHandler(handler)
