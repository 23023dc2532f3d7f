"""Running a pipeline inside a notebook: what ran, what failed and what came out of the cache.

`course_lib.pipeline.local` runs the course's own pipelines and keeps a log for each run. Here the
log is kept with the attempt that it belongs to, and a `Run` says in a few lines what happened.
"""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
import threading
import time
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from course_lib.pipeline.runner import subprocess_runner
from course_lib.pipeline.watching import COLOURS, Listener, What, watching

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
        runner=subprocess_runner(),
        pipeline_root=str(root),
        workspace_root=str(root / "workspace"),
        enable_caching=True,
    )
    run = Run()
    begun = time.time()
    attempts = _Attempts(run, begun)
    with watching(attempts) as stream, redirect_stderr(stream):
        try:
            run.outputs = dict(pipeline(**arguments).outputs)
        except Exception as error:
            run.error = COLOURS.sub("", f"{type(error).__name__}: {error}")
    attempts.close_all()
    run.seconds = time.time() - begun
    return run


@cache
def _root() -> Path:
    root = Path(tempfile.mkdtemp(prefix="course-runs-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    return root


class _Attempts(Listener):
    """Takes the log apart: by thread, and there by attempt."""

    def __init__(self, run: Run, begun: float) -> None:
        self.run = run
        self.begun = begun
        self.open: dict[int, Attempt] = {}
        self.turn = threading.Lock()

    def printed(self, text: str) -> None:
        attempt = self.open.get(threading.get_ident())
        if attempt is not None:
            attempt.log += text

    def happened(self, what: What, task: str, at: float) -> None:
        thread, at = threading.get_ident(), at - self.begun
        with self.turn:
            if what == "started":
                self.open[thread] = Attempt(task, at=at)
                self.run.attempts.append(self.open[thread])
            elif what == "cached":
                self.run.attempts.append(Attempt(task, "cached", at))
            elif what in ("succeeded", "failed") and thread in self.open:
                self._end(thread, "done" if what == "succeeded" else "failed", at)

    def close_all(self) -> None:
        for thread in list(self.open):
            self._end(thread, "failed", time.time() - self.begun)

    def _end(self, thread: int, outcome: str, at: float) -> None:
        attempt = self.open.pop(thread)
        attempt.outcome, attempt.seconds = outcome, at - attempt.at
        if items := ITERATION.findall(attempt.log):
            attempt.task += f"[{items[-1]}]"
