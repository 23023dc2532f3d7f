"""Running a pipeline inside a notebook: what ran, what failed and what came out of the cache.

`kfp.local` prints a page of log for every task, to the same stream from several threads. Here the
log is kept with the attempt that it belongs to, and a `Run` says in a few lines what happened.
"""

from __future__ import annotations

import atexit
import builtins
import io
import logging
import re
import shutil
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

COLOURS = re.compile(r"\033\[\d+m")
STARTED = re.compile(r"^Executing task '(?P<task>[^']+)'")
ENDED = re.compile(r"^Task '(?P<task>[^']+)' finished with status (?P<status>\w+)")
CACHED = re.compile(r"^Task (?P<task>\S+) cache hit")
ITERATION = re.compile(r"for-loop-\d+-iteration-(\d+)[^\"\n]*executor_output\.json")
RAISED = re.compile(r"^\s*((?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit)\b.*)$", re.MULTILINE)

__all__ = ["Attempt", "Run", "run_locally"]


@dataclass
class Attempt:
    """One try at a task.

    Attributes
    ----------
    task
        Its name, with the number of the item where it stands in a loop: ``split[1]``.
    outcome
        ``"done"``, ``"failed"`` or ``"cached"``.
    at, seconds
        When it began, since the run's beginning, and how long it took.
    log
        What it printed.
    """

    task: str
    outcome: str = "failed"
    at: float = 0.0
    seconds: float = 0.0
    log: str = ""

    @property
    def error(self) -> str:
        """The last line of its traceback, if it failed; empty if not."""
        if self.outcome != "failed":
            return ""
        return ["ended without a word", *map(str, RAISED.findall(self.log))][-1]


@dataclass
class Run:
    """What came of a run.

    Attributes
    ----------
    attempts
        In the order in which they began.
    outputs
        Those of the pipeline by name, empty where it failed.
    error
        Why it failed; empty where it did not.
    seconds
        How long all of it took.
    """

    attempts: list[Attempt] = field(default_factory=list)
    outputs: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    seconds: float = 0.0

    def count(self, outcome: str) -> int:
        """Return how many attempts were ``"done"``, ``"failed"`` or ``"cached"``."""
        return sum(one.outcome == outcome for one in self.attempts)

    def __str__(self) -> str:
        """Return a line for each attempt, ordered by task, and what became of the pipeline."""
        ordered = sorted(self.attempts, key=lambda one: one.task)
        wide = max([len(one.task) for one in ordered], default=0)
        lines = [f"{one.task:{wide}}  {one.outcome:6}  {one.error}".rstrip() for one in ordered]
        return "\n".join(
            [*lines, f"the pipeline failed: {self.error}" if self.error else "finished"]
        )


def run_locally(pipeline: Any, /, **arguments: Any) -> Run:
    """Run a pipeline (or a component alone) on this machine, each task a process of its own.

    Results are cached until the kernel ends. A run that fails is a result too, not an exception.

    Parameters
    ----------
    pipeline
        What `kfp.dsl.pipeline` or `kfp.dsl.component` returned.
    **arguments
        Its parameters.
    """
    from kfp import local

    root = _root()
    # A workspace of its own: kfp deletes the folder that it is given after every run.
    local.init(
        runner=local.SubprocessRunner(use_venv=False),
        pipeline_root=str(root),
        workspace_root=str(root / "workspace"),
        enable_caching=True,
    )
    run = Run()
    begun = time.time()
    with _watched(run, begun):
        try:
            run.outputs = dict(pipeline(**arguments).outputs)
        except Exception as error:
            run.error = COLOURS.sub("", f"{type(error).__name__}: {error}")
    run.seconds = time.time() - begun
    return run


@cache
def _root() -> Path:
    root = Path(tempfile.mkdtemp(prefix="course-runs-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    return root


@contextmanager
def _watched(run: Run, begun: float) -> Iterator[None]:
    # kfp sets the root logger's handlers and level, and `print`, in each of its threads, and puts
    # back what it found there, which may be another thread's. So all of it is put back here, and
    # the records are read by a filter, which kfp leaves alone.
    watch = _Watch(run, begun)
    logger, plain_print = logging.getLogger(), builtins.print
    level, handlers = logger.level, logger.handlers[:]
    logger.addFilter(watch.see)
    logger.setLevel(logging.INFO)
    try:
        with redirect_stdout(watch), redirect_stderr(watch), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        builtins.print = plain_print
        logger.removeFilter(watch.see)
        logger.setLevel(level)
        logger.handlers[:] = handlers
        watch.close_all()


class _Watch(io.TextIOBase):
    """Takes the log apart: by thread, and there by attempt."""

    def __init__(self, run: Run, begun: float) -> None:
        self.run = run
        self.begun = begun
        self.open: dict[int, Attempt] = {}
        self.turn = threading.Lock()

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        attempt = self.open.get(threading.get_ident())
        if attempt is not None:
            attempt.log += text
        return len(text)

    def see(self, record: logging.LogRecord) -> bool:
        """Note what a record says, and let none through to the notebook."""
        message = COLOURS.sub("", record.getMessage())
        thread, at = threading.get_ident(), record.created - self.begun
        with self.turn:
            if found := STARTED.match(message):
                self.open[thread] = Attempt(found["task"], at=at)
                self.run.attempts.append(self.open[thread])
            elif found := CACHED.match(message):
                self.run.attempts.append(Attempt(found["task"], "cached", at))
            elif (found := ENDED.match(message)) and thread in self.open:
                self._end(thread, "done" if found["status"] == "SUCCESS" else "failed", at)
        return False

    def close_all(self) -> None:
        for thread in list(self.open):
            self._end(thread, "failed", time.time() - self.begun)

    def _end(self, thread: int, outcome: str, at: float) -> None:
        attempt = self.open.pop(thread)
        attempt.outcome, attempt.seconds = outcome, at - attempt.at
        if items := ITERATION.findall(attempt.log):
            attempt.task += f"[{items[-1]}]"
