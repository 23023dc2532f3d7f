"""The accidents of lab 11: a process is killed while it works, and a file is damaged on its way.

A small job is killed after five of its files. What a splitter wrote is stored in part. Of a
pipeline, `run_locally` says what becomes of each step; what is made here listens, and kills the
process of one shard when it has stored something, as the system does where memory is too short.
"""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import psutil
import psycopg

from course_lib.embedder import EmbeddingClient
from course_lib.errors import CourseError, InputError
from course_lib.loader import read_documents
from course_lib.pipeline.corpus import Shard, write_corpus
from course_lib.pipeline.sources import read_folder
from course_lib.pipeline.steps import EXECUTOR
from course_lib.pipeline.storing import COUNTS, store_shard
from course_lib.settings import project_root
from course_lib.store import connect

STORED = "SELECT document_name, count(*) FROM document_chunks WHERE repo_slug = %s GROUP BY 1"


def names_of_data() -> list[str]:
    """Return the names of the documents and code files of `data/`."""
    endings = (".md", ".yaml", ".py", ".go", ".sh")
    return [document.name for document in read_documents(project_root() / "data", endings)]


START = """
from __future__ import annotations
import time
from pathlib import Path

def work_on(name):
    time.sleep(0.02)
    yield name
    print(name, flush=True)  # the log: here, what was yielded is written

"""


def run_job(
    job: Callable[[Sequence[str], str, Path, Callable[[str], Iterable[str]]], object],
    names: Sequence[str],
    shard: str,
    out: Path | None = None,
    killed: bool = False,
) -> list[str]:
    """Run a job in a process of its own, and return the lines of the file that it leaves.

    Parameters
    ----------
    job
        A function of `names`, `shard`, `out` and `work_on`, a generator that takes a moment, yields
        the name and prints it. The function's text is taken, so its imports are inside.
    names, shard, out
        Its arguments. Without `out`, it gets a file of its own, which is gone afterwards.
    killed
        Whether it is killed, as by ``kill -9``, when it has worked on five names.

    Examples
    --------
    >>> run_job(job, ["a.md", "b.md"], "0/1")
    ['a.md', 'b.md']
    """
    with tempfile.TemporaryDirectory() as folder:
        program, out = Path(folder, "job.py"), out or Path(folder, "out")
        source = textwrap.dedent(inspect.getsource(job))
        call = f"{job.__name__}({[*names]!r}, {shard!r}, Path({str(out)!r}), work_on)"
        program.write_text(f"{START}{source}\n{call}\n", encoding="utf-8")
        command = [sys.executable, str(program)]
        # Python takes another number for `hash` in each process, unless it is told one.
        environment = {**os.environ, "PYTHONHASHSEED": "random"}
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
            assert process.stdout is not None
            for number, _ in enumerate(process.stdout, 1):
                if killed and number == 5:
                    process.kill()
        return out.read_text(encoding="utf-8").splitlines() if out.exists() else []


class SplitPages:
    """The pages of a folder as the pipeline's splitter leaves them, to be damaged and stored.

    Parameters
    ----------
    folder
        The pages.
    work
        Where the files of the steps are made.

    Attributes
    ----------
    lines
        The splitter's file, a chunk a line.

    Examples
    --------
    >>> pages = SplitPages(folder, work)
    >>> pages.store(pages.lines, conn, EmbeddingClient())
    {'chunks split': 121, 'chunks stored': 121, 'the step says': 'no error'}
    """

    def __init__(self, folder: Path, work: Path) -> None:
        from kfp.dsl import Dataset

        from course_lib.pipeline.components import split_documents

        names = ("source", "chunks", "rows")
        source, chunks, rows = (Dataset(uri=str(work / name)) for name in names)
        write_corpus(Path(source.path), read_folder(str(folder), repo="damaged"))
        split_documents.python_func(source, chunks, rows, "0/1", 512, 64)
        self.lines = Path(chunks.path).read_bytes().splitlines(keepends=True)
        self._rows, self._broken = Path(rows.path), work / "broken"

    def store(
        self, lines: Sequence[bytes], conn: psycopg.Connection, embedder: EmbeddingClient
    ) -> dict[str, Any]:
        """Store a file of these lines; return what was stored, and what the step says of it."""
        self._broken.write_bytes(b"".join(lines))
        told: dict[str, Any] = {"chunks split": len(self.lines), "chunks stored": 0}
        try:
            stored = store_shard(self._rows, self._broken, conn=conn, embedder=embedder)
        except CourseError as error:
            conn.rollback()
            return told | {"the step says": ": ".join(error.args[0].split(": ")[-2:])}
        return told | {"chunks stored": stored["chunks"], "the step says": "no error"}

    def fan_in(self, add_up: Any, told: Mapping[str, Any]) -> str:
        """Return what a fan-in says of a file, after the storing step said `told` of it.

        A step that refused its file gives nothing to the fan-in.
        """
        counts = dict.fromkeys(COUNTS, 0) | {"chunks": told["chunks stored"]}
        one = {**counts, "shard": "0/1", "split": told["chunks split"]}
        try:
            add_up([one] if told["the step says"] == "no error" else [], ["0/1"])
        except InputError as error:
            return str(error.args[0])
        return "no error"


def chunks_of(repo: str, url: str) -> int:
    """Return how many chunks of a repository are stored.

    Examples
    --------
    >>> chunks_of("documents", lab.database_url)
    121
    """
    with connect(url) as conn:
        return sum(count for _, count in conn.execute(STORED, [repo]))


def ingest_as_cron(folder: str | os.PathLike[str], *words: str, url: str) -> float:
    """Run `course ingest` in a process of its own, as cron does, and return its seconds.

    Parameters
    ----------
    folder, words
        What is ingested, and further words of the command.
    url
        The database, which the process gets in a variable.
    """
    program = "from course_lib.cli import main; main()"
    command = [sys.executable, "-c", program, "ingest", os.fspath(folder), *words]
    begin = time.perf_counter()
    environment = {**os.environ, "DATABASE_URL": url}
    subprocess.run(command, env=environment, capture_output=True, check=True)
    return time.perf_counter() - begin


class KillFirst:
    """A listener for `run_locally` that kills the first of two shards once, in its work.

    It watches as long as the step runs, however slow the machine is.

    Parameters
    ----------
    step
        The name of the step, such as ``"embed-and-store"``.
    url
        The database that it fills. The process is killed as soon as a document of its shard is
        committed there.
    repo
        What the pipeline stores the documents as.

    Attributes
    ----------
    stored
        How many chunks of its shard were committed then; 0 if it had ended before it was killed.

    Examples
    --------
    >>> accident = KillFirst("embed-and-store", lab.database_url)
    >>> run = run_locally("docs_pipeline", root=work, on_event=accident)
    """

    def __init__(self, step: str, url: str, repo: str = "documents") -> None:
        self.stored = 0
        self._step, self._url, self._repo = step, url, repo
        self._running: list[str] = []
        self._killers = [Thread(target=self._kill, daemon=True)]

    def __call__(self, what: str, task: str, seconds: float) -> None:
        """Start to watch when the step begins for the first time; stop when it has ended."""
        if task.partition("[")[0] != self._step:
            return
        if what == "started":
            self._running.append(task)
            if self._killers:
                self._killers.pop().start()
        elif what in ("succeeded", "failed"):
            self._running.pop()

    def _kill(self) -> None:
        with connect(self._url, autocommit=True) as conn:
            while self._running:
                if self._count(conn) and self._kill_process():
                    self.stored = self._count(conn)
                    return
                time.sleep(0.02)

    def _count(self, conn: psycopg.Connection) -> int:
        with suppress(psycopg.errors.UndefinedTable):  # the step has not created it yet
            counts = conn.execute(STORED, [self._repo]).fetchall()
            return sum(count for name, count in counts if Shard.parse("0/2").holds(name))
        return 0

    def _kill_process(self) -> bool:
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):  # it has ended meanwhile
                words = process.cmdline()
                is_first = any("-iteration-0/" in word for word in words)
                if is_first and {EXECUTOR, self._step.replace("-", "_")} <= {*words}:
                    process.kill()
                    return True
        return False
