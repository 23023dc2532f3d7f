"""Writers and readers of one index, each a process or a thread: what they do, and what they note.

Every document says in each of its parts who wrote it, in which version, and how many parts there
are. So a reader can tell half a document, and the end which write was the last.
"""

from __future__ import annotations

import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import httpx

from course_lib.indexing import ingest
from course_lib.records import Scope, SearchResult
from course_lib.retriever import Query, search
from course_lib.store import connect, delete_documents
from tests.faults.ground import PATIENCE, Hashed

SOURCES = {"small": 7, "big": 24}
"""Repository → documents. All chunks of the small one fit into one answer of the API."""

MOST_PARTS = 6
MARK = re.compile(r"<(\w+/\d+\.md) by (\d+), version (\d+), part (\d+) of (\d+)>")
FILLER = "The mill turns its wings into the wind, and the miller looks after it. " * 5

Version = tuple[int, int]
"""Who wrote, and which of his versions it is."""


@dataclass(frozen=True)
class Write:
    """A document was written (or removed: no version) at some moment between two others."""

    document: str
    version: Version | None
    begin: float
    end: float


@dataclass
class Notes:
    """What one writer or reader has seen."""

    writes: list[Write] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    whole: int = 0

    def __iadd__(self, other: Notes) -> Notes:
        self.writes += other.writes
        self.errors += other.errors
        self.whole += other.whole
        self.done += other.done
        return self

    def do(self, what: str, work: Callable[[], Any]) -> Any:
        """Do something and note it, and what went wrong."""
        self.done[what] += 1
        try:
            return work()
        except Exception as error:  # whatever it is, it is what a person would be shown
            self.errors.append(f"{what}: {type(error).__name__}: {error}")
            return None


def text_of(document: str, version: Version, parts: int) -> str:
    """Return a document whose every part is one chunk."""
    writer, number = version
    marks = (
        f"<{document} by {writer}, version {number}, part {part} of {parts}>"
        for part in range(1, parts + 1)
    )
    return "\n\n".join(f"{mark} {FILLER}" for mark in marks)


def versions_in(contents: Iterable[str]) -> dict[str, Version]:
    """Return which version there is of each document.

    Raises
    ------
    ValueError
        If chunks of one document are of several versions, or a part is missing.
    """
    parts: dict[str, set[tuple[Version, int, int]]] = defaultdict(set)
    for content in contents:
        for name, writer, number, part, of in MARK.findall(content):
            parts[name].add(((int(writer), int(number)), int(part), int(of)))
    for name, found in parts.items():
        (_, _, of), *_ = found
        version = {one for one, _, _ in found}
        if len(version) > 1 or {part for _, part, _ in found} != set(range(1, of + 1)):
            raise ValueError(f"half of {name}: {sorted(found)}")
    return {name: next(iter(found))[0] for name, found in parts.items()}


@dataclass
class Writer:
    """One who writes.

    Attributes
    ----------
    number
        Which of them; it decides how he writes.
    url, service, key
        The database, and the API with his key.
    """

    number: int
    url: str
    service: str
    key: str
    folder: Path
    seed: int

    def work(self, seconds: float) -> Notes:
        """Write one thing after the other for so long."""
        end = time.monotonic() + seconds
        self.rng = Random(self.seed)
        self.notes, self.edition = Notes(), 0
        ways = (self.by_folder, self.by_folder, self.by_file, self.by_service, self.by_removing)
        way = ways[self.number % len(ways)]
        while time.monotonic() < end:
            self.edition += 1
            name = self.rng.choice(list(SOURCES))
            way(name)
        return self.notes

    def by_folder(self, repo: str) -> None:
        """Make the source what a folder is, which lacks some documents."""
        folder = self.folder / f"{self.edition}"
        states: dict[str, Version | None] = {}
        for number in range(SOURCES[repo]):
            document = f"{repo}/{number}.md"
            is_there = not number or self.rng.random() < 0.85
            states[document] = self._write(folder, document) if is_there else None
        self._ingest("ingest of a folder", folder, repo, states)

    def by_file(self, repo: str) -> None:
        """Replace one document."""
        document = self._any(repo)
        version = self._write(self.folder, document)
        self._ingest("ingest of a file", self.folder / document, repo, {document: version})

    def by_service(self, repo: str) -> None:
        """Send some documents to the API."""
        states: dict[str, Version | None] = {}
        files = []
        for document in {self._any(repo) for _ in range(4)}:
            states[document] = (self.number, self.edition)
            parts = self.rng.randint(1, MOST_PARTS)
            content = text_of(document, (self.number, self.edition), parts)
            files.append({"sourcePath": document.partition("/")[2], "content": content})
        body = {"repo": repo, "files": files}

        def send() -> None:
            headers = {"Authorization": f"Bearer {self.key}"}
            with httpx.Client(base_url=self.service, headers=headers, timeout=PATIENCE) as client:
                answer = ask(client, "/ingest/source-files", body)
            if answer["rejections"]:
                raise ValueError(str(answer["rejections"]))

        self._noted("writes by the API", states, send)

    def by_removing(self, repo: str) -> None:
        """Take two documents away, whatever others do with them."""
        gone = [self._any(repo), self._any(repo)]
        source = Scope(tenant="local", repo=repo, branch="")

        def remove() -> None:
            with connect(self.url, autocommit=True) as conn:
                delete_documents(conn, source, [name.partition("/")[2] for name in gone])

        self._noted("removals", dict.fromkeys(gone), remove)
        time.sleep(0.2)  # so that there is something to be removed, and to be read

    def _any(self, repo: str) -> str:
        return f"{repo}/{self.rng.randrange(SOURCES[repo])}.md"

    def _write(self, folder: Path, document: str) -> Version:
        version = (self.number, self.edition)
        file = folder / document
        file.parent.mkdir(parents=True, exist_ok=True)
        text = text_of(document, version, self.rng.randint(1, MOST_PARTS))
        file.write_text(text, encoding="utf-8", newline="\n")
        return version

    def _ingest(self, what: str, path: Path, repo: str, states: dict[str, Version | None]) -> None:
        place = path if path.is_file() else path / repo

        def run() -> None:
            with connect(self.url, autocommit=True) as conn:
                ingest(place, Scope(repo=repo), conn=conn, embedder=Hashed())

        self._noted(what, states, run)

    def _noted(
        self, what: str, states: dict[str, Version | None], work: Callable[[], None]
    ) -> None:
        begin = time.monotonic()
        self.notes.do(what, work)
        end = time.monotonic()
        self.notes.writes += [Write(name, version, begin, end) for name, version in states.items()]


def read(
    reader: Callable[[str, int, float], Notes], place: str, seeds: Sequence[int], seconds: float
) -> Notes:
    """Let many readers, each a thread, read at a place; return what they noted together."""
    notes = Notes()
    with ThreadPoolExecutor(len(seeds)) as threads:
        for work in [threads.submit(reader, place, seed, seconds) for seed in seeds]:
            notes += work.result()
    return notes


def read_library(url: str, seed: int, seconds: float) -> Notes:
    """Search one document or all, by vectors alone or with words, for so long."""
    notes, rng, embedder = Notes(), Random(seed), Hashed()
    with connect(url, autocommit=True) as conn:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            repo = rng.choice(list(SOURCES))
            name = f"{rng.randrange(SOURCES[repo])}.md"
            question = f"{repo}/{name} by {rng.randrange(8)}: who turns the wings?"
            [vector] = embedder.encode([question])
            words = question if rng.random() < 0.5 else None
            way = "hybrid" if words else "dense"

            if rng.random() < 0.3:
                everywhere = partial(search, conn, vector, Query(words, top_k=10, threshold=-1))
                notes.do(f"{way} search of all", everywhere)
                continue
            named = Query(words, top_k=50, threshold=-1, repo=repo, document=name)
            one = partial(search, conn, vector, named)
            _look(notes, notes.do(f"{way} search of a document", one))
    return notes


def read_service(service: str, seed: int, seconds: float) -> Notes:
    """Ask the API for all of the small source for so long."""
    notes, rng = Notes(), Random(seed)
    end = time.monotonic() + seconds
    with httpx.Client(base_url=service, timeout=PATIENCE) as client:
        while time.monotonic() < end:
            mode = rng.choice(("hybrid", "dense"))
            question = f"small/{rng.randrange(7)}.md: who looks after the mill?"
            body = {"query": question, "repo": "small", "top_k": 50, "mode": mode}
            found = notes.do(f"{mode} search by the API", partial(ask, client, "/search", body))
            _look(notes, found and found["results"])
    return notes


def _look(notes: Notes, found: list[Any] | None) -> None:
    contents = (
        one.content if isinstance(one, SearchResult) else one["content"] for one in found or ()
    )
    try:
        notes.whole += len(versions_in(contents))
    except ValueError as error:
        notes.errors.append(str(error))


def ask(client: httpx.Client, path: str, body: Any) -> Any:
    """Send a request, again while the service is too busy for it, and return the answer.

    Raises
    ------
    ValueError
        If it is not a success.
    """
    end = time.monotonic() + PATIENCE
    while (answer := client.post(path, json=body)).status_code == 503 and time.monotonic() < end:
        time.sleep(0.5)  # "try again soon": it waits two seconds for a connection, and no longer
    if answer.status_code != 200:
        raise ValueError(f"{answer.status_code} {answer.text[:300]!r}")
    return answer.json()
