"""What is killed: `course …` or a pipeline's shard, in a process that tells where it is.

The real commands with a model that hashes. They are forked from a process that has imported all
they need, so that a kill costs tenths of seconds and not seconds.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from kfp.dsl import Dataset

import course_lib.embedder
from course_lib.cli import commands
from course_lib.cli import main as course
from course_lib.indexing import update
from course_lib.loader import Registry
from course_lib.pipeline import storing
from course_lib.pipeline.components import split_documents
from course_lib.settings import CHUNK_OVERLAP, CHUNK_SIZE
from tests.faults.ground import PATIENCE, Hashed, forks, set_environment

BATCH_CHUNKS = 24
"""So few that one ingest is many transactions."""

PHASES = {
    **{"start": 1, "reading": 1, "schema": 2, "splitting": 9, "encoding": 4, "writing": 4},
    **{"commit": 4, "deleting": 1, "index": 1},
}
"""What is told, and how often an update comes there."""


@dataclass(frozen=True)
class Aim:
    """When to kill: at a phase's nth time, and some seconds later; or only some seconds later.

    At a phase and no second later, the victim itself stops there and waits for its end.
    """

    phase: str = ""
    time: int = 0
    seconds: float = 0.0


@dataclass
class Victim:
    """A process, and what it has told."""

    process: Any
    output: Path
    told: list[str] = field(default_factory=list)
    news: threading.Condition = field(default_factory=threading.Condition)
    is_over: bool = False

    @classmethod
    def start(cls, words: Sequence[str], aim: Aim, output: Path, url: str = "") -> Victim:
        """Start one, in a group of its own; `output` gets what it says."""
        context = forks()
        mine, its = context.Pipe(duplex=False)
        values = {name: os.environ.get(name) for name in ("COURSE_STATE", "RAG_THREADS")}
        values["DATABASE_URL"] = url or None
        process = context.Process(target=live, args=(its, list(words), aim, str(output), values))
        process.start()
        its.close()
        victim = cls(process, output)
        threading.Thread(target=victim._listen, args=(mine,), daemon=True).start()
        return victim

    def _listen(self, ear: Connection) -> None:
        with suppress(EOFError):
            while phase := ear.recv_bytes().decode():
                with self.news:
                    self.told.append(phase)
                    self.news.notify_all()
        with self.news:
            self.is_over = True
            self.news.notify_all()

    def reach(self, aim: Aim) -> bool:
        """Wait until it is where it is to be killed; false if it came to its end before."""

        def is_there() -> bool:
            return self.is_over or self.told.count(aim.phase) >= aim.time

        with self.news:
            if aim.phase:
                assert self.news.wait_for(is_there, PATIENCE), f"hangs after {self.told}"
            self.news.wait_for(lambda: self.is_over, aim.seconds)
            return not self.is_over

    def kill(self) -> None:
        """Kill it with all that it has started."""
        if self.process.exitcode is None:
            with suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGKILL)
                os.killpg(self.process.pid, signal.SIGKILL)

    def end(self) -> tuple[int, str]:
        """Wait for its end; return its exit code and what it said."""
        self.process.join(PATIENCE)
        if self.process.exitcode is None:
            self.kill()
            raise AssertionError(f"hangs after {self.told}")
        return self.process.exitcode, self.output.read_text(encoding="utf-8")


def live(
    mouth: Connection, words: list[str], aim: Aim, output: str, values: dict[str, str | None]
) -> None:
    """Be a victim: run the command or the step."""
    os.setsid()
    with open(output, "w", encoding="utf-8") as said:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
    set_environment(values)
    times: Counter[str] = Counter()

    def tell(phase: str) -> None:
        times[phase] += 1
        mouth.send_bytes(phase.encode())
        while (phase, times[phase], 0.0) == (aim.phase, aim.time, aim.seconds):
            time.sleep(1)

    _watch_all(tell)
    tell("start")
    if words[0] == "shard":
        store(*words[1:])
    else:
        sys.argv = words
        course()


def split_shard(documents: Path, shard: str, chunks: Path, rows: Path) -> None:
    """Do what a pipeline's step does, which takes and gives artifacts."""
    files = [Dataset(uri=str(one)) for one in (documents, chunks, rows)]
    split_documents.python_func(*files, shard, CHUNK_SIZE, CHUNK_OVERLAP)


def store(documents: str, shard: str, folder: str) -> None:
    """Do what the two steps of a pipeline do with one shard."""
    rows, chunks = Path(folder, "rows.jsonl"), Path(folder, "chunks.jsonl")
    split_shard(Path(documents), shard, chunks, rows)
    with storing.database() as conn:
        storing.store_shard(rows, chunks, conn=conn, embedder=Hashed())


def _watch_all(tell: Callable[[str], None]) -> None:
    course_lib.embedder.EmbeddingClient = Hashed  # type: ignore[misc]
    update.BATCH_CHUNKS = BATCH_CHUNKS

    def watch(place: object, name: str, before: str, after: str = "") -> None:
        function: Callable[..., Any] = getattr(place, name)

        def watched(*given: Any, **named: Any) -> Any:
            tell(before)
            result = function(*given, **named)
            if after:
                tell(after)
            return result

        setattr(place, name, watched)

    watch(import_module("course_lib.indexing.directory"), "read_source", "reading")
    watch(import_module("course_lib.loader.staged"), "read_staged", "reading")
    watch(Registry, "parse", "splitting")
    watch(Hashed, "encode", "encoding")
    watch(update, "create_schema", "schema")
    watch(update, "delete_documents", "deleting")
    # The transaction is open while the rows are written, and committed next.
    watch(update, "write_chunks", "writing", "commit")
    watch(update, "build_vector_indexes", "index")


app = commands.build_app()
for command in [*app.commands]:
    app.load(command)
