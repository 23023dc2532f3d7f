"""The accident of lab 11: a process is killed while it works.

`run_locally` says what becomes of each step. What is made here listens, and kills the process of
one shard when it has stored something, as when a cloud provider takes a machine away.
"""

from __future__ import annotations

import time
from contextlib import suppress
from threading import Thread

import psutil
import psycopg

from course_lib.pipeline.corpus import Shard
from course_lib.store import connect

EXECUTOR = "kfp.dsl.executor_main"
TIMEOUT_SECONDS = 120
STORED = "SELECT document_name, count(*) FROM document_chunks WHERE repo_slug = %s GROUP BY 1"


class KillFirst:
    """A listener for `run_locally` that kills the first of two shards once, in its work.

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
        How many chunks of its shard were committed then.

    Examples
    --------
    >>> accident = KillFirst("embed-and-store", lab.database_url)
    >>> run = run_locally("docs_pipeline", root=work, on_event=accident)
    """

    def __init__(self, step: str, url: str, repo: str = "documents") -> None:
        self.stored = 0
        self._step, self._url, self._repo = step, url, repo
        self._killers = [Thread(target=self._kill, daemon=True)]

    def __call__(self, what: str, task: str, seconds: float) -> None:
        """Start to watch when the step begins for the first time."""
        if (what, task.partition("[")[0]) == ("started", self._step) and self._killers:
            self._killers.pop().start()

    def _kill(self) -> None:
        deadline = time.monotonic() + TIMEOUT_SECONDS
        with connect(self._url, autocommit=True) as conn:
            while time.monotonic() < deadline:
                if stored := self._count(conn):
                    deadline = min(deadline, time.monotonic() + 2)  # else it has ended already
                    if self._kill_process():
                        self.stored = stored
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
